internal import Exchange
internal import KeyedArchives
internal import VaultStore

/// Opens the values that references name; the store is opened once, with the first of them.
final class References {
  private let session: Session
  private let key: KeySource
  private var store: SecretStore?

  init(_ session: Session, _ key: KeySource) {
    self.session = session
    self.key = key
  }

  /// The value that `reference` names.
  ///
  /// - Throws: what keeps it from being read.
  func value(of reference: Reference) throws -> Secret {
    let opened = try group(reference.group).open(reference.name)
    if opened.item.hasExpired { warnOfExpiry() }
    guard let field = reference.field else {
      return try unsafe opened.secret.withUnsafeBytes { (bytes) throws(VaultError) in
        try unsafe Secret(copying: bytes)
      }
    }
    let bytes = unsafe opened.secret.withUnsafeBytes { unsafe Array($0) }
    let value = try References.object(bytes, opened.item.kind).flatMap { JSONField.value(of: field, in: $0) }
    guard let value else { throw Failure(.notFound, "the value has no such field") }
    // Data, dates and objects that were named before are written as objects whose first key begins so.
    guard opened.item.kind == .json || !value.starts(with: #"{"$"#.utf8) else {
      throw Failure(.conflict, "the field is neither text nor a number", hint: "vault get NAME --json shows it")
    }
    return try Secret(value)
  }

  /// The value as JSON.
  ///
  /// - Returns: nil where no class of an archive can be shown so.
  private static func object(_ bytes: [UInt8], _ kind: SecretKind) throws(Failure) -> [UInt8]? {
    switch kind {
    case .json: return bytes
    case .archive:
      // Nothing is built of it: its members are looked up by their names.
      let json = try? ArchiveInspection(bytes).json()
      return json.flatMap { JSONField.value(of: "root", in: $0) }
    default: throw Failure(.conflict, "a field is named, and the value is \(kind.name), not json or an archive")
    }
  }

  func warnOfExpiry() { session.warn("a value has expired: vault info shows when") }

  /// The group of this name; nil means VAULT_GROUP, or else the store's default.
  func group(_ name: String?) throws -> AccessGroup {
    let store = try self.store ?? session.openStore(key)
    self.store = store
    return try store.group(name ?? session.variable("VAULT_GROUP") ?? store.defaultGroupName)
  }

  /// Does something that reads a reference, and names its place in the words of an error: `--set: no such item`.
  static func naming<Result: ~Copyable>(_ place: String, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as VaultError {
      throw Failure(error.exitStatus, "\(place): \(error.message)", hint: error.hint)
    } catch let error as Failure {
      throw Failure(error.status, "\(place): \(error.message)", hint: error.hint)
    }
  }

  /// Reads a reference as it was typed.
  ///
  /// - Throws: `usage`; the text is not repeated, because it may have been a secret.
  static func parse(_ text: String) throws(Failure) -> Reference {
    do {
      return try Reference(text)
    } catch {
      throw .usage("this is no reference: \(error.words)", hint: hint)
    }
  }

  static let hint = "vault://GROUP/NAME, or vault://GROUP/NAME#FIELD"
}

extension Reference.Fault {
  /// What is wrong, for people.
  var words: String {
    switch self {
    case .noScheme: "it does not begin with vault://"
    case .noName: "it names no item"
    case .badEscape: "a '%' in it is not followed by two hexadecimal digits of UTF-8"
    case .unescaped: "white space, '#' and control characters are written as '%' and two digits"
    case .emptyField: "nothing stands behind the '#'"
    }
  }
}
