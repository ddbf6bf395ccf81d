package import Exchange
internal import Ground

/// Reads the entries of a KeePass document: the XML inside a database, or an XML export of KeePass.
package struct KeePassDocument {
  /// The maximum number of entries, including former ones.
  static let mostEntries = 200_000
  /// The maximum length of a name with its folders in bytes. No item's name can be this long.
  static let longestName = 4_096
  /// The maximum total size of all attachments in bytes. Many entries may share one attachment. Those of former
  /// versions are not passed on, so they count only if they take memory of their own.
  static let attachmentLimit = 256 << 20

  private var reader: XMLReader
  /// The stream that hides protected texts; nil if they are in the clear. It continues from text to text in the order
  /// of the document, so every text must be decrypted.
  private let stream: Cipher?
  private var binaries: [String: [UInt8]] = [:]

  private var elements: [XMLReader.Element] = []
  /// The text of the innermost element.
  private var text: [UInt8] = []
  /// The open folders, outermost first.
  private var groups: [(name: String, isBin: Bool)] = []
  /// The open entry, and within its history a former one.
  private var entries: [OpenEntry] = []
  private var count = 0
  private var recycleBin = ""
  private var attachmentBytes = 0
  private var lost = LossCounts()

  /// An exported document, in which nothing is hidden.
  package init(exported document: [UInt8]) { self.init(document, [], stream: nil) }

  init(_ document: [UInt8], _ binaries: [[UInt8]], stream: Cipher?) {
    reader = XMLReader(document)
    self.stream = stream
    for (number, bytes) in binaries.enumerated() { self.binaries[String(number)] = bytes }
  }

  /// The hash that the document states of its database's header.
  static func headerHash(of document: [UInt8]) -> [UInt8]? {
    var reader = XMLReader(document)
    var path: [String] = []
    while let event = try? reader.next() {
      switch event {
      case .start(let element):
        path.append(element.name)
        if path == ["KeePassFile", "Root"] { return nil }
      case .end: path.removeLast()
      case .text(let text):
        guard path == ["KeePassFile", "Meta", "HeaderHash"] else { continue }
        var hash: [UInt8] = []
        return Base64.append(decoding: text, to: &hash) ? hash : nil
      }
    }
    return nil
  }

  /// Passes on each entry as soon as it is read, and the losses at the end.
  package mutating func read(_ found: (EntryLine) throws(ImportFault) -> Void) throws(ImportFault) {
    while let event = try reader.next() {
      switch event {
      case .start(let element):
        if elements.isEmpty, element.name != "KeePassFile" {
          throw ImportFault("this is not a KeePass document", .damaged)
        }
        elements.append(element)
        text = []
        try begin(element.name)
      case .text(let piece): text += piece
      case .end:
        let element = elements.removeLast()
        if let entry = try end(element) { try found(.entry(entry)) }
        text = []
      }
    }
    try lost.tell(found)
  }

  private var parent: String { elements.last?.name ?? "" }

  private mutating func begin(_ name: String) throws(ImportFault) {
    switch name {
    // The outermost group is the database itself, whose name is ignored.
    case "Group" where elements.dropLast().last?.name == "Group": groups.append(("", groups.last?.isBin ?? false))
    case "Entry":
      count += 1
      guard count <= Self.mostEntries else {
        throw ImportFault("it holds more than \(Self.mostEntries) entries", .overLimit)
      }
      entries.append(OpenEntry())
    case "String", "Binary":
      guard !entries.isEmpty else { return }
      entries[entries.count - 1].key = ""
      entries[entries.count - 1].value = []
    default: break
    }
  }

  /// - Returns: the entry that ended, with its history.
  private mutating func end(_ element: XMLReader.Element) throws(ImportFault) -> Entry? {
    let value = try element.name == "Value" || parent == "Binaries" ? content(of: element) : text
    if entries.isEmpty {
      try endOutside(element, value)
      return nil
    }
    let last = entries.count - 1
    switch (parent, element.name) {
    case (_, "Entry"): return try endEntry()
    case ("String", "Key"), ("Binary", "Key"): entries[last].key = String(decoding: text, as: UTF8.self)
    case ("String", "Value"): entries[last].value = value
    case ("Entry", "String"): try entries[last].addText()
    case ("Binary", "Value"):
      let shared = element["Ref"].flatMap { binaries[$0] }
      entries[last].value = shared ?? value
      if shared == nil || entries.count == 1 { try countAttachment(entries[last].value) }
    case ("Entry", "Binary"): entries[last].attachments.append(Entry.Attachment(entries[last].key, entries[last].value))
    default: entries[last].take(parent, element.name, String(decoding: text, as: UTF8.self))
    }
    return nil
  }

  /// A text after decryption.
  private func content(of element: XMLReader.Element) throws(ImportFault) -> [UInt8] {
    let isProtected = element["Protected"]?.lowercased() == "true" && stream != nil
    let isCompressed = element["Compressed"]?.lowercased() == "true"
    // Attachments and protected texts are base64. All other texts are plain.
    guard isProtected || isCompressed || parent == "Binaries" || parent == "Binary" && element["Ref"] == nil else {
      return text
    }
    var bytes: [UInt8] = []
    guard Base64.append(decoding: text, to: &bytes) else { throw ImportFault("a protected text is damaged", .damaged) }
    if isProtected { try stream?.decrypt(&bytes) }
    return isCompressed ? try Inflate.bytes(bytes, limit: KeePassFile.limit) : bytes
  }

  private mutating func endOutside(_ element: XMLReader.Element, _ value: [UInt8]) throws(ImportFault) {
    let text = String(decoding: text, as: UTF8.self)
    switch (parent, element.name) {
    case ("Meta", "RecycleBinUUID"): recycleBin = text
    case ("Binaries", "Binary"):
      try countAttachment(value)
      binaries[element["ID"] ?? ""] = value
    case ("Group", "UUID") where !groups.isEmpty && text == recycleBin && !text.isEmpty:
      groups[groups.count - 1].isBin = true
    case ("Group", "Name") where !groups.isEmpty: groups[groups.count - 1].name = String(text.prefix(Self.longestName))
    case ("Group", "Notes"): if !text.isEmpty { lost.add("notes of folders") }
    case ("Group", "Tags"): if !text.isEmpty { lost.add("tags of folders") }
    case ("Times", "Expires"): if text.lowercased() == "true" { lost.add("dates of expiry of folders") }
    case ("Item", "Key") where elements.contains { $0.name == "Group" }: lost.add("data of plug-ins for folders")
    case ("Group", "Group"): groups.removeLast()
    default: break
    }
  }

  private mutating func countAttachment(_ bytes: [UInt8]) throws(ImportFault) {
    attachmentBytes += bytes.count
    guard attachmentBytes <= Self.attachmentLimit else {
      throw ImportFault("its attachments take more than \(Self.attachmentLimit >> 20) MiB", .overLimit)
    }
  }

  private mutating func endEntry() throws(ImportFault) -> Entry? {
    let ended = entries.removeLast()
    if !entries.isEmpty {
      // A former version, in the history of the surrounding entry.
      entries[entries.count - 1].history.append(ended)
      return nil
    }
    if groups.last?.isBin == true {
      lost.add("entries in the recycle bin")
      return nil
    }
    for what in ended.lost.union(ended.lostOfFormer) { lost.add(what) }
    let place = "entry \(count - ended.history.count)"
    let folder = groups.map(\.name).filter { !$0.isEmpty }.joined(separator: "/")
    let entry = ended.entry(in: folder, at: place)
    guard entry.name.utf8.count <= Self.longestName else {
      lost.add("entries whose names are too long")
      return nil
    }
    return entry
  }
}
