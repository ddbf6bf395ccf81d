/// A command: its description, the fields that its arguments fill, and its action.
protocol Command: SendableMetatype {
  static var about: About { get }

  /// The error for one argument too many; nil for the default text.
  static var surplus: Failure? { get }

  /// Requests every argument and option, in the order of the help.
  ///
  /// It is called twice: without a command line, to list the command's parameters, and with the typed one. So it must
  /// request the same parameters each time.
  init(_ arguments: inout Arguments) throws(ArgumentFault)

  /// Runs the command. It need not flush its output on stdout.
  ///
  /// - Throws: a `VaultError`, or a `Failure` of the command line itself.
  func run(in session: Session) throws
}

extension Command {
  static var surplus: Failure? { nil }

  /// The command's parameters, except `--help`, which all commands have.
  static var parameters: [Parameter] {
    var arguments = Arguments()
    _ = try? Self(&arguments)
    return arguments.parameters
  }

  /// The command as it was typed.
  ///
  /// - Parameter words: the words after the command's name.
  static func parsed(_ words: [String]) throws(ArgumentFault) -> Self {
    var arguments = try Arguments(words, for: parameters)
    let command = try Self(&arguments)
    try arguments.requireAllTaken()
    return command
  }
}

/// One argument or option of a command, for the parser, the help and the completion.
struct Parameter: Equatable {
  /// The kind of its values; an assignment is `NAME=REFERENCE`.
  enum Completion: Equatable {
    case unknown, files, program, items, groups, applications, slots, remotes, references, assignments
    case words([String])
  }

  /// `-g`, if there is a short name.
  var short: String?
  /// `--group`; nil for an argument.
  var long: String?
  /// The text in `<>` in the help; nil for a flag.
  var value: String?
  var help: String
  var completion = Completion.unknown
  var mayRepeat = false
  /// Whether it is what follows `--`.
  var isBehindDashes = false
  /// The value of the option if it is given without one. Then the next argument is its value only if it is a length of
  /// time, or follows `=`.
  var standard: String?

  var names: [String] { [short, long].compactMap { $0 } }

  /// Whether `word`, which follows the option, is its value.
  func takes(_ word: String) -> Bool {
    value != nil && (standard == nil ? !Arguments.isOption(word) : TimeLength.milliseconds(word) != nil)
  }

  static let help = Parameter(short: "-h", long: "--help", help: "Show help information.")
}

/// The words typed after a command's name. Each call requests one argument or option.
///
/// Options and arguments can be in any order: `--name value`, `--name=value`, `-n value`, `-nvalue`. After `--`
/// everything is an argument. A value that begins with `-` must follow `=`.
struct Arguments {
  /// The parameters requested so far, if there is no command line.
  private(set) var parameters: [Parameter] = []
  private let isTyped: Bool
  private var given: [(option: String, value: String)] = []
  private var operands: ArraySlice<String> = []
  private var behindDashes: ArraySlice<String> = []
  private var hasDashes = false
  /// Whether the words after `--` are a command, and never other arguments.
  private var keepsDashes = false

  /// Without a command line: only records the requested parameters.
  init() { isTyped = false }

  init(_ words: [String], for parameters: [Parameter]) throws(ArgumentFault) {
    isTyped = true
    keepsDashes = parameters.contains(where: \.isBehindDashes)
    var place = words.startIndex
    while place < words.endIndex {
      let word = words[place]
      place += 1
      if word == "--" {
        (hasDashes, behindDashes) = (true, words[place...])
        break
      }
      guard Arguments.isOption(word) else {
        operands.append(word)
        continue
      }
      let (parameter, name, attached) = try Arguments.option(word, of: parameters)
      var value = attached ?? parameter.standard
      if parameter.value != nil, attached == nil, place < words.endIndex, parameter.takes(words[place]) {
        value = words[place]
        place += 1
      } else if parameter.value != nil, value == nil {
        throw .needsValue(name)
      } else if parameter.value == nil, attached != nil {
        throw .takesNoValue(name)
      }
      let long = parameter.long ?? name
      // A script that names two groups or two files is probably wrong. A repeated flag is harmless.
      guard parameter.mayRepeat || value == nil || !given.contains(where: { $0.option == long }) else {
        throw .repeated(long)
      }
      given.append((long, value ?? ""))
    }
  }

