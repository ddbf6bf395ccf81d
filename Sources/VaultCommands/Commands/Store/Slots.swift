internal import Vault

/// `vault slot list`
struct ListSlots: Command {
  static let about = About(
    "List what opens the store, with the costs of guessing a passphrase.",
    usage: "vault slot list [--key-file FILE | --recovery-fd N | --passphrase-fd N] [--json]",
    more: """
      Nothing is opened unless you name a key. The slot that it opens is then marked, to tell it from those of other \
      key files and recovery codes.
      """,
    example: """
      vault slot list
      vault slot list --key-file /media/stick/vault.key
      vault slot list --recovery-fd 0
      """)

  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let location = try StoreLocation(environment: session.environment)
    let slots = try location.identity().slots
    let marked = try marked(at: location, session)
    if json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for slot in slots { try slot.write(to: &json, isMarked: marked.map { $0 == slot.number }) }
      }
    }
    var table = marked == nil ? Table("SLOT", "KIND", "COST") : Table("SLOT", "KIND", "COST", "NAMED KEY")
    for slot in slots {
      let row = [String(slot.number), slot.kind.name, slot.cost?.text ?? ""]
      table.add(row + (marked.map { [$0 == slot.number ? "opens it" : ""] } ?? []))
    }
    try table.write(to: session.output, style: session.outputStyle)
  }

  /// The number of the slot that the named key opens; `nil` if none was named.
  private func marked(at location: StoreLocation, _ session: Session) throws -> Int? {
    switch try key.named() {
    case nil: nil
    case .keyFile(let path)?: try location.slot(of: .keyFile(path)).number
    case .passphrase(let descriptor)?:
      try location.slot(of: .passphrase(KeySource.passphrase(descriptor: descriptor))).number
    case .recoveryCode(let descriptor)?:
      try location.slot(of: .recoveryCode(session.recoveryCode(descriptor: descriptor))).number
    case .credential?, .credentialBytes?: throw Failure.usage("an application's credential opens no slot")
    }
  }
}

extension Slot {
  /// - Parameter isMarked: whether the named key opens it; `nil` if none was named.
  func write(to json: inout JSONWriter, isMarked: Bool? = nil) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.number("number", number)
      try json.string("kind", kind.name)
      if let isMarked { try json.flag("opensWithNamedKey", isMarked) }
      guard let cost else { return }
      try json.number("passes", cost.passes)
      try json.number("memoryKiB", cost.memoryKiB)
    }
  }
}

extension Slot.Cost {
  /// `3 passes over 256 MiB`
  var text: String {
    let memory = memoryKiB.isMultiple(of: 1_024) ? "\(memoryKiB / 1_024) MiB" : "\(memoryKiB) KiB"
    return "\(passes) \(passes == 1 ? "pass" : "passes") over \(memory)"
  }
}

/// `vault slot add passphrase`
struct AddPassphrase: Command {
  static let about = About(
    "Add a passphrase to a store that has none; it is asked for twice.",
    usage: "vault slot add passphrase [--new-passphrase-fd N] [--common-passphrase]",
    more: """
      A store has at most one passphrase; to replace it: vault passphrase change.
      """,
    example: """
      vault slot add passphrase
      """)

  let new: NewPassphraseOptions
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    new = try NewPassphraseOptions(&arguments)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
    try store.openOwner()
    let slot = try store.addPassphrase(new.passphrase(in: session))
    session.say("the passphrase opens slot \(slot.number)")
  }
}

/// The source of a new passphrase.
struct NewPassphraseOptions {
  let descriptor: Int32?
  let takesCommon: Bool

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    descriptor = try arguments.descriptor(
      "--new-passphrase-fd", "Read the new passphrase from this descriptor: its first line.")
    takesCommon = arguments.commonPassphrase()
  }

  func passphrase(in session: Session) throws -> Secret {
    guard let descriptor else { return try NewPassphrase.ask(in: session, isMeant: takesCommon) }
    return try NewPassphrase.read(
      descriptor: descriptor, isMeant: takesCommon, KeySource.newPassphrase(descriptor:))
  }
}

