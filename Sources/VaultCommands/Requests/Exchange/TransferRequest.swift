internal import Vault

/// What `vault copy` and `vault move` are asked to do.
struct TransferRequest {
  let name: String
  /// The group that the item is in; nil for the one that is meant where none is named.
  let source: String?
  /// The group it goes to; nil for the same.
  let target: String?
  /// Its name there; nil for the same.
  let newName: String?
  let replaces: Bool
  let removesSource: Bool
  let key: KeySource

  func run(in session: Session) throws {
    guard target != nil || newName != nil else {
      throw Failure.usage("--to or --as is missing", hint: "--to names the group, --as the item there")
    }
    let store = try session.openStore(key)
    let source = try store.group(self.source ?? session.variable("VAULT_GROUP") ?? store.defaultGroupName)
    let target = try self.target.map { name throws(VaultError) in try store.group(name) } ?? source
    let (oldName, newName) = (try Item.Name(name), try Item.Name(newName ?? name))
    guard source.name != target.name else {
      guard oldName != newName else { throw Failure.usage("the item would be put in its own place") }
      return try source.transaction { edit in
        try put(edit.open(name), as: newName, in: edit)
        if removesSource { edit.remove(name) }
      }
    }
    // Who may not write the source is told before there are two.
    if removesSource { try naming(source) { try source.transaction { edit in _ = try edit.open(name) } } }
    let opened = try source.open(name)
    try naming(target) { try target.transaction { edit in try put(opened, as: newName, in: edit) } }
    guard removesSource else { return }
    do {
      try source.remove(name, ifVersion: opened.item.version)
    } catch {
      throw TransferRequest.leftBehind(error)
    }
  }

  /// What is told where the copy is made, and the item was not removed.
  static func leftBehind(_ error: VaultError) -> Failure {
    switch error {
    case .notFound, .conflict(_, present: 0):
      Failure(error.exitStatus, "it was copied; somebody else removed it from its old place meanwhile")
    default:
      Failure(error.exitStatus, "it was copied, and is still in its old place: \(error.message)", hint: error.hint)
    }
  }

  /// Says which of two groups does not allow something.
  private func naming(_ group: AccessGroup, _ body: () throws -> Void) throws {
    do { try body() } catch let error as VaultError {
      guard case .denied = error else { throw error }
      throw Failure(error.exitStatus, "'\(group.name)': \(error.message)", hint: error.hint)
    }
  }

  /// Sets the item as it is in its old place, with nothing left of one that it replaces.
  private func put(_ opened: borrowing OpenedItem, as name: Item.Name, in edit: Edit) throws {
    let item = opened.item
    var details = Details(
      label: item.label.map { .to($0) } ?? .remove, attributes: item.attributes.mapValues { .some($0) },
      expires: item.expires.map { .to($0) } ?? .remove)
    do {
      let present = try edit.open(name.description)
      guard replaces else {
        throw Failure(.exists, "there is an item of this name", hint: "to give it a new version: --replace")
      }
      for key in present.item.attributes.keys where item.attributes[key] == nil { details.attributes[key] = .some(nil) }
    } catch VaultError.notFound(.item) {
      // The place is free.
    }
    edit.set(name.description, to: opened.secret, kind: item.kind, typeName: item.typeName, details)
  }
}
