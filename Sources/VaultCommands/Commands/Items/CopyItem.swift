internal import Vault

/// `vault copy NAME`
struct CopyItem: Command {
  static let about = About(
    "Copy an item into another group, or under another name.",
    usage: "vault copy NAME [NEW-NAME] [-g GROUP] [--to GROUP] [--replace]",
    more: """
      Value, kind, label, attributes and expiry are copied; older versions are not. Within a group, the prompt that \
      the item answers (vault askpass) is not copied either. A copy in another group is no longer listed by vault \
      exposure. An existing item is an error (22), unless --replace gives it a new version. -g names the source group.
      """,
    example: """
      vault copy db/password --to team.shared
      vault copy db/password db/password-old
      """)

  static let surplus: Failure? = .usage(
    "only one item is copied at a time", hint: "vault copy NAME NEW-NAME --to GROUP")

  let name: String
  let transfer: Transfer
  let group: String?
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The item's name.", completes: .items)
    transfer = Transfer(&arguments)
    group = arguments.group()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws { try transfer.run(name, from: group, key, removesSource: false, in: session) }
}

/// `vault move NAME`
struct MoveItem: Command {
  static let about = About(
    "Move an item into another group, or rename it.",
    usage: "vault move NAME [NEW-NAME] [-g GROUP] [--to GROUP] [--replace]",
    more: """
      Copies the item and then removes it; its versions stay in the old place, where restore finds them. Within a \
      group both happen at once. Between two groups the copy is made first: if the command is stopped in between, the \
      item is in both groups and is not lost.
      """,
    example: """
      vault move db/password --to team.shared
      vault move api/key api/token
      """)

  static let surplus: Failure? = .usage(
    "only one item is moved at a time", hint: "vault move NAME NEW-NAME")

  let name: String
  let transfer: Transfer
  let group: String?
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The item's name.", completes: .items)
    transfer = Transfer(&arguments)
    group = arguments.group()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws { try transfer.run(name, from: group, key, removesSource: true, in: session) }
}

/// The target of an item.
struct Transfer {
  /// The target group; nil for the same group.
  let target: String?
  /// The target name, as an argument or as `--as`; nil for the same name.
  let newName: String?
  private let isNamedTwice: Bool
  let replace: Bool

  init(_ arguments: inout Arguments) {
    let name = arguments.optionalArgument("new-name", "The new name (by default the same).")
    target = arguments.option("--to", value: "group", "The target group (by default the same).", completes: .groups)
    let asName = arguments.option("--as", value: "new-name", "The same as NEW-NAME.")
    newName = asName ?? name
    isNamedTwice = name != nil && asName != nil
    replace = arguments.flag("--replace", "Give an existing item a new version.")
  }

  /// - Parameter source: the group that contains the item; nil for the default group.
  func run(
    _ name: String, from source: String?, _ key: KeySource, removesSource: Bool, in session: Session
  ) throws {
    guard !isNamedTwice else { throw Failure.usage("NEW-NAME and --as exclude each other") }
    guard target != nil || newName != nil else {
      throw Failure.usage("a new name or --to is missing", hint: "--to names the group, NEW-NAME the item there")
    }
    if let newName { try ItemPlace.refuseReference(newName) }
    let store = try session.openStore(key)
    session.circumstances.group = source
    let source = try session.group(source, of: store)
    let target = try self.target.map { name throws(VaultError) in try store.group(name) } ?? source
    let (oldName, newName) = (try Item.Name(name), try Item.Name(newName ?? name))
    guard source.name != target.name else {
      guard oldName != newName else { throw Failure.usage("the item already has this name and group") }
      let item = try source.transaction { edit in
        let opened = try edit.open(name)
        try put(opened, as: newName, in: edit, answersPrompts: removesSource)
        if removesSource { edit.remove(name) }
        return opened.item
      }
      return tell(of: item, removesSource, session)
    }
    // Check the right to write to the source before making a copy.
    if removesSource { try naming(source) { try source.transaction { edit in _ = try edit.open(name) } } }
    let opened = try source.open(name)
    try naming(target) { try target.transaction { edit in try put(opened, as: newName, in: edit) } }
    guard removesSource else { return }
    do {
      try source.remove(name, ifVersion: opened.item.version)
    } catch {
      throw Self.leftBehind(error)
    }
    tell(of: opened.item, removesSource, session)
  }

  /// Tells what of `item` was left in its old place.
  private func tell(of item: Item, _ isMoved: Bool, _ session: Session) {
    let name = UTF8Text.onOneLine(item.name.description)
    if isMoved, item.version > 1 {
      session.say("its former versions stay under the old name: vault history '\(name)'")
    } else if !isMoved, target == nil, item.attributes.keys.contains(where: AskPassRule.isAttribute) {
      session.say("the copy answers no prompt; see: vault askpass list")
    }
  }

  /// The error if the copy was made but the original was not removed.
  static func leftBehind(_ error: VaultError) -> Failure {
    switch error {
    case .notFound, .conflict(_, present: 0):
      Failure(error.exitStatus, "the item was copied; somebody else removed it from its old place meanwhile")
    default:
      Failure(error.exitStatus, "the item was copied and is still in its old place: \(error.message)", hint: error.hint)
    }
  }

  /// Names the group that does not allow the operation.
  private func naming(_ group: AccessGroup, _ body: () throws -> Void) throws {
    do { try body() } catch let error as VaultError {
      guard case .denied = error else { throw error }
      throw Failure(error.exitStatus, "'\(group.name)': \(error.message)", hint: error.hint)
    }
  }

  /// Sets the item with all of its details; nothing remains of an item that it replaces.
  ///
  /// - Parameter answersPrompts: whether it may answer prompts of ssh and others, for which only one item of a group can.
  private func put(
    _ opened: borrowing OpenedItem, as name: Item.Name, in edit: borrowing Edit, answersPrompts: Bool = true
  ) throws {
    let item = opened.item
    let attributes = item.attributes.filter { answersPrompts || !AskPassRule.isAttribute($0.key) }
    var details = Details(
      label: item.label.map { .to($0) } ?? .remove, attributes: attributes.mapValues { .some($0) },
      expires: item.expires.map { .to($0) } ?? .remove)
    do {
      let present = try edit.open(name.description)
      guard replace else {
        throw Failure(.exists, "an item with this name exists", hint: "to give it a new version: --replace")
      }
      for key in present.item.attributes.keys where attributes[key] == nil { details.attributes[key] = .some(nil) }
    } catch VaultError.notFound(.item) {
      // There is no item with the target name.
    }
    edit.set(name.description, to: opened.secret, kind: item.kind, typeName: item.typeName, details)
  }
}
