import Glibc
internal import Vault

/// `vault rotate-value NAME -- COMMAND`
struct RotateValue: Command {
  static let about = About(
    "Replace a value with a new random one, which a program must accept first.",
    usage: """
      vault rotate-value NAME[#FIELD] [-g GROUP] [--length N] [--alphabet SET] [--expires WHEN] -- COMMAND ARG...
      vault rotate-value NAME[#FIELD] [-g GROUP] --finish | --discard
      """,
    more: """
      The new value is written to the program's stdin, without a newline. It becomes the item's value only if the \
      program succeeds; the old value stays in the history. While the program runs, the new value is also in the item \
      NAME\(Self.suffix). It stays there if vault or the program is killed, or if the value cannot be stored at the end: \
      the program may have taken it. Then --finish makes it the item's value, and --discard removes it. If the program \
      itself reports a failure, the new value is removed; vault restore NAME\(Self.suffix) brings it back.
      """,
    example: """
      vault rotate-value db/password --expires 90d -- ./set-database-password
      """)

  static let suffix = ".new"

  let name: String
  let field: String?
  let group: String?
  let random: RandomText
  let expires: String?
  let finish: Bool
  let discard: Bool
  let command: [String]
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The item's name.", completes: .items)
    field = arguments.field()
    group = arguments.group()
    random = try RandomText(&arguments, in: "generate")
    expires = arguments.option("--expires", value: "when", "When the new value expires: \(Expiry.forms).")
    finish = arguments.flag("--finish", "The program took the new value: make it the item's value.")
    discard = arguments.flag("--discard", "The program did not take the new value: remove it.")
    command = try arguments.wordsBehindDashes("command", "The program and its arguments.")
    key = try KeySource(&arguments)
  }

  static let surplus = RunProgram.surplusProgram(of: "rotate-value NAME")

  func run(in session: Session) throws {
    guard [finish, discard, !command.isEmpty].count(where: { $0 }) == 1 else {
      throw Failure.usage("give a program after --, or --finish, or --discard")
    }
    var details = Details()
    if let expires { details.expires = try Expiry.change(expires, now: .now) }
    let group = try session.openGroup(group, key)
    let place = try ItemPlace(name, field: field, in: group)
    if finish { return try take(staged(of: place, in: group), place, details, in: group, session) }
    if discard { return try group.remove(staged(of: place, in: group).name.description) }
    let base = try version(of: place, in: group)
    let former = try group.item(place.name)
    let secret = try random.secret()
    details.attributes[Self.target] = place.typed
    let staged = try stage(secret, place, details, in: group)
    let end: ProgramEnd
    do throws(Failure) {
      end = try unsafe secret.withUnsafeBytes { (bytes) throws(Failure) in
        try unsafe ChildProcess.run(command, input: bytes, session.streams)
      }
    } catch {
      // No program was started, so the value was not used anywhere.
      try group.remove(place.staged, ifVersion: staged)
      throw error
    }
    guard end.status == 0 else {
      // A program that was killed may already have used the value.
      guard case .exited(let status) = end, status < 128 else {
        throw Failure(.unexpected, "the program was killed and may have taken the new value", hint: place.finishing)
      }
      try group.remove(place.staged, ifVersion: staged)
      throw Failure(.unexpected, "the program ended with status \(status); the value was not changed")
    }
    details.attributes = [:]
    do {
      try set(secret, place, details, base, group)
    } catch {
      let report = ErrorReport(error)
      throw Failure(
        ExitStatus(rawValue: report.status) ?? .unexpected,
        "the program took the new value, but it was not stored: \(report.message)", hint: place.finishing)
    }
    if expires == nil, place.field == nil {
      session.warnOfLostExpiry(of: former)
    } else if expires == nil {
      session.warnIfExpired(former)
    }
    // Another rotation may have begun after this one's value was discarded.
    guard (try? group.item(place.staged))?.version == staged else { return }
    Self.clearing(place, session) {
      // A removed item may have had this name, and what is kept of it is not ours to destroy.
      let isOurs = try group.history(place.staged).allSatisfy { $0.isRemoved || $0.attributes[Self.target] != nil }
      if isOurs { try group.destroy(place.staged) } else { try group.remove(place.staged, ifVersion: staged) }
    }
  }

  /// Removes the stored value with `remove` once it is the item's. The rotation is done, so an error is only a warning.
  static func clearing(_ place: ItemPlace, _ session: Session, _ remove: () throws -> Void) {
    do { try remove() } catch {
      let (typed, staged) = (UTF8Text.onOneLine(place.typed), UTF8Text.onOneLine(place.staged))
      session.warn(
        "the value was replaced, but its copy is still in '\(staged)': \(ErrorReport(error).message); "
          + "remove it: vault rotate-value '\(typed)' --discard")
    }
  }

  /// Stores the new value before the program gets it.
  ///
  /// - Returns: the version of the item in which it is stored.
  private func stage(
    _ secret: borrowing Secret, _ place: ItemPlace, _ details: Details, in group: AccessGroup
  ) throws -> UInt64 {
    do throws(VaultError) {
      return try group.set(place.staged, to: secret, kind: .string, details, ifVersion: 0)
    } catch {
      guard case .conflict = error else { throw error }
    }
    _ = try staged(of: place, in: group)
    throw Failure(
      .conflict, "an earlier rotation did not finish; its value is in '\(UTF8Text.onOneLine(place.staged))'",
      hint: place.finishing)
  }

  /// The item with the value of an interrupted rotation.
  ///
  /// - Throws: `conflict` if the item with that name is something else, or belongs to another field; `notFound`.
  private func staged(of place: ItemPlace, in group: AccessGroup) throws -> Item {
    let item: Item
    do { item = try group.item(place.staged) } catch VaultError.notFound(.item) {
      _ = try group.item(place.name)
      throw Failure(
        .notFound, "no new value is waiting: no rotation of this value was interrupted",
        hint: "to see its versions: vault history NAME")
    }
    let shown = UTF8Text.onOneLine(place.staged)
    guard let target = item.attributes[Self.target] else {
      throw Failure(
        .conflict, "'\(shown)' already exists as a separate item, and the rotation needs that name",
        hint: "rename it: vault move NAME --as OTHER")
    }
    guard target == place.typed else {
      throw Failure(.conflict, "'\(shown)' holds the new value of '\(UTF8Text.onOneLine(target))'")
    }
    return item
  }

  /// The item's version; `nil` for a field, which must only exist, because other fields may change meanwhile.
  private func version(of place: ItemPlace, in group: AccessGroup) throws -> UInt64? {
    guard let field = place.field else {
      let item = try group.item(place.name)
      guard item.kind != .json else {
        throw Failure(.conflict, "the value is JSON; name the field to change", hint: "vault rotate-value NAME#FIELD")
      }
      return item.version
    }
    _ = try ItemField(place, field, in: group)
    return nil
  }

  /// Finishes a rotation with the stored value.
  private func take(
    _ staged: Item, _ place: ItemPlace, _ given: Details, in group: AccessGroup, _ session: Session
  ) throws {
    var details = given
    if expires == nil, let known = staged.expires { details.expires = .to(known) }
    let base = try version(of: place, in: group)
    try set(try group.get(place.staged, version: staged.version), place, details, base, group)
    // Its history stays: a member that was removed meanwhile could read the value there.
    Self.clearing(place, session) { try group.remove(place.staged) }
  }

  private func set(
    _ value: borrowing Secret, _ place: ItemPlace, _ details: Details, _ base: UInt64?, _ group: AccessGroup
  ) throws {
    guard let field = place.field else {
      try group.set(place.name, to: value, kind: .string, details, ifVersion: base)
      return
    }
    let text = try unsafe value.withUnsafeBytes { (bytes) throws(Failure) in try unsafe WipedBytes(copying: bytes) }
    _ = try ItemField.set(field, of: place, to: text, as: .string, details, in: group)
  }

  /// The attribute of a stored value that names the item or field that it is for.
  private static let target = "rotates"
}

extension ItemPlace {
  /// `NAME` or `NAME#FIELD`
  fileprivate var typed: String { field.map { "\(name)#\($0)" } ?? name }

  fileprivate var staged: String { name + RotateValue.suffix }

  fileprivate var finishing: String {
    let shown = UTF8Text.onOneLine(typed)
    return "if its program took the value: vault rotate-value '\(shown)' --finish; if not: --discard instead"
  }
}
