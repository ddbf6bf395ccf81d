internal import VaultStore

/// What can stand where the cursor is: the answer that the shells' scripts ask for.
///
/// It asks nobody anything, and says nothing: where the store does not open by itself, no item is offered.
enum Completion: Equatable {
  case words([String])
  /// The shell completes names of files itself.
  case files

  /// - Parameter words: the words behind `vault`; the last is the one at the cursor, and may be empty.
  init(_ words: [String], in session: Session) {
    let typed = words.last ?? ""
    let line = CompletionLine(Array(words.dropLast()))
    if let option = line.openOption {
      self = Completion.value(of: option, line, session)
    } else if typed.hasPrefix("-"), !line.isPastOptions {
      self = .words(line.command.optionForms.flatMap(\.names).filter { $0.hasPrefix("--") })
    } else if !line.command.subcommands.isEmpty {
      self =
        line.arguments.first == "help"
        ? .words(NamedCommand(Array(line.arguments.dropFirst())).subcommandNames)
        : .words(line.command.subcommandNames + (line.command.path == "vault" ? ["help"] : []))
    } else {
      self = Completion.argument(line, session)
    }
    if case .words(let candidates) = self { self = .words(candidates.filter { $0.hasPrefix(typed) }) }
  }

  private static func value(of option: OptionForm, _ line: CompletionLine, _ session: Session) -> Completion {
    switch option.valueName {
    case "file", "path", "out", "folder": .files
    case "group": .words(session.groupNames)
    case "type": .words(["bool", "int", "double", "string", "date", "url", "uuid", "json", "data"])
    case "rights": .words(["read", "write"])
    case "lifetime", "what": .words(GroupLifetime.allCases.map(\.rawValue))
    case "format": .words(["xml", "binary", "json"])
    case "source": .words(ImportFormat.allCases.map(\.rawValue))
    case "form": .words(["dotenv", "json"])
    case "set": .words(["safe", "alphanumeric", "printable", "digits", "hexadecimal"])
    default: .words([])
    }
  }

  private static func argument(_ line: CompletionLine, _ session: Session) -> Completion {
    let name = line.command.optionForms.first { $0.names.isEmpty }?.valueName
    switch (line.command.path, name) {
    case ("vault completions", _): return .words(CompletionScript.allCases.map(\.rawValue))
    case ("vault group create", _): return .words([])
    case ("vault credential git", _): return .words(["get", "store", "erase", "capability"])
    case ("vault credential docker", _): return .words(["store", "get", "erase", "list", "version"])
    case ("vault verify", _), ("vault repair", _): return .words(session.groupNames)
    case ("vault grant", _), ("vault revoke", _): return .words(line.arguments.isEmpty ? session.groupNames : [])
    case ("vault slot remove", _): return .words(session.slotNumbers)
    case (let path, _) where path.hasPrefix("vault group "): return .words(session.groupNames)
    case (_, "file"), (_, "folder"), (_, "dir"): return .files
    case (_, "name"), (_, "prefix"):
      return line.arguments.isEmpty ? .words(session.itemNames(in: line.value(of: "--group"), line)) : .words([])
    default: return .words([])
    }
  }
}

/// What stands before the cursor, taken apart.
struct CompletionLine {
  let command: NamedCommand
  /// The option whose value is due.
  private(set) var openOption: OptionForm?
  private(set) var arguments: [String] = []
  /// Whether `--` ended the options.
  private(set) var isPastOptions = false
  private var values: [(option: OptionForm, value: String)] = []

  init(_ words: [String]) {
    // `help get` is about `get`; the words behind `help` are its arguments.
    command = NamedCommand(words)
    let forms = command.optionForms
    for word in words.dropFirst(command.path.split(separator: " ").count - 1) {
      if let option = openOption {
        values.append((option, word))
        openOption = nil
      } else if word == "--", !isPastOptions {
        isPastOptions = true
      } else if word.hasPrefix("-"), !isPastOptions {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let form = forms.first(where: { $0.names.contains(parts[0]) }), form.valueName != nil else { continue }
        if parts.count == 2 { values.append((form, parts[1])) } else { openOption = form }
      } else {
        arguments.append(word)
      }
    }
  }

  func value(of name: String) -> String? { values.last { $0.option.names.contains(name) }?.value }
}

extension Session {
  fileprivate var groupNames: [String] { (try? StoreLocation(environment: environment).groupNames()) ?? [] }

  fileprivate var slotNumbers: [String] {
    (try? StoreLocation(environment: environment).identity().slots.map { String($0.number) }) ?? []
  }

  fileprivate func itemNames(in group: String?, _ line: CompletionLine) -> [String] {
    guard line.value(of: "--passphrase-fd") == nil, line.value(of: "--recovery-fd") == nil else { return [] }
    let unlocking: Unlocking =
      if let path = line.value(of: "--key-file") {
        .keyFile(path)
      } else {
        .automatic(prompt: { () throws(VaultError) in throw .locked("completion asks nobody") })
      }
    do {
      let store = try SecretStore.open(at: StoreLocation(environment: environment), unlocking: unlocking)
      let group = try store.group(group ?? variable("VAULT_GROUP") ?? store.defaultGroupName)
      // A shell's list of more is of no use to anybody.
      return try group.items().prefix(10_000).map(\.name.description)
    } catch {
      return []
    }
  }
}
