/// A command: what it says of itself, the fields that its arguments fill, and what it does.
protocol Command: SendableMetatype {
  static var about: About { get }

  /// What is said about one argument more than the command takes; nil for the usual words.
  static var surplus: Failure? { get }

  /// Asks for every argument and option, in the order of the help.
  ///
  /// It is called twice: over nothing, to learn what the command takes, and over what was typed. So it asks for the same
  /// whatever it is given.
  init(_ arguments: inout Arguments) throws(ArgumentFault)

  /// Runs the command. It need not flush its output on stdout.
  ///
  /// - Throws: a `VaultError`, or a `Failure` of the command line itself.
  func run(in session: Session) throws
}

extension Command {
  static var surplus: Failure? { nil }

  /// What the command takes, but for `--help`, which all take.
  static var parameters: [Parameter] {
    var arguments = Arguments()
    _ = try? Self(&arguments)
    return arguments.parameters
  }

  /// The command as it was typed.
  ///
  /// - Parameter words: without those that name the command.
  static func parsed(_ words: [String]) throws(ArgumentFault) -> Self {
    var arguments = try Arguments(words, for: parameters)
    let command = try Self(&arguments)
    try arguments.requireAllTaken()
    return command
  }
}

/// One argument or option of a command, as parser, help and completion see it.
struct Parameter: Equatable {
  /// What can stand there.
  enum Completion: Equatable {
    case unknown, files, items, groups, applications, slots
    case words([String])
  }

  /// `-g`, where there is one.
  var short: String?
  /// `--group`; nil for an argument.
  var long: String?
  /// What the help writes in `<>`; nil for a flag.
  var value: String?
  var help: String
  var completion = Completion.unknown
  var mayRepeat = false

  var names: [String] { [short, long].compactMap { $0 } }

  static let help = Parameter(short: "-h", long: "--help", help: "Show help information.")
}

/// What was typed behind a command's name. Each call asks for one argument or option.
///
/// Options and arguments stand in any order: `--name value`, `--name=value`, `-n value`, `-nvalue`. Behind `--` everything is
/// an argument. A value that begins with `-` stands behind `=`.
struct Arguments {
  /// What was asked for so far, where nothing was typed.
  private(set) var parameters: [Parameter] = []
  private let isTyped: Bool
  private var given: [(option: String, value: String)] = []
  private var operands: ArraySlice<String> = []
  private var behindDashes: ArraySlice<String> = []

  /// Over nothing: only notes what it is asked for.
  init() { isTyped = false }

  init(_ words: [String], for parameters: [Parameter]) throws(ArgumentFault) {
    isTyped = true
    var place = words.startIndex
    while place < words.endIndex {
      let word = words[place]
      place += 1
      if word == "--" {
        behindDashes = words[place...]
        break
      }
      guard Arguments.isOption(word) else {
        operands.append(word)
        continue
      }
      let (parameter, name, attached) = try Arguments.option(word, of: parameters)
      var value = attached
      if parameter.value != nil, attached == nil {
        guard place < words.endIndex, !Arguments.isOption(words[place]) else { throw .needsValue(name) }
        value = words[place]
        place += 1
      } else if parameter.value == nil, attached != nil {
        throw .takesNoValue(name)
      }
      let long = parameter.long ?? name
      // A script that names two groups or two files means something else than the last one. Flags have nothing to contradict.
      guard parameter.mayRepeat || value == nil || !given.contains(where: { $0.option == long }) else {
        throw .repeated(long)
      }
      given.append((long, value ?? ""))
    }
  }

  /// Whether a word is an option: `-` alone is an argument.
  static func isOption(_ word: String) -> Bool { word.utf8.first == UInt8(ascii: "-") && word.utf8.count > 1 }

  /// Takes `--name=value` or `-nvalue` apart.
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

  /// - Throws: `tooMany` if something was typed that nothing asked for.
  func requireAllTaken() throws(ArgumentFault) {
    guard operands.isEmpty, behindDashes.isEmpty else { throw .tooMany }
  }

  // MARK: Arguments

  mutating func optionalArgument(
    _ name: String, _ help: String, completes completion: Parameter.Completion = .unknown
  ) -> String? {
    guard isTyped else {
      note(Parameter(value: name, help: help, completion: completion))
      return nil
    }
    return operands.popFirst() ?? behindDashes.popFirst()
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

  /// All that are left, or none.
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

  /// All that are left, and at least one.
  mutating func someArguments(
    _ name: String, _ help: String, completes completion: Parameter.Completion = .unknown
  ) throws(ArgumentFault) -> [String] {
    let arguments = anyArguments(name, help, completes: completion)
    guard !arguments.isEmpty || !isTyped else { throw .missing(name.uppercased()) }
    return arguments
  }

  /// The words behind `--`, and only those.
  mutating func wordsBehindDashes(_ name: String, _ help: String) -> [String] {
    guard isTyped else {
      note(Parameter(value: name, help: help, mayRepeat: true))
      return []
    }
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

  /// An option with a value of its own where it is not given.
  mutating func option(
    _ long: String, value: String, _ help: String, else standard: String,
    completes completion: Parameter.Completion = .unknown
  ) -> String {
    option(long, value: value, "\(help) (default: \(standard))", completes: completion) ?? standard
  }

  /// An option that must be given.
  mutating func required(
    _ long: String, value: String, _ help: String, completes completion: Parameter.Completion = .unknown
  ) throws(ArgumentFault) -> String {
    let given = option(long, value: value, help, completes: completion)
    guard given != nil || !isTyped else { throw .missing(long) }
    return given ?? ""
  }

  /// An option that may be given more than once.
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

/// Why a command line is not understood. What was typed, which may have been a secret, is not in it: only names of ours are.
enum ArgumentFault: Error, Equatable {
  case missing(String)
  case needsValue(String)
  case takesNoValue(String)
  case invalid(String)
  case repeated(String)
  case unknownOption(meant: String?)
  /// A hyphen with letters that are no option.
  case unknownLetter
  case tooMany
  case missingCommand
  case unknownCommand(meant: String?)

  /// - Parameter command: where on the command line it is.
  func failure(at command: NamedCommand) -> Failure {
    let hint = "see \(command.path) --help"
    switch self {
    case .missing(let name): return .usage("\(name) is missing", hint: hint)
    case .needsValue(let name): return .usage("\(name) needs a value", hint: hint)
    case .takesNoValue(let name): return .usage("\(name) takes no value", hint: hint)
    case .invalid(let name): return .usage("the value of \(name) is not valid", hint: hint)
    case .repeated(let name): return .usage("\(name) is given more than once", hint: hint)
    case .unknownOption(let meant):
      return .usage("'\(command.path)' has no such option", hint: meant.map { "did you mean \($0)?" } ?? hint)
    case .unknownLetter:
      return .usage(
        "'\(command.path)' has no such option", hint: "to use a name that begins with '-', write -- before it")
    case .tooMany: return command.type?.surplus ?? .usage("there are too many arguments", hint: hint)
    case .missingCommand: return .usage("a command is missing", hint: hint)
    case .unknownCommand(let meant):
      return .usage("there is no such command", hint: meant.map { "did you mean '\(command.path) \($0)'?" } ?? hint)
    }
  }
}
