internal import Exchange
internal import Vault

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
    return try Secret(ItemField(field, of: opened).value())
  }

  /// Who may write the group besides its owner and whoever reads it here; `nil` for nobody.
  func otherWriter(of group: AccessGroup) throws -> String? {
    let own = store?.application
    for member in try group.info().members where member.rights == .write {
      if case .application(let name, _) = member.who, name != own { return name }
    }
    return nil
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
