internal import Exchange
internal import Ground

/// Reads what `security dump-keychain -d` prints on a Mac: generic and internet passwords with their attributes.
struct KeychainDump {
  private var lines: ArraySlice<Substring>
  private var lost = LossCounts()
  private var number = 0

  init(_ bytes: [UInt8]) throws(ImportFault) {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw ImportFault("it is not UTF-8", .damaged) }
    lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }[...]
    guard lines.contains(where: { $0.hasPrefix("keychain: ") }) else {
      throw ImportFault("it is not what 'security dump-keychain -d' prints", .damaged)
    }
    guard lines.contains(where: { $0.hasPrefix("data:") }) else {
      throw ImportFault("it holds no passwords: 'security dump-keychain' prints them with -d")
    }
  }

  mutating func read(_ found: (EntryLine) throws(ImportFault) -> Void) throws(ImportFault) {
    while let line = lines.popFirst() {
      guard line.hasPrefix("class: ") else { continue }
      number += 1
      if let entry = try entry(of: line.dropFirst(7)) { try found(.entry(entry)) }
    }
    try lost.tell(found)
  }

  /// Reads an entry up to the next one's first line.
  private mutating func entry(of kind: Substring) throws(ImportFault) -> Entry? {
    var attributes: [String: [UInt8]] = [:]
    var data: [UInt8]?
    while let line = lines.first, !line.hasPrefix("keychain: "), !line.hasPrefix("class: ") {
      lines.removeFirst()
      if line.hasPrefix("data:") {
        // Notes and keys follow on a separate line. An empty line is an empty value.
        data = try Self.value(lines.popFirst() ?? "", at: "entry \(number)")
      } else if line.hasPrefix("    "), let equals = line.firstIndex(of: "="),
        let name = Self.attributeName(line[..<equals])
      {
        attributes[name] = try Self.value(line[line.index(after: equals)...], at: "entry \(number)")
      }
    }
    guard kind == "\"genp\"" || kind == "\"inet\"" else {
      lost.add("keys and certificates")
      return nil
    }
    guard let data else {
      lost.add("entries whose passwords were not shown")
      return nil
    }
    return entry(attributes, data)
  }

  private mutating func entry(_ attributes: [String: [UInt8]], _ data: [UInt8]) -> Entry {
    func text(_ name: String) -> String { String(decoding: attributes[name] ?? [], as: UTF8.self) }
    let place = "entry \(number)"
    let host = text("srvr")
    let names = [text("0x00000007"), text("svce"), host, text("acct")].map { $0.filter { $0 != "\0" } }
    let name = names.first { !$0.isEmpty } ?? place
    var entry = Entry(name, at: place)
    entry.current.modified = Self.moment(text("mdat"))
    entry.current.add("username", text("acct"))
    if let password = String(validating: data, as: UTF8.self) {
      entry.current.add("password", password)
    } else {
      entry.attachments.append(Entry.Attachment("data", data))
    }
    if !host.isEmpty { entry.current.add("url", url(host, text("ptcl"), attributes["port"], text("path"))) }
    entry.current.add("service", text("svce"))
    entry.current.add("notes", text("icmt"))
    entry.current.add("description", text("desc"))
    entry.current.add("securityDomain", text("sdmn"))
    // Applications may write any bytes into this one.
    if let generic = attributes["gena"] {
      if let text = String(validating: generic, as: UTF8.self) {
        entry.current.add("generic", text)
      } else {
        entry.attachments.append(Entry.Attachment("generic", generic))
      }
    }
    for (name, value) in attributes where !value.isEmpty {
      if name == "0x00000007", value.contains(0) { lost.add("zero bytes in names") }
      if !Self.known.contains(name) {
        lost.add(Self.unkept[name] ?? "attributes of other kinds")
      } else if !["gena", "port"].contains(name), String(validating: value, as: UTF8.self) == nil {
        lost.add("bytes that are not UTF-8")
      }
    }
    return entry
  }

  private static let known: Set<String> = [
    "0x00000007", "acct", "desc", "gena", "icmt", "mdat", "path", "port", "ptcl", "sdmn", "srvr", "svce",
  ]
  private static let unkept = ["atyp": "ways to sign in", "cdat": "dates of creation"]

  private func url(_ host: String, _ kind: String, _ port: [UInt8]?, _ path: String) -> String {
    let scheme = Self.scheme(kind)
    let number = (port ?? []).suffix(4).reduce(0) { $0 << 8 | Int($1) }
    let isUsual = number == 0 || number == ["https": 443, "http": 80, "ftp": 21, "ssh": 22][scheme]
    let path = path.isEmpty || path.hasPrefix("/") ? path : "/" + path
    return "\(scheme)://\(host)\(isUsual ? "" : ":\(number)")\(path)"
  }

  /// The scheme for a protocol of four characters (Apple's `SecProtocolType`); https if there is none.
  private static func scheme(_ kind: String) -> String {
    let long = [
      "htps": "https", "imps": "imaps", "ldps": "ldaps", "ntps": "nntps", "sox ": "socks", "teln": "telnet",
      "tels": "telnets", "atlk": "at",
    ]
    let code = kind.filter { $0 != " " }
    guard code.utf8.first?.isLetter == true, code.utf8.allSatisfy({ $0.isLetter || $0.isDigit }) else { return "https" }
    return long[kind] ?? code.lowercased()
  }

  // MARK: Values

  /// The name in `"acct"<blob>` or `0x00000007 <blob>`.
  private static func attributeName(_ text: Substring) -> String? {
    text.split(separator: "<").first.map { $0.filter { $0 != " " && $0 != "\"" } }
  }

  /// The bytes of `"text"`, of `0x4142  "AB"`, or of nothing.
  ///
  /// - Throws: `damaged`, with the position.
  static func value(_ text: Substring, at place: String) throws(ImportFault) -> [UInt8] {
    let text = text.utf8.drop { $0 == 0x20 }
    if text.starts(with: "0x".utf8) {
      let digits = text.dropFirst(2).prefix { $0 != 0x20 }
      guard let bytes = [UInt8](hexadecimal: digits) else {
        throw ImportFault("a value is damaged", at: place, .damaged)
      }
      return bytes
    }
    guard text.first == UInt8(ascii: "\"") else { return [] }
    guard text.count >= 2, text.last == UInt8(ascii: "\"") else {
      throw ImportFault("a value has no end", at: place, .damaged)
    }
    // A text that is printed only in quotes has no escapes. A text that needs them is also printed as hexadecimal
    // digits.
    return Array(text.dropFirst().dropLast())
  }

  /// `20230102030405Z` as milliseconds since 1970.
  private static func moment(_ text: String) -> Int64? {
    let digits = Array(text.prefix(14))
    guard digits.count == 14 else { return nil }
    func part(_ range: Range<Int>) -> String { String(digits[range]) }
    return UTCDate.moment(
      "\(part(0..<4))-\(part(4..<6))-\(part(6..<8))T\(part(8..<10)):\(part(10..<12)):\(part(12..<14))Z")?.milliseconds
  }
}
