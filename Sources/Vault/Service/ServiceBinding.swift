internal import Sealing

/// How the service identifies an application by its process or its certificate, without a credential file.
///
/// A caller is the application if all conditions of one alternative hold.
public struct ServiceBinding: Sendable, Equatable {
  /// The application's id.
  public let application: String
  /// At least one; no two with the same conditions.
  public let alternatives: [Alternative]

  /// Conditions that must all hold, and the credentials that systemd gets for such a unit.
  public struct Alternative: Sendable, Equatable {
    /// The name of a unit of the system's service manager, such as `web.service`.
    public let unit: String?
    /// A Unix user, by name or by number.
    public let user: String?
    /// The absolute path of the executable.
    public let exe: String?
    /// A label of AppArmor or SELinux.
    public let label: String?
    /// A client certificate over TLS: a DNS name or URI that it was issued for, or `sha256:` and its fingerprint. Such
    /// an alternative has no other conditions, because the kernel cannot identify a caller on the network.
    public let certificate: String?
    /// The item behind each id that the unit names in `LoadCredential=`.
    public let credentials: [String: Reference]

    /// - Throws: ``VaultError/invalid(_:)`` if there is no condition, for invalid texts, and for conditions that no
    ///   caller can meet together; ``VaultError/overLimit(_:)`` beyond 64 credentials.
    public init(
      unit: String? = nil, user: String? = nil, exe: String? = nil, label: String? = nil,
      certificate: String? = nil, credentials: [String: Reference] = [:]
    ) throws(VaultError) {
      let isOfProcess = unit != nil || user != nil || exe != nil || label != nil
      guard isOfProcess || certificate != nil else {
        throw .invalid("a binding needs a unit, a user, an executable, a label or a certificate")
      }
      guard certificate == nil || !isOfProcess && credentials.isEmpty else {
        throw .invalid("a certificate cannot have other conditions, because its owner calls over the network")
      }
      guard credentials.isEmpty || unit != nil else {
        throw .invalid("credentials need a unit, because systemd asks for them by its name")
      }
      try Alternative.require(unit, Alternative.isUnit, "a unit is named like 'web.service'")
      try Alternative.require(user, { isText($0, 256) && !$0.contains(":") }, "a user has a name or a number")
      try Alternative.require(
        exe, { $0.hasPrefix("/") && !$0.hasSuffix("/") && isText($0, 4_096) }, "an executable has an absolute path")
      try Alternative.require(label, { isText($0, 1_024) }, "a label has 1 to 1,024 bytes")
      try Alternative.require(
        certificate, Alternative.isCertificate,
        "a certificate is a DNS name in lower case, a URI, or 'sha256:' and 64 hexadecimal digits")
      guard unit?.hasSuffix(".service") ?? true || !credentials.isEmpty else {
        throw .invalid("no process of such a unit can be a caller: name a unit like 'web.service', or credentials")
      }
      guard credentials.count <= 64 else { throw .overLimit("64 credentials of a binding") }
      guard credentials.keys.allSatisfy(Alternative.isCredentialID) else {
        throw .invalid("the id of a credential has 1 to 255 of the characters A-Z a-z 0-9 . _ - and is not '.' or '..'")
      }
      (self.unit, self.user, self.exe, self.label) = (unit, user, exe, label)
      (self.certificate, self.credentials) = (certificate, credentials)
    }

    /// Whether both have the same conditions.
    package func hasConditions(of other: Alternative) -> Bool {
      (unit, user, exe, label, certificate) == (other.unit, other.user, other.exe, other.label, other.certificate)
    }

    private static func require(_ text: String?, _ isValid: (String) -> Bool, _ rule: String) throws(VaultError) {
      if let text, !isValid(text) { throw .invalid(rule) }
    }

    private static let fingerprintPrefix = "sha256:"

    /// The text that identifies a certificate with these DER bytes.
    package static func fingerprint(of certificate: [UInt8]) -> String {
      fingerprintPrefix + SHA256.digest(certificate).hexadecimal
    }

    private static func isCertificate(_ text: String) -> Bool {
      if text.hasPrefix(fingerprintPrefix) {
        return Bytes32(hexadecimal: text.dropFirst(fingerprintPrefix.count)) != nil
      }
      // DNS names are case-insensitive, so they are written in lower case; the rest of a URI is case-sensitive.
      guard isText(text, 1_024), !text.contains(" ") else { return false }
      return text.contains(":") || !text.unicodeScalars.contains { ("A"..."Z").contains($0) }
    }

    /// The kinds of units that systemd requests credentials for. Only services have processes that call.
    private static let unitKinds = [".service", ".socket", ".mount", ".swap"]

    private static func isUnit(_ text: String) -> Bool {
      guard text.utf8.count <= 255, let kind = unitKinds.first(where: { text.hasSuffix($0) }) else { return false }
      let name = text.utf8.dropLast(kind.utf8.count)
      return !name.isEmpty && name.last != UInt8(ascii: "@")
        && name.allSatisfy { isPlain($0) || ":@\\".utf8.contains($0) }
    }

    private static func isCredentialID(_ text: String) -> Bool {
      (1...255).contains(text.utf8.count) && text.utf8.allSatisfy(isPlain) && text != "." && text != ".."
    }
  }

  /// Whether `text` has 1 to `limit` bytes without control characters.
  static func isText(_ text: String, _ limit: Int) -> Bool {
    (1...limit).contains(text.utf8.count) && !text.unicodeScalars.contains(where: Item.Name.isControl)
  }