/// `vault slot add key-file`
struct AddKeyFile: Command {
  static let about = About(
    "Add a key file, which is made if it does not exist.",
    usage: "vault slot add key-file --new-key-file FILE",
    more: """
      The file contains 32 random bytes, readable by its owner alone, and must be outside the store, in a folder that \
      exists. Commands use it if it is named: --key-file FILE, or VAULT_KEY_FILE.
      """,
    example: """
      vault slot add key-file --new-key-file /media/stick/vault.key
      """)

  let path: String
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    path = try arguments.required("--new-key-file", value: "file", "The key file to add.", completes: .files)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let slot = try session.openStore(key).addKeyFile(path)
    session.say("the key file opens slot \(slot.number)")
  }
}

/// `vault slot add systemd`
struct AddSystemdCredential: Command {
  static let about = About(
    "Add a key for systemd: exactly 32 random bytes in a new file.",
    usage: "vault slot add systemd --output FILE",
    more: """
      A service with LoadCredential=vault:FILE in its unit, or with a credential named vault that systemd-creds encrypt \
      made from the file, opens the store as its owner without a prompt. Only the file's owner can read it, and no \
      file is overwritten.
      """,
    example: """
      vault slot add systemd --output vault.key
      systemd-creds encrypt --name=vault vault.key vault.cred && rm vault.key
      """)

  let output: String
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    output = try arguments.required("--output", value: "file", "The new file for the key.", completes: .files)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let slot = try session.openStore(key).addSystemdCredential(at: output)
    session.say("the key opens slot \(slot.number)")
  }
}

/// `vault slot remove NUMBER`
struct RemoveSlot: Command {
  static let about = About(
    "Remove a slot, so that its key no longer opens the store. The last slot cannot be removed.",
    usage: "vault slot remove NUMBER [--yes]",
    more: """
      If only one slot or only recovery codes would be left, the command asks on a terminal; elsewhere it needs --yes.
      Old copies of the identity file, for example in backups, still open with the removed key.
      """,
    example: """
      vault slot remove 2
      """)

  let number: Int
  let consent: Consent
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    number = try arguments.numberArgument(
      "number", "The slot's number, as vault slot list shows it.", completes: .slots)
    consent = Consent(&arguments)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
    let slots = try store.location.identity().slots
    let left = slots.filter { $0.number != number }
    // The last slot and a missing one cannot be removed, so there is nothing to ask.
    if left.count < slots.count, let first = left.first {
      if left.allSatisfy({ $0.kind == .recoveryCode }) {
        try consent.confirm("only a recovery code would open the store then", in: session)
      } else if left.count == 1 {
        try consent.confirm(
          "only slot \(first.number) (\(first.kind.name)) would open the store then", in: session)
      }
    }
    func hasKeyFile() -> Bool { (try? store.location.all())?.contains { $0.what == "key file" } == true }
    let hadKeyFile = hasKeyFile()
    try store.removeSlot(number)
    session.say("slot \(number) is removed; old copies of the identity file still open with its key")
    if hadKeyFile, !hasKeyFile() {
      session.warn("this machine remembers no key file any more; name one: --key-file FILE, or VAULT_KEY_FILE")
    }
  }
}

/// `vault passphrase change`
struct ChangePassphrase: Command {
  static let about = About(
    "Replace the passphrase, or add the first one to a store with a key file.",
    usage: "vault passphrase change [--new-passphrase-fd N] [--common-passphrase]",
    more: """
      This rewrites only the passphrase's slot, never the data. The cost of guessing rises to the present default \
      and is never lowered. Old copies of the store's identity file still open with the old passphrase.
      """,
    example: """
      vault passphrase change
      """)

  let new: NewPassphraseOptions
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    new = try NewPassphraseOptions(&arguments)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
    try store.openOwner()
    try store.changePassphrase(to: new.passphrase(in: session))
    session.say("the passphrase is changed")
  }
}
