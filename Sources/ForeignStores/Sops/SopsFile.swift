internal import Exchange
internal import Ground

/// Reads a YAML or JSON file, with or without encryption by sops for age, and an env file that sops encrypted. Of other
/// files, sops makes JSON, but for INI, which is not read.
///
/// https://getsops.io: each value is sealed separately with AES-256-GCM and bound to the keys above it. A MAC over all
/// values in their order, sealed with the time of the last change, binds them together. The data key is sealed for each
/// recipient of age, and the program age opens it.
struct SopsFile {
  /// Opens a text that age sealed.
  typealias Opener = ([UInt8]) throws(ImportFault) -> [UInt8]

  private let document: JSONValue
  /// The only value of the document if it is not text: the content of another kind of file, which sops names `data`.
  private let binary: [UInt8]?

  /// - Throws: `damaged`; `wrongKey` if none of the identities opens the file.
  init(_ bytes: [UInt8], isSealed: Bool, open: Opener) throws(ImportFault) {
    // Skip the byte-order mark that editors write.
    let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes[3...]) : bytes
    guard let text = String(validating: bytes, as: UTF8.self) else { throw ImportFault("it is not UTF-8", .damaged) }
    let start = text.utf8.first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
    let document =
      if start == UInt8(ascii: "{") {
        try JSONValue.read(bytes)
      } else if isSealed, text.holds("\nsops_mac=") {
        try Self.environment(text)
      } else {
        try YAMLReader.value(of: text)
      }
    guard case .object(let members) = document else { throw ImportFault("it holds no names", .damaged) }
    guard let metadata = document["sops"], metadata["mac"] != nil else {
      guard !isSealed else { throw ImportFault("it is not a file of sops", .damaged) }
      guard document["sops"]?["lastmodified"] == nil else {
        throw ImportFault("it is encrypted by sops, but has no code of its values")
      }
      (self.document, binary) = (document, nil)
      return
    }
    var values = SopsValues(
      key: try Self.dataKey(metadata, open), onlySealed: metadata["mac_only_encrypted"] == .bool(true))
    let content = JSONValue.object(members.filter { $0.name != "sops" })
    self.document = try values.opened(content, [])
    binary = values.binary
    let stated = try SopsValues.opened(
      metadata.text("mac"), key: values.key, bound: metadata.text("lastmodified"))?.bytes
    guard let stated, try Gcrypt.areEqual(values.code(), stated) else {
      throw ImportFault("its code does not fit: a value was removed, added or moved", .damaged)
    }
    guard binary == nil || self.document.members.map(\.value) == [.string("")] else {
      throw ImportFault("a value is not text", at: "data", .unsupported)
    }
  }

  /// The document in an env file, whose lines sops reads and writes without quotes. A line break in a value is `\n`, and
  /// the names of its own data are flat, such as `sops_age__list_0__map_enc`.
  private static func environment(_ text: String) throws(ImportFault) -> JSONValue {
    var (members, metadata, recipients): ([JSONValue.Member], [JSONValue.Member], [JSONValue]) = ([], [], [])
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      guard !line.isEmpty, line.first != "#" else { continue }
      guard let equals = line.firstIndex(of: "=") else {
        throw ImportFault("the line is neither NAME=value nor a comment", at: "line \(index + 1)", .damaged)
      }
      let name = String(line[..<equals])
      let value = JSONValue.string(String(line[line.index(after: equals)...]).exchanging("\\n", for: "\n"))
      func member(_ name: String, _ value: JSONValue) -> JSONValue.Member {
        JSONValue.Member(name: name, value: value, line: index + 1)
      }
      if name.hasPrefix("sops_age__list_"), name.hasSuffix("__map_enc") {
        recipients.append(.object([member("enc", value)]))
      } else if name.hasPrefix("sops_key_groups__") {
        metadata.append(member("key_groups", .array([value])))
      } else if name.hasPrefix("sops_") {
        metadata.append(member(String(name.dropFirst(5)), value == .string("true") ? .bool(true) : value))
      } else {
        members.append(member(name, value))
      }
    }
    metadata.append(JSONValue.Member(name: "age", value: .array(recipients), line: 1))
    return .object(members + [JSONValue.Member(name: "sops", value: .object(metadata), line: 1)])
  }

  private static func dataKey(_ metadata: JSONValue, _ open: Opener) throws(ImportFault) -> [UInt8] {
    guard metadata["key_groups"]?.elements.isEmpty != false else {
      throw ImportFault("its key is in several parts", .unsupported)
    }
    let recipients = (metadata["age"]?.elements ?? []).map { $0.text("enc") }.filter { !$0.isEmpty }
    guard !recipients.isEmpty else { throw ImportFault("it is not encrypted for age", .unsupported) }
    for recipient in recipients.prefix(100) {
      do throws(ImportFault) {
        let key = try open(Array(recipient.utf8))
        guard key.count == 32 else { throw ImportFault("its key has the wrong length", .damaged) }
        return key
      } catch {
        guard error.kind == .wrongKey else { throw error }
      }
    }
    throw ImportFault("no identity of age opens it", .wrongKey)
  }

  func read(_ found: (EntryLine) throws(ImportFault) -> Void) throws(ImportFault) {
    if let binary {
      var base64: [UInt8] = []
      Base64.append(encoding: binary, to: &base64)
      return try found(.value("data", .bytes, String(decoding: base64, as: UTF8.self), at: "'data'"))
    }
    for member in document.members { try tell(member.value, member.name, at: "'\(member.name)'", found) }
  }

  /// Recursion is safe, because the readers limit how deep values are nested.
  private func tell(
    _ value: JSONValue, _ name: String, at place: String, _ found: (EntryLine) throws(ImportFault) -> Void
  ) throws(ImportFault) {
    guard name.utf8.count <= 4_096 else { return try found(.loss("a name that is too long")) }
    switch value {
    case .object([]): try found(.value(name, .json, "{}", at: place))
    case .object(let members):
      for member in members {
        try tell(member.value, "\(name)/\(member.name)", at: "\(place) > '\(member.name)'", found)
      }
    case .null: try found(.loss("\(place) is null"))
    case .array: try found(.value(name, .json, String(decoding: value.json, as: UTF8.self), at: place))
    case .string(let text): try found(.value(name, .string, text, at: place))
    case .bool(let bool): try found(.value(name, .bool, String(bool), at: place))
    case .number(let number): try found(.value(name, JSONItems.numberKind(number), number, at: place))
    }
  }
}