  /// Whether `byte` may be part of a host's name, a unit's name or a credential's id: A-Z a-z 0-9 - _ .
  static func isPlain(_ byte: UInt8) -> Bool { byte.isLetter || byte.isDigit || "-_.".utf8.contains(byte) }

  /// An item, or a field of one.
  public struct Reference: Sendable, Hashable {
    /// The group's name; `nil` for the application's own group.
    public let group: String?
    public let item: String
    public let field: String?

    /// - Throws: ``VaultError/invalid(_:)`` for a name that no group, item or field can have.
    public init(item: String, field: String? = nil, group: String? = nil) throws(VaultError) {
      self.group = try group.map { (name) throws(VaultError) in try AccessGroup.Name(name).description }
      self.item = try Item.Name(item).description
      if let field, !isText(field, 1_024) {
        throw .invalid("a field's name has 1 to 1,024 bytes without control characters")
      }
      self.field = field
    }
  }

  /// The prefix of the items `bind/APP` of `vault.service`.
  package static let prefix = "bind/"
  /// The prefix of the items with the secrets of AppRole logins.
  package static let rolePrefix = "settings/approle/"
  static let alternativeLimit = 64

  /// - Throws: ``VaultError/invalid(_:)`` without alternatives, or if two have the same conditions.
  init(application: String, alternatives: [Alternative]) throws(VaultError) {
    guard !alternatives.isEmpty else { throw .invalid("a binding has at least one alternative") }
    guard alternatives.count <= ServiceBinding.alternativeLimit else {
      throw .overLimit("\(ServiceBinding.alternativeLimit) alternatives of a binding")
    }
    for (index, alternative) in alternatives.enumerated() {
      guard !alternatives[..<index].contains(where: alternative.hasConditions) else {
        throw .invalid("two alternatives of a binding have the same conditions")
      }
    }
    self.application = try Applications.name(application).description
    self.alternatives = alternatives
  }

  // MARK: The bytes of a binding, in JSON (format article, "The service")

  /// Reads the value of an item `bind/APP`. Anything that a newer version may have added is refused, because an unknown
  /// condition must not be ignored.
  ///
  /// - Throws: ``VaultError/damaged(group:level:detail:)``.
  init(application: String, parsing bytes: [UInt8]) throws(VaultError) {
    do {
      guard bytes.count <= ServiceBinding.byteLimit, let text = String(validating: bytes, as: UTF8.self),
        case .array(let elements) = try JSONValue(parsing: text)
      else { throw ByteReader.Failure() }
      try self.init(application: application, alternatives: elements.map { try Alternative($0) })
    } catch {
      throw .damagedServiceRow("the binding of '\(application)' does not follow the format")
    }
  }

  static let byteLimit = 512 << 10

  /// The binding as JSON, without members that are not set.
  func serialized() -> [UInt8] { JSONValue.array(alternatives.map(\.json)).json }
}

extension JSONValue {
  /// The members of an object, each of them once, and all of them among `known`: no unknown member is ignored.
  fileprivate func members(_ known: Set<String>? = nil) throws -> [String: JSONValue] {
    guard case .object(let members) = self else { throw ByteReader.Failure() }
    let found = Dictionary(members.map { ($0.name, $0.value) }) { $1 }
    guard found.count == members.count, known?.isSuperset(of: found.keys) ?? true else { throw ByteReader.Failure() }
    return found
  }

  fileprivate static func object(_ members: [(String, JSONValue)]) -> JSONValue {
    .object(members.map { Member(name: $0, value: $1, line: 0) })
  }
}

extension [String: JSONValue] {
  fileprivate func text(_ name: String) throws -> String? {
    try self[name].map { (value) throws in
      guard let text = value.text else { throw ByteReader.Failure() }
      return text
    }
  }
}

extension ServiceBinding.Alternative: CustomStringConvertible {
  /// The conditions, for people.
  public var description: String { conditions.map { "\($0.name) \($0.text)" }.joined(separator: ", ") }

  fileprivate init(_ json: JSONValue) throws {
    let members = try json.members(["unit", "user", "exe", "label", "certificate", "credentials"])
    let credentials = try members["credentials"]?.members().mapValues { (json) throws in
      let reference = try json.members(["group", "item", "field"])
      guard let item = try reference.text("item") else { throw ByteReader.Failure() }
      return try ServiceBinding.Reference(item: item, field: reference.text("field"), group: reference.text("group"))
    }
    try self.init(
      unit: members.text("unit"), user: members.text("user"), exe: members.text("exe"), label: members.text("label"),
      certificate: members.text("certificate"), credentials: credentials ?? [:])
  }

  /// The conditions that are set, in their order.
  package var conditions: [(name: StaticString, text: String)] {
    [("unit", unit), ("user", user), ("exe", exe), ("label", label), ("certificate", certificate)]
      .compactMap { name, text in text.map { (name, $0) } }
  }

  fileprivate var json: JSONValue {
    var members = conditions.map { ("\($0.name)", JSONValue.string($0.text)) }
    if !credentials.isEmpty {
      members.append(("credentials", .object(credentials.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) })))
    }
    return .object(members)
  }
}

extension ServiceBinding.Reference {
  fileprivate var json: JSONValue {
    .object(
      [("group", group), ("item", item), ("field", field)].compactMap { name, text in text.map { (name, .string($0)) } }
    )
  }
}
