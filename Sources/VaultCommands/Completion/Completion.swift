internal import Vault

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
    case "shell": .words(PrintEnvironment.Form.allCases.map(\.rawValue))
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
    case ("vault grant", _), ("vault revoke", _):
      let names = [{ session.groupNames }, { session.applicationNames(line) }]
      return .words(line.arguments.count < names.count ? names[line.arguments.count]() : [])
    case (_, "app"): return .words(line.arguments.isEmpty ? session.applicationNames(line) : [])
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
    // What opens the store may stand before the command.
    let leading = words.prefix(LeadingOptions.count(in: words[...]))
    let words = Aliases.resolved(Array(words.dropFirst(leading.count)))
    // `help get` is about `get`; the words behind `help` are its arguments.
    command = NamedCommand(Array(words))
    let forms = command.optionForms + (command.subcommands.isEmpty ? [] : NamedCommand(["get"]).optionForms)
    for word in leading + words.dropFirst(command.path.split(separator: " ").count - 1) {
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
    do {
      let store = try store(line)
      let group = try store.group(group ?? variable("VAULT_GROUP") ?? store.defaultGroupName)
      // A shell's list of more is of no use to anybody.
      return try group.items().prefix(10_000).map(\.name.description)
    } catch {
      return []
    }
  }

  fileprivate func applicationNames(_ line: CompletionLine) -> [String] {
    (try? store(line).applications.list().map(\.id)) ?? []
  }

  /// The store, if what stands on the line, or what would be used without it, opens it and asks nobody.
  private func store(_ line: CompletionLine) throws -> SecretStore {
    let (keyFile, credential) = (line.value(of: "--key-file"), line.value(of: "--credential"))
    // Nothing is read from a descriptor, and of two sources none is chosen: the command will refuse them.
    guard line.value(of: "--passphrase-fd") == nil, line.value(of: "--recovery-fd") == nil,
      keyFile == nil || credential == nil
    else { throw VaultError.locked("completion reads no descriptor") }
    let unlocking: Unlocking =
      if let keyFile {
        .keyFile(keyFile)
      } else if let credential {
        .credential(credential)
      } else {
        .automatic(prompt: { () throws(VaultError) in throw .locked("completion asks nobody") })
      }
    return try SecretStore.open(at: StoreLocation(environment: environment), unlocking: unlocking)
  }
}