/// Opens the values of a file, and feeds them to its MAC.
struct SopsValues {
  let key: [UInt8]
  /// The value `data`, if it is not text.
  private(set) var binary: [UInt8]?
  private let onlySealed: Bool
  private var gathered: [UInt8]

  init(key: [UInt8], onlySealed: Bool) {
    self.key = key
    self.onlySealed = onlySealed
    // The SHA-256 of "sops", which keeps the two kinds of MAC apart.
    gathered = onlySealed ? (try? Gcrypt.sha256(Array("sops".utf8))) ?? [] : []
  }

  /// - Parameter path: the keys above the value. A sequence adds none.
  mutating func opened(_ value: JSONValue, _ path: [String]) throws(ImportFault) -> JSONValue {
    switch value {
    case .object(let members):
      var opened: [JSONValue.Member] = []
      for member in members {
        opened.append(
          JSONValue.Member(
            name: member.name, value: try self.opened(member.value, path + [member.name]), line: member.line))
      }
      return .object(opened)
    case .array(let elements):
      var opened: [JSONValue] = []
      for element in elements { opened.append(try self.opened(element, path)) }
      return .array(opened)
    case .string(let text) where text.hasPrefix("ENC["):
      guard let (bytes, kind) = try Self.opened(text, key: key, bound: path.joined(separator: ":") + ":") else {
        throw ImportFault("a value is damaged", at: path.joined(separator: "/"), .damaged)
      }
      if kind != "comment" { gathered += bytes }
      if let text = String(validating: bytes, as: UTF8.self) { return Self.value(text, kind) }
      guard path == ["data"], binary == nil else {
        throw ImportFault("a value is not text", at: path.joined(separator: "/"), .unsupported)
      }
      binary = bytes
      return .string("")
    case .null: return value
    case .string(let text): if !onlySealed { gathered += text.utf8 }
    case .number(let number): if !onlySealed { gathered += Self.canonical(number).utf8 }
    case .bool(let bool): if !onlySealed { gathered += (bool ? "True" : "False").utf8 }
    }
    return value
  }

  /// The number as sops writes it: without the zeros and digits that its value does not have.
  private static func canonical(_ number: String) -> String {
    if let whole = Int64(number) { return String(whole) }
    let text = Double(number).map { String($0) } ?? number
    return text.contains("e") ? number : text
  }

  private static func value(_ text: String, _ kind: String) -> JSONValue {
    switch kind {
    case "int", "int64", "float": return Double(text) == nil ? .string(text) : .number(text)
    case "bool": return .bool(text.lowercased() == "true")
    default: return .string(text)
    }
  }

  /// The MAC over all values so far, in the hexadecimal form that is sealed.
  func code() throws(ImportFault) -> [UInt8] {
    Array(try Gcrypt.sha512(gathered).hexadecimal.uppercased().utf8)
  }

  /// The value in `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]`.
  ///
  /// - Parameter bound: the keys to which the value is bound.
  /// - Returns: nil if it is damaged or bound to other keys.
  static func opened(
    _ text: String, key: [UInt8], bound: String
  ) throws(ImportFault) -> (bytes: [UInt8], kind: String)? {
    guard text.hasPrefix("ENC[AES256_GCM,"), text.last == "]" else { return nil }
    var parts: [String: String] = [:]
    for part in text.dropFirst(15).dropLast().split(separator: ",") {
      let pair = part.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      if pair.count == 2 { parts[String(pair[0])] = String(pair[1]) }
    }
    func bytes(_ name: String) -> [UInt8]? {
      var bytes: [UInt8] = []
      return parts[name].flatMap { Base64.append(decoding: Array($0.utf8), to: &bytes) ? bytes : nil }
    }
    guard let data = bytes("data"), let vector = bytes("iv"), let tag = bytes("tag"), !vector.isEmpty, tag.count == 16
    else { return nil }
    return try Gcrypt.openedGCM(data, tag: tag, key: key, vector: vector, bound: Array(bound.utf8)).map {
      ($0, parts["type"] ?? "str")
    }
  }
}
