internal import Authenticators
internal import Exchange
import Glibc
internal import Vault

/// `vault pick`
struct PickItem: Command {
  static let about = About(
    "Find an item in a full-screen list; copy it, show it, or watch its one-time code.",
    usage: "vault pick [-g GROUP] [--clip TIME]",
    more: """
      Type to narrow: each word must occur in the name, label, attributes or group, in upper or lower case. Up and Down select, \
      Enter opens, Escape goes back. Then c copies the value, or the password of a login, as get --clip does; u copies the \
      user name; r shows the value with all its fields, and hides it again; o shows the one-time code with its \
      seconds. No value is opened before one of these is pressed. All groups that can be opened are searched.
      """,
    example: """
      vault pick
      """)

  let group: String?
  /// How long the clipboard keeps a copied value.
  let clip: String
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    group = arguments.onlyGroup()
    clip = arguments.option("--clip", value: "time", "Clear the clipboard after this time.", else: "45s")
    key = try KeySource(&arguments)
  }

  private typealias Found = (group: AccessGroup, item: Item)

  func run(in session: Session) throws {
    guard let terminal = session.terminal, session.variable("TERM") ?? "dumb" != "dumb" else {
      throw Failure(
        .usage, "there is no terminal to draw a screen on", hint: "use vault search TEXT")
    }
    try Clipboard.require(length: clip)
    let store = try session.openStore(key)
    var found: [Found] = []
    for name in try group.map({ [$0] }) ?? store.itemGroupNames() {
      let group = try store.group(name)
      do throws(VaultError) {
        found += try group.items().map { (group, $0) }
      } catch {
        // A group that this member is not in is not an error.
        if case .denied(.notAMember) = error, self.group == nil { continue }
        guard self.group == nil else { throw error }
        session.warn("'\(UTF8Text.onOneLine(name))' was skipped: \(error.message)")
      }
    }
    var screen = PickScreen(found.map { PickScreen.Entry($0.item, in: $0.group) })
    // Older terminals have only one screen, which is left empty.
    let term = session.variable("TERM") ?? ""
    let hasOne = term.hasPrefix("vt") || term.hasPrefix("linux") || term.hasPrefix("ansi")
    let view = try terminal.screen(isOnly: hasOne)
    defer { view.end() }
    try look(&screen, view, found, session)
  }

  /// Run until the user leaves.
  private func look(
    _ screen: inout PickScreen, _ view: borrowing TerminalScreen, _ found: [Found], _ session: Session
  ) throws {
    var keys = PickKeys()
    var source: OneTimeSource?
    while true {
      if screen.showsCode, let code = try source?.code(at: .now) {
        screen.show(code: code.text, secondsLeft: code.secondsLeft)
      } else {
        source = nil
      }
      let (columns, rows) = view.size
      screen.resize(columns: columns, rows: rows)
      try view.draw(screen.lines(), cursor: screen.cursor)
      var taken: [PickScreen.Key] = []
      switch try view.next(within: keys.isWaiting ? 50 : screen.showsCode ? 1_000 : -1) {
      case .input:
        let bytes = view.read()
        // The terminal is gone.
        guard !bytes.isEmpty else { throw Failure.interrupted }
        taken = keys.take(bytes)
      case .timeout: taken = keys.end()
      case .changed: break
      }
      for key in taken {
        let wish = screen.take(key)
        do {
          switch wish {
          case .nothing: break
          case .leave: return
          case .suspend: view.stop()
          case .copy(let entry): screen.message = try copy(found[entry], session)
          case .copyUser(let entry): screen.message = try copy(found[entry], member: "username", session)
          case .reveal(let entry): screen.show(value: try Self.text(of: found[entry]))
          case .code(let entry):
            let opened = try found[entry].group.open(found[entry].item.name.description)
            source = try OneTimeSource(of: opened)
            if let code = try source?.code(at: .now) { screen.show(code: code.text, secondsLeft: code.secondsLeft) }
          }
        } catch let error as VaultError {
          screen.message = [error.message]
        } catch let failure as Failure {
          screen.message = [failure.message]
        }
      }
    }
  }

  /// - Parameter member: by default the password of a login, or the whole of another value.
  /// - Returns: the lines of the message about it.
  private func copy(_ found: Found, member: String? = nil, _ session: Session) throws -> [String] {
    let opened = try found.group.open(found.item.name.description)
    var what = "value"
    var value = opened.secret.exportInsecurely()
    if opened.item.kind == .json, let text = JSONField.string(of: member ?? "password", in: value) {
      (what, value) = (member ?? "password", text)
    } else if let member {
      return ["the value has no field '\(member)'"]
    }
    let (told, more) = try unsafe value.withUnsafeBytes { value in
      try unsafe Clipboard.copy(value, for: clip, terminal: session.streams.terminal)
    }
    return ["\(what): \(told)"] + more
  }

  /// The value for people: JSON by its fields, first those of a login.
  private static func text(of found: Found) throws -> String {
    let opened = try found.group.open(found.item.name.description)
    let value = opened.secret.exportInsecurely()
    let names = opened.item.kind == .json ? JSONField.names(in: value) : []
    if !names.isEmpty {
      let first = ["username", "password", "url", "totp", "notes"]
      return (first.filter(names.contains) + names.filter { !first.contains($0) }).map { name in
        let text = JSONField.value(of: name, in: value) ?? []
        return "\(UTF8Text.onOneLine(name)): " + String(decoding: text, as: UTF8.self)
      }.joined(separator: "\n")
    }
    guard let text = String(validating: value, as: UTF8.self) else {
      throw Failure(.usage, "the value is not text (\(value.count) bytes)")
    }
    return text
  }
}

extension PickScreen.Entry {
  fileprivate init(_ item: Item, in group: AccessGroup) {
    self.init(group: group.name.description, name: item.name.description, label: item.label ?? "")
    details = item.lines(group: group.name, told: \.localText).dropFirst(2).map {
      Detail(name: $0.title, value: $0.text)
    }
  }
}
