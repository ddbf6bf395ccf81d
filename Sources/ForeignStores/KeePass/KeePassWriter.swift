package import Exchange
internal import Ground

/// Writes a KeePass database: KDBX 4 with AES-256 and a key from Argon2id over 64 MiB.
package struct KeePassWriter {
  /// Whether ``KeePassFile`` reads the written database, which may exceed its limits.
  package private(set) var isReadable = true

  private let root: Folder
  /// The number of entries, including former ones.
  private let entryCount: Int
  private var xml: [UInt8] = []
  private var binaries: [[UInt8]] = []
  private let streamKey = Gcrypt.randomBytes(64)
  private let stream: Cipher

  /// A folder with its entries and the folders in it.
  private final class Folder {
    var entries: [(title: String, entry: Entry)] = []
    var folders: [String: Folder] = [:]

    /// - Parameter path: its names, outermost first.
    func folder(_ path: ArraySlice<Substring>) -> Folder {
      guard let name = path.first.map(String.init) else { return self }
      let inner = folders[name] ?? Folder()
      folders[name] = inner
      return inner.folder(path.dropFirst())
    }
  }

  /// The maximum depth of folders. The rest of a path becomes part of the title.
  private static let depth = 32

  package init(_ entries: [Entry]) throws(ImportFault) {
    root = Folder()
    guard let stream = try KeePassFile.InnerStream.chacha20(key: streamKey).cipher() else { throw Gcrypt.refused }
    self.stream = stream
    entryCount = entries.reduce(0) { $0 + 1 + $1.history.count }
    for entry in entries {
      let parts = entry.name.split(separator: "/", maxSplits: Self.depth, omittingEmptySubsequences: false)
      // A name such as `https://a.test` is a title, not three folders.
      if let title = parts.last, !parts.contains(where: \.isEmpty) {
        root.folder(parts.dropLast()).entries.append((String(title), entry))
      } else {
        root.entries.append((entry.name, entry))
      }
    }
  }

  /// The database as a file.
  package mutating func file(passphrase: [UInt8]) throws(ImportFault) -> [UInt8] {
    try file(passphrase: passphrase, cost: Gcrypt.Argon2(isArgon2id: true, passes: 8, kibibytes: 64 << 10, lanes: 2))
  }

  mutating func file(passphrase: [UInt8], cost: Gcrypt.Argon2) throws(ImportFault) -> [UInt8] {
    try writeDocument()
    var content: [UInt8] = []
    func field(_ kind: UInt8, _ bytes: [UInt8]) -> [UInt8] {
      [kind] + UInt32(bytes.count).littleEndianBytes + bytes
    }
    content += field(1, UInt32(3).littleEndianBytes) + field(2, streamKey)
    for binary in binaries { content += field(3, [1] + binary) }
    content += field(0, []) + xml
    isReadable = content.count <= KeePassFile.limit && entryCount <= KeePassDocument.mostEntries

    let (seed, salt, vector) = (Gcrypt.randomBytes(32), Gcrypt.randomBytes(32), Gcrypt.randomBytes(16))
    let cipher = KeePassHeader.ciphers.first { $0.value == .aes256 }?.key ?? []
    let header =
      KeePassFile.signature + (UInt32(4) << 16).littleEndianBytes + field(2, cipher)
      + field(3, UInt32(1).littleEndianBytes) + field(4, seed) + field(7, vector)
      + field(11, Self.table(cost, salt: salt)) + field(0, Array("\r\n\r\n".utf8))
    let key = try KeePassKey(passphrase: passphrase, keyFile: nil).composite()
    let transformed = try cost.key(key, salt: salt)
    let blockKey = try Gcrypt.sha512(seed, transformed, [1])
    var file = try header + Gcrypt.sha256(header)
    file += try Gcrypt.hmac(key: KeePassFile.key(ofBlock: .max, blockKey), header)
    var sealed = try Cipher.sealed(
      Inflate.gzipped(content), .aes256, key: Gcrypt.sha256(seed, transformed), vector: vector)[...]
    var index: UInt64 = 0
    while true {
      let block = Array(sealed.prefix(1 << 20))
      sealed = sealed.dropFirst(block.count)
      let count = UInt32(block.count).littleEndianBytes
      file += try Gcrypt.hmac(
        key: KeePassFile.key(ofBlock: index, blockKey), index.littleEndianBytes + count + block)
      file += count + block
      index += 1
      if block.isEmpty { break }
    }
    if file.count > ForeignFile.limit { isReadable = false }
    return file
  }

  /// The parameters of the key derivation, in the form that ``KeePassTransformation`` reads.
  private static func table(_ cost: Gcrypt.Argon2, salt: [UInt8]) -> [UInt8] {
    func value(_ kind: UInt8, _ name: String, _ bytes: [UInt8]) -> [UInt8] {
      [kind] + UInt32(name.utf8.count).littleEndianBytes + Array(name.utf8) + UInt32(bytes.count).littleEndianBytes
        + bytes
    }
    let kind = cost.isArgon2id ? KeePassTransformation.argon2id : KeePassTransformation.argon2d
    return [0, 1] + value(0x42, "$UUID", kind) + value(0x42, "S", salt)
      + value(0x04, "P", UInt32(cost.lanes).littleEndianBytes)
      + value(0x05, "M", UInt64(cost.kibibytes * 1_024).littleEndianBytes)
      + value(0x05, "I", UInt64(cost.passes).littleEndianBytes) + value(0x04, "V", UInt32(0x13).littleEndianBytes) + [0]
  }

  // MARK: The document

  private mutating func writeDocument() throws(ImportFault) {
    xml = Array("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<KeePassFile><Meta><Generator>vault</Generator>".utf8)
    element("DatabaseName", "vault")
    // Without them, KeePassXC keeps ten former versions when an entry is edited.
    element("HistoryMaxItems", "-1")
    element("HistoryMaxSize", "-1")
    xml += "</Meta><Root>".utf8
    try write(root, "vault")
    xml += "</Root></KeePassFile>".utf8
  }

  /// Recursion is safe: folders are at most ``depth`` deep.
  private mutating func write(_ folder: Folder, _ name: String) throws(ImportFault) {
    xml += "<Group>".utf8
    element("UUID", Self.base64(Gcrypt.randomBytes(16)))
    element("Name", name)
    for (title, entry) in folder.entries { try write(entry, title) }
    for (name, inner) in folder.folders.sorted(by: { $0.key < $1.key }) { try write(inner, name) }
    xml += "</Group>".utf8
  }

  private mutating func write(_ entry: Entry, _ title: String) throws(ImportFault) {
    let identifier = Self.base64(Gcrypt.randomBytes(16))
    xml += "<Entry>".utf8
    try write(entry.current, title, identifier, entry)
    for attachment in entry.attachments {
      xml += "<Binary>".utf8
      element("Key", attachment.name)
      xml += "<Value Ref=\"\(binaries.count)\"/></Binary>".utf8
      binaries.append(attachment.bytes)
    }
    xml += "<History>".utf8
    for version in entry.history {
      xml += "<Entry>".utf8
      try write(version, title, identifier, nil)
      xml += "</Entry>".utf8
    }
    xml += "</History></Entry>".utf8
  }

  private mutating func write(
    _ version: Entry.Version, _ title: String, _ identifier: String, _ entry: Entry?
  ) throws(ImportFault) {
    element("UUID", identifier)
    if let tags = entry?.attributes["tags"], tags.fitsXML { element("Tags", tags) }
    xml += "<Times>".utf8
    if let modified = version.modified { element("LastModificationTime", Self.moment(modified)) }
    element("Expires", entry?.expires == nil ? "False" : "True")
    if let expires = entry?.expires { element("ExpiryTime", Self.moment(Int64(clamping: expires))) }
    xml += "</Times>".utf8
    try text("Title", title)
    for (name, member) in KeePassWriter.members {
      try text(name, version.text(member), isProtected: member == "password")
    }
    var written = Self.members.map(\.1)
    if let url = OneTimeSource.url(of: version.text("totp")) {
      try text("otp", url, isProtected: true)
      written.append("totp")
    }
    let fields = version.fields.filter { !written.contains($0.name) }
    let others = fields + (entry?.fieldsOfAttributes ?? [])
    for (index, name) in Entry.namesInKeePass(others).enumerated() {
      try text(name, others[index].text, isProtected: index < fields.count)
    }
  }

  static let members = [
    ("UserName", "username"), ("Password", "password"), ("URL", "url"), ("Notes", "notes"),
  ]

  private mutating func text(_ name: String, _ value: String, isProtected: Bool = false) throws(ImportFault) {
    xml += "<String>".utf8
    element("Key", name)
    // XML cannot contain every character, but a protected text is base64.
    if isProtected || !value.fitsXML {
      var hidden = Array(value.utf8)
      try stream.encrypt(&hidden)
      xml += "<Value Protected=\"True\">\(Self.base64(hidden))</Value>".utf8
    } else {
      element("Value", value)
    }
    xml += "</String>".utf8
  }

  private mutating func element(_ name: String, _ text: String) {
    xml += "<\(name)>".utf8
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": xml += "&amp;".utf8
      case "<": xml += "&lt;".utf8
      case ">": xml += "&gt;".utf8
      case "\r": xml += "&#13;".utf8
      case "\t", "\n": xml.append(UInt8(scalar.value))
      // Only a name can contain such a character. The command that exports lists it as lost.
      case _ where !scalar.fitsXML: xml += "\u{FFFD}".utf8
      default: xml += String(Character(scalar)).utf8
      }
    }
    xml += "</\(name)>".utf8
  }

  /// Seconds since the year 1, as in version 4.
  private static func moment(_ milliseconds: Int64) -> String {
    base64((milliseconds / 1_000 + 62_135_596_800).littleEndianBytes)
  }

  private static func base64(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    Base64.append(encoding: bytes, to: &text)
    return String(decoding: text, as: UTF8.self)
  }
}
