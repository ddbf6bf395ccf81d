internal import Exchange
import Glibc
internal import Ground
internal import Vault

/// The candidates for the word at the cursor, as requested by the shells' completion scripts.
///
/// Completion never prompts and prints no error: if the store does not open without a prompt, no item is offered.
enum Completion: Equatable {
  case words([String])
  /// The shell completes file names itself.
  case files

  /// - Parameter words: the words after `vault`. The last one is at the cursor and may be empty.
  init(_ words: [String], in session: Session) {
    let typed = words.last ?? ""
    let line = CompletionLine(Array(words.dropLast()))
    if let option = line.openOption {
      self = session.completion(of: option, typed, line)
    } else if typed.hasPrefix("--"), typed.contains("="), let option = line.option(in: typed) {
      let name = typed.prefix { $0 != "=" }
      self = session.completion(of: option, String(typed.dropFirst(name.count + 1)), line)
      if case .words(let values) = self { self = .words(values.map { "\(name)=\($0)" }) }
    } else if typed.hasPrefix("-"), !line.isPastOptions {
      self = .words(line.command.parameters.compactMap(\.long))
    } else if line.command.type == nil {
      let isFirst = line.command.wordCount == 0 && !line.asksForHelp
      self = .words(line.command.subcommands.map(\.name) + (isFirst ? ["help"] : []))
    } else if let parameter = line.dueArgument, line.isPastOptions || !parameter.isBehindDashes {
      self = session.completion(of: parameter, typed, line)
    } else {
      self = .words(line.arguments.isEmpty ? line.command.subcommands.map(\.name) : [])
    }
    if case .words(let candidates) = self {
      // A longer list in a shell is of no use. Shells print candidates as they are, so no terminal may be steered by one.
      let fit = candidates.lazy.filter { candidate in
        candidate.hasPrefix(typed)
          && !candidate.unicodeScalars.contains { UTF8Text.isControl($0) || UTF8Text.isDeceptive($0) }
      }
      self = .words(Array(fit.prefix(10_000)))
    }
  }
}

/// The parsed words before the cursor.
struct CompletionLine {
  let command: NamedCommand
  let asksForHelp: Bool
  /// The option whose value is being typed.
  private(set) var openOption: Parameter?
  private(set) var arguments: [String] = []
  /// Whether `--` ended the options.
  private(set) var isPastOptions = false
  private var values: [(option: Parameter, value: String)] = []
  private let known: [Parameter]

  init(_ words: [String]) {
    let line = TypedLine(words)
    (command, asksForHelp) = (line.command, line.asksForHelp)
    // The options that open the store may come before the command.
    known = command.type == nil ? GetItem.parameters : command.parameters
    for word in line.words {
      if let option = openOption {
        values.append((option, word))
        openOption = nil
      } else if word == "--", !isPastOptions {
        isPastOptions = true
      } else if Arguments.isOption(word), !isPastOptions {
        guard let option = option(in: word) else { continue }
        let value = word.drop { $0 != "=" }
        if value.isEmpty { openOption = option } else { values.append((option, String(value.dropFirst()))) }
      } else {
        arguments.append(word)
      }
    }
  }

  /// The option that a word names, if it has a value.
  func option(in word: String) -> Parameter? {
    guard Arguments.isOption(word), !isPastOptions else { return nil }
    let name = String(word.prefix { $0 != "=" })
    return known.first { $0.names.contains(name) && $0.value != nil }
  }

  /// The program that a command is to run, if its name is not at the cursor.
  var program: String? {
    let before = command.parameters.filter { $0.long == nil && !$0.isBehindDashes }.count
    return arguments.dropFirst(before).first
  }

  func value(of name: String) -> String? { values.last { $0.option.long == name }?.value }

  /// The argument at the cursor.
  var dueArgument: Parameter? {
    let known = command.parameters.filter { $0.long == nil }
    guard arguments.count >= known.count else { return known[arguments.count] }
    // Usually there is one item; more are for `get --json`.
    guard let last = known.last, last.mayRepeat, last.completion != .items else { return nil }
    return last
  }
}

