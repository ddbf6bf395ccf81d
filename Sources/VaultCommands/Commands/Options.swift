internal import Vault

/// Parameters of several commands.
extension Arguments {
  mutating func json() -> Bool { flag("--json", "Print JSON, and errors as one JSON object on stderr.") }

  /// The access group of a command on items.
  mutating func group() -> String? {
    option(
      "--group", short: "-g", value: "group",
      "The access group (else VAULT_GROUP, else default or the application's own).", completes: .groups)
  }

  /// The field of a JSON value that a command reads or changes.
  mutating func field() -> String? {
    option(
      "--field", value: "field", "This field of the value, as NAME#FIELD; an empty one means the whole value.")
  }

  mutating func commonPassphrase() -> Bool {
    flag("--common-passphrase", "Accept the new passphrase although it is one of the most common.")
  }
}

/// Which items of a group become variables, and the names of these.
struct VariableOptions {
  let prefix: String?
  let only: String?
  let environmentPrefix: String?
  let trustNames: Bool

  init(_ arguments: inout Arguments) {
    prefix = arguments.option(
      "--prefix", value: "prefix", "Use only items that begin with this, and remove it from their names.")
    only = arguments.option("--only", value: "names", "Set only these variables, separated by commas.")
    environmentPrefix = arguments.option("--env-prefix", value: "text", "Put this before each variable.")
    trustNames = arguments.flag("--trust-names", "Accept all names that the group's writers chose.")
  }

  var isEmpty: Bool { prefix == nil && only == nil && environmentPrefix == nil && !trustNames }

  /// - Throws: `usage` for a prefix that cannot start a variable's name.
  func selection(of group: String?) throws(Failure) -> GroupVariables {
    let names = Set((only ?? "").split(separator: ",").map(String.init))
    let before = environmentPrefix ?? ""
    guard only == nil || !names.isEmpty else { throw .usage("--only lists no variable") }
    let letters = before.utf8.allSatisfy {
      (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) || $0 == 0x5F
    }
    guard letters, before.utf8.first.map({ !(0x30...0x39).contains($0) }) ?? (environmentPrefix == nil) else {
      throw .usage("--env-prefix cannot start a variable's name", hint: "use letters, digits and '_', such as APP_")
    }
    return GroupVariables(
      group: group, prefix: prefix ?? "", only: names, environmentPrefix: before, trustsNames: trustNames)
  }
}

/// `--yes`, on commands whose losses cannot be undone.
struct Consent {
  let yes: Bool

  init(_ arguments: inout Arguments) {
    yes = arguments.flag("--yes", "Do not ask first; for scripts.")
  }

  /// Says what would be lost for good, and asks.
  ///
  /// - Throws: `usage` if nobody can be asked, `interrupted` if the answer is no. Nothing has been changed then.
  func confirm(_ loss: String, in session: Session) throws(Failure) {
    guard !yes else { return }
    let loss = UTF8Text.onOneLine(loss)
    guard let terminal = Terminal(path: session.streams.terminal) else {
      throw Failure(.usage, "\(loss), and there is no terminal to ask", hint: "to do it without asking: --yes")
    }
    guard try terminal.confirm("\(loss). Continue? (yes/no) ") else {
      throw Failure(.interrupted, "nothing was changed")
    }
  }
}

/// Keys and values of `-a KEY=VALUE`.
enum AttributeArguments {
  /// - Throws: `usage` if `=` or the key is missing, or a key occurs twice.
  static func parse(_ arguments: [String]) throws(Failure) -> [String: String] {
    var attributes: [String: String] = [:]
    for argument in arguments {
      guard let sign = argument.firstIndex(of: "="), sign != argument.startIndex else {
        throw .usage("an attribute has the form KEY=VALUE")
      }
      let key = String(argument[..<sign])
      guard attributes.updateValue(String(argument[argument.index(after: sign)...]), forKey: key) == nil else {
        throw .usage("the same attribute is given twice")
      }
    }
    return attributes
  }
}
