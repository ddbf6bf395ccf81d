internal import Vault

/// `vault slot add recovery`
struct AddRecoveryCode: Command {
  static let about = About(
    "Make a recovery code and print it, once; the same as: vault recovery create.",
    usage: "vault slot add recovery [--replace]",
    example: """
      vault slot add recovery
      """)

  let recovery: RecoveryOptions
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    recovery = RecoveryOptions(&arguments)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws { try recovery.createCode(in: session, key) }
}

/// `vault recovery create`
struct CreateRecoveryCode: Command {
  static let about = About(
    "Make a recovery code and print it, once.",
    usage: "vault recovery create [--replace]",
    more: """
      The code has 8 groups of 5 characters; each group ends in a check character, so a typing error is detected and \
      its group named. An O counts as 0, I and L count as 1. Write it down and keep it apart from the store: it \
      opens the store (--recovery-fd), and with a backup it brings back a lost machine's store. It is stored nowhere \
      and never shown again. Earlier codes stay valid unless --replace is given.
      """,
    example: """
      vault recovery create
      """)

  let recovery: RecoveryOptions
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    recovery = RecoveryOptions(&arguments)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws { try recovery.createCode(in: session, key) }
}

/// Creates a recovery code, for either of the command's two names.
struct RecoveryOptions {
  let replace: Bool

  init(replace: Bool) { self.replace = replace }

  init(_ arguments: inout Arguments) {
    self.init(replace: arguments.flag("--replace", "Remove earlier codes."))
  }

  /// Remove earlier codes only after the new one has been written, so that the owner always has one that works.
  func createCode(in session: Session, _ key: KeySource) throws {
    try createCode(of: session.openStore(key), in: session)
  }

  func createCode(of store: SecretStore, in session: Session) throws {
    let made = try store.createRecoveryCode()
    do throws(Failure) {
      try unsafe made.code.withUnsafeBytes { bytes throws(Failure) in try unsafe session.output.write(bytes) }
      try session.output.write("\n")
      try session.output.flush()
    } catch {
      // Nobody has seen this code, so it is safe to remove.
      try? store.removeSlot(made.slot)
      throw error.isSilent ? Failure(.storage, "nobody read the recovery code, so none was made") : error
    }
    if replace { for slot in made.others { try store.removeSlot(slot) } }
    session.say(
      "write this code down, and keep it apart from the store: it opens slot \(made.slot) and is not shown again")
    if let words = words(about: made.others) { session.say(words) }
  }

  private func words(about others: [Int]) -> String? {
    guard let first = others.first else { return nil }
    let slots = others.dropFirst().reduce("slot \(first)") { "\($0), \($1)" }
    let codes = others.count == 1 ? "the code made before (\(slots))" : "the codes made before (\(slots))"
    let (stay, are) = others.count == 1 ? ("stays", "is") : ("stay", "are")
    return replace
      ? "\(codes) \(are) removed" : "\(codes) \(stay) valid; to remove one: vault slot remove \(first)"
  }
}