extension Session {
  fileprivate func completion(of parameter: Parameter, _ typed: String, _ line: CompletionLine) -> Completion {
    switch parameter.completion {
    case .unknown: .words([])
    case .files: .files
    case .program: line.program == nil ? program(typed) : .files
    case .items: .words(itemNames(in: line.value(of: "--group"), line))
    case .groups: .words(groupNames)
    case .applications: .words(applicationNames(line))
    case .slots: .words(slotNumbers)
    case .remotes: .words((try? store(line).remotes().map(\.name)) ?? [])
    case .references: .words(references(typed, line))
    case .assignments: .words(assignments(typed, line))
    case .words(let words): .words(words)
    }
  }

  fileprivate var groupNames: [String] { (try? StoreLocation(environment: environment).groupNames()) ?? [] }

  fileprivate var slotNumbers: [String] {
    (try? StoreLocation(environment: environment).identity().slots.map { String($0.number) }) ?? []
  }

  fileprivate func itemNames(in group: String?, _ line: CompletionLine) -> [String] {
    (try? self.group(group, of: store(line)).items().map(\.name.description)) ?? []
  }

  /// The items of the group that `typed` names; as long as it names none, those of all groups.
  private func references(_ typed: String, _ line: CompletionLine) -> [String] {
    let isBegun = Reference.isMeant(by: typed)
    guard isBegun || Reference.scheme.hasPrefix(typed) else { return [] }
    let place = typed.dropFirst(isBegun ? Reference.scheme.count : typed.count)
    let group = place.prefix { $0 != "/" }
    let groups = group.count < place.count ? [group.isEmpty ? nil : String(group)] : [nil] + groupNames
    return groups.flatMap { group in
      itemNames(in: group, line).map { Reference(group: group, name: $0).description }
    }
  }

  /// The programs on PATH; files for a path, and for the beginning of none of them.
  private func program(_ typed: String) -> Completion {
    guard !typed.contains("/") else { return .files }
    var names: Set<String> = []
    let path = environment["PATH"] ?? ""
    let variables = [Array("PATH".utf8): Array(path.utf8)]
    for folder in path.split(separator: ":") where folder.first == "/" {
      var status = stat()
      // Whoever may write there: these are the programs that the command would find.
      guard unsafe stat(String(folder), &status) == 0,
        let listed = try? Folder(
          String(folder), FileTrust(owners: [status.st_uid], forbiddenMode: 0), followingLink: true
        ).names()
      else { continue }
      for name in listed where name.hasPrefix(typed) && (try? ProgramStart.find(name, variables)) != nil {
        names.insert(name)
      }
    }
    return names.isEmpty ? .files : .words(names.sorted())
  }

  private func assignments(_ typed: String, _ line: CompletionLine) -> [String] {
    let name = typed.prefix { $0 != "=" }
    guard name.count < typed.count else { return [] }
    return references(String(typed.dropFirst(name.count + 1)), line).map { "\(name)=\($0)" }
  }

  fileprivate func applicationNames(_ line: CompletionLine) -> [String] {
    (try? store(line).applications.list().map(\.id)) ?? []
  }

  /// The store, if the options on the line or the defaults open it without a prompt.
  private func store(_ line: CompletionLine) throws -> SecretStore {
    let (keyFile, credential) = (line.value(of: "--key-file"), line.value(of: "--credential"))
    // Completion does not read from a descriptor. If two sources are named it uses neither, because the command will
    // refuse them.
    guard line.value(of: "--passphrase-fd") == nil, line.value(of: "--recovery-fd") == nil,
      line.value(of: "--credential-fd") == nil,
      keyFile == nil || credential == nil
    else { throw VaultError.locked(.nobodyToAsk("completion reads no descriptor")) }
    let unlocking: Unlocking =
      if let keyFile {
        .keyFile(keyFile)
      } else if let credential {
        .credential(credential)
      } else {
        .automatic(prompt: { () throws(VaultError) in throw .locked(.nobodyToAsk("completion asks nobody")) })
      }
    return try SecretStore.open(at: StoreLocation(environment: environment), unlocking: unlocking)
  }
}
