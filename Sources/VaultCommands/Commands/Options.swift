internal import Vault

/// What several commands take.
extension Arguments {
  mutating func json() -> Bool { flag("--json", "Print JSON, and errors as one JSON object on stderr.") }

  /// The access group that a command on items works in.
  mutating func group() -> String? {
    option(
      "--group", short: "-g", value: "group",
      "The access group (else VAULT_GROUP, else default or the application's own).", completes: .groups)
  }

  /// The field of a JSON value that a command on an item is about.
  mutating func field() -> String? {
    option(
      "--field", value: "field", "This field of the value, as NAME#FIELD; an empty one means the whole value.")
  }

  mutating func commonPassphrase() -> Bool {
    flag("--common-passphrase", "Take the new passphrase although it is one of the most common.")
  }
}

/// Which items of a group become variables, and how they are called.
struct VariableOptions {
  let prefix: String?
  let only: String?
  let environmentPrefix: String?
  let trustNames: Bool

  init(_ arguments: inout Arguments) {
    prefix = arguments.option("--prefix", value: "prefix", "Only items that begin with this, which is left off.")
    only = arguments.option("--only", value: "names", "Only these variables, with commas between them.")
    environmentPrefix = arguments.option("--env-prefix", value: "text", "Put this before each variable.")
    trustNames = arguments.flag("--trust-names", "Take whatever variables the group's writers chose.")
  }

  var isEmpty: Bool { prefix == nil && only == nil && environmentPrefix == nil && !trustNames }

  /// - Throws: `usage` for what begins no variable.
  func selection(of group: String?) throws(Failure) -> GroupVariables {
    let names = Set((only ?? "").split(separator: ",").map(String.init))
    let before = environmentPrefix ?? ""
    guard only == nil || !names.isEmpty else { throw .usage("--only lists no variable") }
    let letters = before.utf8.allSatisfy {
      (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) || $0 == 0x5F
    }
    guard letters, before.utf8.first.map({ !(0x30...0x39).contains($0) }) ?? (environmentPrefix == nil) else {
      throw .usage("--env-prefix begins no variable", hint: "it is of letters, digits and '_', such as APP_")
    }
    return GroupVariables(
      group: group, prefix: prefix ?? "", only: names, environmentPrefix: before, trustsNames: trustNames)
  }
}

/// `--yes`, on commands after which nothing brings back what they took.
struct Consent {
  let yes: Bool

  init(_ arguments: inout Arguments) {
    yes = arguments.flag("--yes", "Do not ask first; for scripts.")
  }

  /// Says what would go for good, and asks.
  ///
  /// - Throws: `usage` where nobody can be asked, `interrupted` where the answer is no. Nothing was changed then.
  func confirm(_ loss: String, in session: Session) throws(Failure) {
    guard !yes else { return }
    let loss = UTF8Text.onOneLine(loss)
    guard let terminal = Terminal(path: session.streams.terminal) else {
      throw Failure(.usage, "\(loss), and there is no terminal to ask on", hint: "if you mean it: --yes")
    }
    guard try terminal.confirm("\(loss). Go on? (yes/no) ") else {
      throw Failure(.interrupted, "nothing was changed")
    }
  }
}
