internal import Exchange
internal import Ground

/// An entry of KeePass while it is read.
struct OpenEntry {
  /// The name and the value of the text or attachment that is being read.
  var key = ""
  var value: [UInt8] = []
  var attachments: [Entry.Attachment] = []
  var history: [OpenEntry] = []
  /// The parts of it that no item keeps.
  private(set) var lost: Set<String> = []
  private var texts: [(name: String, text: String)] = []
  private var tags = ""
  private var modified: Int64?
  private var expires: Int64?
  private var isExpiring = false

  /// Adds the text that was just read.
  ///
  /// - Throws: `damaged` if a protected text is not UTF-8.
  mutating func addText() throws(ImportFault) {
    guard !value.isEmpty else { return }
    guard let text = String(validating: value, as: UTF8.self) else {
      throw ImportFault("a protected text is not UTF-8", .damaged)
    }
    texts.append((key, text))
    if Entry.holdsPlaceholder(text) {
      lost.insert("what placeholders such as {USERNAME} and {REF:…} stand for; the text is kept as it is written")
    }
  }

  /// Reads one of the other elements in an entry.
  mutating func take(_ parent: String, _ name: String, _ text: String) {
    switch (parent, name) {
    case ("Times", "LastModificationTime"): modified = Self.moment(text)
    case ("Times", "CreationTime") where !text.isEmpty: lost.insert("dates of creation")
    case ("Times", "ExpiryTime"): expires = Self.moment(text)
    case ("Times", "Expires"): isExpiring = text.lowercased() == "true"
    case ("Entry", "Tags"): tags = text
    case ("Entry", "OverrideURL") where !text.isEmpty: texts.append(("overrideURL", text))
    case ("Entry", "IconID") where text != "0" && !text.isEmpty, ("Entry", "CustomIconUUID") where !text.isEmpty:
      lost.insert("icons")
    case ("Entry", "ForegroundColor") where !text.isEmpty, ("Entry", "BackgroundColor") where !text.isEmpty:
      lost.insert("colours")
    case ("AutoType", "DefaultSequence") where !text.isEmpty, ("Association", "Window") where !text.isEmpty:
      lost.insert("sequences of keys to type")
    case ("Item", "Key") where !text.isEmpty: lost.insert("data of plug-ins")
    default: break
    }
  }

  private var title: String { texts.first { $0.name == "Title" }?.text ?? "" }

  /// The parts of its former versions that no item keeps, unless the entry itself loses them.
  var lostOfFormer: Set<String> {
    var lost: Set<String> = []
    for former in history {
      for what in former.lost.subtracting(self.lost) { lost.insert("in former versions: \(what)") }
      if !former.title.isEmpty, former.title != title { lost.insert("former titles") }
      if !former.tags.isEmpty, former.tags != tags { lost.insert("former tags") }
      if former.isExpiring, former.expires != expires || !isExpiring { lost.insert("former dates of expiry") }
    }
    return lost
  }

  /// The entry, with its history.
  ///
  /// - Parameter folder: the folders that contain it; empty for none.
  func entry(in folder: String, at place: String) -> Entry {
    let login = version
    var name = title
    if name.isEmpty { name = Entry.host(of: login.text("url")) }
    if name.isEmpty { name = login.text("username") }
    if name.isEmpty { name = place }
    var entry = Entry(folder.isEmpty ? name : "\(folder)/\(name)", at: place)
    entry.current = login
    entry.attachments = attachments
    if isExpiring, let expires, expires >= 0 { entry.expires = UInt64(expires) }
    if !tags.isEmpty { entry.setAttribute("tags", tags) }
    entry.history = history.map(\.version)
    // KeePass writes the oldest one first, but some programs do not.
    entry.history.sort { ($0.modified ?? .min) < ($1.modified ?? .min) }
    // Contents that versions share are compared without reading them, unlike in a set.
    let kept = Dictionary(grouping: attachments, by: \.name)
    if history.contains(where: { $0.attachments.contains { kept[$0.name]?.contains($0) != true } }) {
      entry.losses.append("a content of an attachment that only former versions had")
    }
    return entry
  }

  /// The entry's fields, with the names that items use for logins.
  private var version: Entry.Version {
    var version = Entry.Version()
    version.modified = modified
    let texts = Dictionary(self.texts.map { ($0.name, $0.text) }) { first, _ in first }
    for (name, member) in KeePassWriter.members { version.add(member, texts[name] ?? "") }
    let source = OneTimeSource.inKeePass(texts)
    if let source { version.add("totp", source.code) }
    for (name, text) in self.texts where !Self.isLogin(name) && source?.fields.contains(name) != true {
      version.add(name, text)
    }
    return version
  }

  private static func isLogin(_ name: String) -> Bool {
    name == "Title" || KeePassWriter.members.contains { $0.0 == name }
  }

  /// Milliseconds since 1970, from ISO 8601, or in version 4 from the base64 of the seconds since the year 1.
  private static func moment(_ text: String) -> Int64? {
    if let moment = UTCDate.moment(text) { return moment.milliseconds }
    var bytes: [UInt8] = []
    guard Base64.append(decoding: Array(text.utf8), to: &bytes), let seconds = bytes.littleEndian(Int64.self),
      // Up to the year 9999.
      (0..<315_537_897_600).contains(seconds)
    else { return nil }
    return (seconds - 62_135_596_800) * 1_000
  }
}