  /// Whether a word is an option: `-` alone is an argument.
  static func isOption(_ word: String) -> Bool { word.utf8.first == UInt8(ascii: "-") && word.utf8.count > 1 }

  /// Splits `--name=value` or `-nvalue`.
  private static func option(
    _ word: String, of parameters: [Parameter]
  ) throws(ArgumentFault) -> (Parameter, name: String, value: String?) {
    guard word.hasPrefix("--") else {
      let name = String(word.prefix(2))
      let rest = word.dropFirst(2)
      guard let parameter = parameters.first(where: { $0.short == name }), rest.isEmpty || parameter.value != nil else {
        throw .unknownLetter
      }
      return (parameter, name, rest.isEmpty ? nil : String(rest.first == "=" ? rest.dropFirst() : rest))
    }
    let sign = word.utf8.firstIndex(of: UInt8(ascii: "="))
    let name = sign.map { String(word[..<$0]) } ?? word
    guard let parameter = parameters.first(where: { $0.long == name }) else {
      let known = (parameters + [.help]).compactMap(\.long)
      throw .unknownOption(meant: Closeness.nearest(to: name, among: known))
    }
    return (parameter, name, sign.map { String(word[word.utf8.index(after: $0)...]) })
  }

  /// - Throws: `tooMany` if a typed word was not requested.
  func requireAllTaken() throws(ArgumentFault) { guard operands.isEmpty, behindDashes.isEmpty else { throw .tooMany } }

  // MARK: Arguments

  mutating func optionalArgument(
    _ name: String, _ help: String, completes completion: Parameter.Completion = .unknown
  ) -> String? {
    guard isTyped else {
      note(Parameter(value: name, help: help, completion: completion))
      return nil
    }
    return operands.popFirst() ?? (keepsDashes ? nil : behindDashes.popFirst())
  }

  mutating func argument(
    _ name: String, _ help: String, completes completion: Parameter.Completion = .unknown
  ) throws(ArgumentFault) -> String {
    let argument = optionalArgument(name, help, completes: completion)
    guard argument != nil || !isTyped else { throw .missing(name.uppercased()) }
    return argument ?? ""
  }

  mutating func numberArgument(
    _ name: String, _ help: String, completes completion: Parameter.Completion = .unknown
  ) throws(ArgumentFault) -> Int {
    let argument = try argument(name, help, completes: completion)
    guard let number = Int(argument) ?? (isTyped ? nil : 0) else { throw .invalid(name.uppercased()) }
    return number
  }

  /// All remaining arguments, possibly none.
  mutating func anyArguments(
    _ name: String, _ help: String, completes completion: Parameter.Completion = .unknown
  ) -> [String] {
    guard isTyped else {
      note(Parameter(value: name, help: help, completion: completion, mayRepeat: true))
      return []
    }
    defer { (operands, behindDashes) = ([], []) }
    return Array(operands + behindDashes)
  }

  /// All remaining arguments, at least one.
  mutating func someArguments(
    _ name: String, _ help: String, completes completion: Parameter.Completion = .unknown
  ) throws(ArgumentFault) -> [String] {
    let arguments = anyArguments(name, help, completes: completion)
    guard !arguments.isEmpty || !isTyped else { throw .missing(name.uppercased()) }
    return arguments
  }

  /// Only the words after `--`.
  ///
  /// - Throws: `missing` if nothing follows `--`.
  mutating func wordsBehindDashes(
    _ name: String, _ help: String, mayBeEmpty: Bool = false
  ) throws(ArgumentFault) -> [String] {
    guard isTyped else {
      note(Parameter(value: name, help: help, completion: .program, mayRepeat: true, isBehindDashes: true))
      return []
    }
    guard mayBeEmpty || !(hasDashes && behindDashes.isEmpty) else { throw .missing(name.uppercased()) }
    defer { behindDashes = [] }
    return Array(behindDashes)
  }

  // MARK: Options

  mutating func flag(_ long: String, _ help: String) -> Bool {
    guard isTyped else {
      note(Parameter(long: long, help: help))
      return false
    }
    return given.contains { $0.option == long }
  }

  mutating func option(
    _ long: String, short: String? = nil, value: String, _ help: String,
    completes completion: Parameter.Completion = .unknown
  ) -> String? {
    guard isTyped else {
      note(Parameter(short: short, long: long, value: value, help: help, completion: completion))
      return nil
    }
    return given.first { $0.option == long }?.value
  }

