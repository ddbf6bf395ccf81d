internal import GroupFile
internal import Sealing

/// The bytes of a binding, in JSON (format article, "The service").
extension ServiceBinding {
  /// Reads the value of an item `bind/APP`. Anything that a newer version may have added is refused, because an unknown
  /// condition must not be ignored.
  ///
  /// - Throws: ``VaultError/damaged(group:level:detail:)``.
  init(application: String, parsing bytes: [UInt8]) throws(VaultError) {
    do {
      guard bytes.count <= ServiceBinding.byteLimit, let text = String(validating: bytes, as: UTF8.self),
        case .array(let elements) = try JSONValue(parsing: text)
      else { throw BindingDefect.shape }
      let alternatives = try elements.map { try Alternative(Members($0)) }
      try self.init(application: application, alternatives: alternatives)
    } catch {
      throw .damagedServiceRow("the binding of '\(application)' does not follow the format")
    }
  }

  /// The maximum size of a binding, in bytes.
  static let byteLimit = 512 << 10

  /// The binding as JSON, without members that are not set.
  func serialized() -> [UInt8] { Array("[\(alternatives.map(\.json).joined(separator: ","))]".utf8) }

  fileprivate static func quoted(_ text: String) -> String {
    var json: [UInt8] = []
    JSONText.append(quoting: text.utf8, to: &json)
    return String(decoding: json, as: UTF8.self)
  }

  fileprivate enum BindingDefect: Error { case shape }

  /// The members of a JSON object. Each must be taken, so that no unknown member is ignored.
  fileprivate struct Members {
    private var members: [String: JSONValue] = [:]

    init(_ value: JSONValue) throws {
      guard case .object(let members) = value else { throw BindingDefect.shape }
      for member in members {
        guard self.members.updateValue(member.value, forKey: member.name) == nil else { throw BindingDefect.shape }
      }
    }

    var names: [String] { Array(members.keys) }

    mutating func text(_ name: String) throws -> String? {
      guard let value = members.removeValue(forKey: name) else { return nil }
      guard let text = value.text else { throw BindingDefect.shape }
      return text
    }

    mutating func object(_ name: String) throws -> Members? { try members.removeValue(forKey: name).map(Members.init) }

    func finish() throws { guard members.isEmpty else { throw BindingDefect.shape } }
  }
}

extension ServiceBinding.Alternative: CustomStringConvertible {
  /// The conditions, for people.
  public var description: String { conditions.map { "\($0.name) \($0.text)" }.joined(separator: ", ") }

  fileprivate init(_ members: ServiceBinding.Members) throws {
    var members = members
    let (unit, user) = (try members.text("unit"), try members.text("user"))
    let (exe, label) = (try members.text("exe"), try members.text("label"))
    let certificate = try members.text("certificate")
    var credentials: [String: ServiceBinding.Reference] = [:]
    if var references = try members.object("credentials") {
      for id in references.names {
        guard var reference = try references.object(id), let item = try reference.text("item") else {
          throw ServiceBinding.BindingDefect.shape
        }
        let (field, group) = (try reference.text("field"), try reference.text("group"))
        try reference.finish()
        credentials[id] = try ServiceBinding.Reference(item: item, field: field, group: group)
      }
    }
    try members.finish()
    try self.init(unit: unit, user: user, exe: exe, label: label, certificate: certificate, credentials: credentials)
  }

  /// The conditions that are set, in their order.
  package var conditions: [(name: StaticString, text: String)] {
    [("unit", unit), ("user", user), ("exe", exe), ("label", label), ("certificate", certificate)]
      .compactMap { name, text in text.map { (name, $0) } }
  }

  fileprivate var json: String {
    var members = conditions.map { "\"\($0.name)\":\(ServiceBinding.quoted($0.text))" }
    if !credentials.isEmpty {
      let references = credentials.sorted { $0.key < $1.key }.map {
        "\(ServiceBinding.quoted($0.key)):\($0.value.json)"
      }
      members.append("\"credentials\":{\(references.joined(separator: ","))}")
    }
    return "{\(members.joined(separator: ","))}"
  }
}

extension ServiceBinding.Reference {
  fileprivate var json: String {
    let members = [("group", group), ("item", item), ("field", field)].compactMap { name, text in
      text.map { "\"\(name)\":\(ServiceBinding.quoted($0))" }
    }
    return "{\(members.joined(separator: ","))}"
  }
}
