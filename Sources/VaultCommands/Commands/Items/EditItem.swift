import Glibc
internal import Vault

/// `vault edit NAME`
struct EditItem: Command {
  static let about = About(
    "Change a value in your editor without writing plaintext to a disk.",
    usage: "vault edit NAME[#FIELD] [-g GROUP] [--create]",
    more: """
      The editor is the one in VISUAL or EDITOR, or vi. The text is in a private folder of a file system in memory \
      ($XDG_RUNTIME_DIR or /dev/shm), which is wiped afterwards. vim and nvim are told to keep no swap, backup, undo \
      or history files; nano and emacs start without your settings. For other editors, a warning says that they may \
      keep copies. A graphical editor must not return before you are done: EDITOR='code --wait'.

      An unchanged text makes no new version, and an empty one is not stored. Label, attributes, expiry and type \
      stay. One newline at the end is removed, unless the value had one. If the item changed meanwhile, or the text \
      does not fit the value's type, your text is kept in memory, and the error gives its path.

      NAME#FIELD is one field of a login or another JSON value, as in set.
      """,
    example: """
      EDITOR=nano vault edit db/password
      vault edit web/GitHub#notes
      """)

  let name: String
  let field: String?
  let group: String?
  let create: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The item's name.", completes: .items)
    field = arguments.field()
    group = arguments.group()
    create = arguments.flag("--create", "Make the item or field if there is none.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    _ = try Item.Name(name)
    let group = try session.openGroup(group, key)
    let place = try ItemPlace(name, field: field, in: group)
    var request = try EditRequest(place, group: group, session: session)
    guard try request.takeCurrent() || create else {
      let create = "--create makes a new one"
      guard place.field == nil, var missing = session.near(VaultError.notFound(.item)) as? Failure else {
        throw Failure(.notFound, "the value has no such field", hint: create)
      }
      missing.hint = missing.hint.map { "\($0); \(create)" } ?? create
      throw missing
    }
    try request.run()
  }
}

/// A value that is being edited.
struct EditRequest {
  private let place: ItemPlace
  private let group: AccessGroup
  private let session: Session
  private var item: Item?
  private var text: WipedBytes

  init(_ place: ItemPlace, group: AccessGroup, session: Session) throws(Failure) {
    (self.place, self.group, self.session) = (place, group, session)
    text = try WipedBytes(capacity: 1)
  }

  /// Reads the current text.
  ///
  /// - Returns: false if there is none yet, so that a new item or field is made.
  mutating func takeCurrent() throws -> Bool {
    if let name = place.field {
      let field = try ItemField(place, name, in: group)
      try field.requireFields()
      item = field.item
      guard let value = try field.valueIfAny() else { return false }
      text = try unsafe value.span.withUnsafeBytes { (bytes) throws(Failure) in
        try unsafe WipedBytes(copying: bytes, spare: 1)
      }
      return true
    }
    do {
      let opened = try group.open(place.name)
      item = opened.item
      text = try unsafe opened.secret.withUnsafeBytes { (bytes) throws(Failure) in
        try unsafe WipedBytes(copying: bytes, spare: 1)
      }
    } catch let error as VaultError where error == .notFound(.item) {
      return false
    }
    return true
  }

  /// Lets the user edit the text and stores it if it changed.
  ///
  /// - Throws: `conflict` if the item changed meanwhile, `usage` for a text that cannot be stored, the store's errors,
  ///   and `unexpected` if the editor failed. The item is unchanged then.
  func run() throws {
    let hasZero = unsafe text.withUnsafeBytes { unsafe $0.contains(0) }
    guard kind != .archive, text.isText, !hasZero else {
      throw Failure(
        .usage, "the value is not text, and an editor would change it",
        hint: "vault get NAME --output FILE, vault set NAME --file FILE")
    }
    let chosen = session.variable("VISUAL") ?? session.variable("EDITOR")
    guard chosen != nil || isatty(session.streams.input) == 1 else {
      throw Failure(
        .usage, "there is no terminal for an editor",
        hint: "name a program that needs none in EDITOR, or set the value: vault set NAME --file FILE")
    }
    let editor = Editor(chosen ?? "vi")
    if !editor.keepsNoCopies {
      session.warn("'\(UTF8Text.onOneLine(editor.program))' may keep copies of the text; check its settings")
    }
    let places = [session.variable("XDG_RUNTIME_DIR"), "/run/user/\(geteuid())", "/dev/shm"]
    let folder = try EditingFolder(below: places.compactMap { $0 })
    let file = kind == .json ? "value.json" : "value.txt"
    try unsafe text.withUnsafeBytes { (bytes) throws(Failure) in try unsafe folder.write(bytes, to: file) }
    try editor.edit("\(folder.path)/\(file)", temporaryFolder: folder.path, session.streams)
    let edited = try folder.read(file, limit: ValueInput.limit + 2)
    // Editors append a newline to the last line.
    let endedLine = unsafe text.withUnsafeBytes { unsafe $0.last == 0x0A }
    if !endedLine { edited.removeTrailingNewline() }
    guard edited.count > 0 else {
      throw Failure(.usage, "the text is empty; nothing was stored", hint: "vault set stores an empty value")
    }
    guard !edited.equals(text) else { return session.say("nothing was changed") }
    do { try store(edited) } catch {
      folder.keep()
      let path = "\(folder.path)/\(file)"
      let report = ErrorReport(error)
      let isGone = if case VaultError.conflict(_, present: 0) = error { true } else { false }
      throw Failure(
        ExitStatus(rawValue: report.status) ?? .unexpected, isGone ? "it was removed meanwhile" : report.message,
        hint:
          "your text is kept in memory: \(path); to store it: vault set NAME --file \(path), then remove that folder")
    }
  }

  private var kind: SecretKind { place.field == nil ? item?.kind ?? .string : .string }

  private func store(_ edited: WipedBytes) throws {
    if let field = place.field {
      _ = try ItemField.set(field, of: place, to: ValueInput.limited(edited), in: group, ifVersion: item?.version)
      return
    }
    let secret = try SetItem.typed(ValueInput.limited(edited), kind)
    var details = Details()
    // Without this, the expiry would be lost with the old value.
    if let expires = item?.expires { details.expires = .to(expires) }
    _ = try group.set(
      place.name, to: secret, kind: kind, typeName: item?.typeName, details, ifVersion: item?.version ?? 0)
  }
}