  /// An option with a default value.
  mutating func option(
    _ long: String, value: String, _ help: String, else standard: String,
    completes completion: Parameter.Completion = .unknown
  ) -> String {
    option(long, value: value, "\(help) (default: \(standard))", completes: completion) ?? standard
  }

  /// An option whose value, a length of time, may be omitted.
  mutating func time(
    _ long: String, short: String, value: String, _ help: String, without standard: String
  ) -> String? {
    guard isTyped else {
      note(
        Parameter(short: short, long: long, value: value, help: "\(help) (default: \(standard))", standard: standard))
      return nil
    }
    return given.first { $0.option == long }?.value
  }

  /// An option that must be given.
  mutating func required(
    _ long: String, value: String, _ help: String, completes completion: Parameter.Completion = .unknown
  ) throws(ArgumentFault) -> String {
    let given = option(long, value: value, help, completes: completion)
    guard given != nil || !isTyped else { throw .missing(long) }
    return given ?? ""
  }

  /// An option that can be repeated.
  mutating func options(
    _ long: String, short: String? = nil, value: String, _ help: String,
    completes completion: Parameter.Completion = .unknown
  ) -> [String] {
    guard isTyped else {
      note(
        Parameter(short: short, long: long, value: value, help: help, completion: completion, mayRepeat: true))
      return []
    }
    return given.filter { $0.option == long }.map(\.value)
  }

  mutating func number<Number: FixedWidthInteger>(
    _ long: String, value: String, _ help: String
  ) throws(ArgumentFault) -> Number? {
    guard let text = option(long, value: value, help) else { return nil }
    guard let number = Number(text) else { throw .invalid(long) }
    return number
  }

  mutating func number(
    _ long: String, value: String, _ help: String, else standard: Int
  ) throws(ArgumentFault) -> Int {
    try number(long, value: value, isTyped ? help : "\(help) (default: \(standard))") ?? standard
  }

  /// An option whose value is one of a few words.
  mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ long: String, value: String, _ help: String, else standard: Choice
  ) throws(ArgumentFault) -> Choice {
    let text = option(
      long, value: value, help, else: standard.rawValue, completes: .words(Choice.allCases.map(\.rawValue)))
    guard let choice = Choice(rawValue: text) else { throw .invalid(long) }
    return choice
  }

  private mutating func note(_ parameter: Parameter) { parameters.append(parameter) }
}

/// Why a command line is not understood. It contains only our own names and never typed text, which may be a secret.
enum ArgumentFault: Error, Equatable {
  case missing(String)
  case needsValue(String)
  case takesNoValue(String)
  case invalid(String)
  case repeated(String)
  case notOpen(String)
  case unknownOption(meant: String?)
  /// A hyphen with letters that are not an option.
  case unknownLetter
  case tooMany
  case missingCommand, commandAfterOption
  case unknownCommand(meant: String?)
  /// What shows the version of other programs.
  case unknownVersion

  /// - Parameter command: the command on the command line.
  func failure(at command: NamedCommand) -> Failure {
    let hint = "see \(command.path) --help"
    switch self {
    case .missing(let name): return .usage("\(name) is missing", hint: hint)
    case .needsValue(let name): return .usage("\(name) needs a value", hint: hint)
    case .takesNoValue(let name): return .usage("\(name) takes no value", hint: hint)
    case .invalid(let name): return .usage("the value of \(name) is not valid", hint: hint)
    case .repeated(let name): return .usage("\(name) is given more than once", hint: hint)
    case .notOpen(let name):
      return .usage("the descriptor of \(name) cannot be read: it is not open", hint: hint)
    case .unknownOption(let meant):
      return .usage("'\(command.path)' has no such option", hint: meant.map { "did you mean \($0)?" } ?? hint)
    case .unknownLetter:
      return .usage(
        "'\(command.path)' has no such option",
        hint: "\(hint); a name that begins with '-', or a program to run, comes after --")
    case .tooMany: return command.type?.surplus ?? .usage("there are too many arguments", hint: hint)
    case .missingCommand: return .usage("a command is missing", hint: hint)
    case .commandAfterOption: return .usage("the command comes before its options", hint: hint)
    case .unknownCommand(let meant):
      return .usage("there is no such command", hint: meant.map { "did you mean '\(command.path) \($0)'?" } ?? hint)
    case .unknownVersion: return .usage("there is no such command", hint: "to see the version: vault --version")
    }
  }
}
