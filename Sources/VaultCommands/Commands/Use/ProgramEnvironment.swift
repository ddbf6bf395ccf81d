internal import Exchange
import Glibc
internal import Vault

/// Which items of a group become variables, and the names of these.
struct GroupVariables {
  var group: String?
  /// The prefix of the items' names, which is removed.
  var prefix = ""
  /// The only variables; none means all.
  var only: Set<String> = []
  /// The prefix of each variable.
  var environmentPrefix = ""
  var trustsNames = false

  /// Whether the user alone decides which variables are set, or all have the user's prefix.
  var isSafe: Bool { !only.isEmpty || !environmentPrefix.isEmpty || trustsNames }

  /// Whether the prefix may lack a final `/` by mistake, so that every variable would begin with `_`.
  var mayLackSlash: Bool { !prefix.isEmpty && prefix.last != "/" && only.isEmpty && environmentPrefix.isEmpty }
}

/// The environment of a program that gets secrets: this process's variables with references resolved, and additional
/// ones.
struct ProgramEnvironment {
  /// Values by name, both as the system's bytes, without NUL.
  private(set) var variables: [[UInt8]: [UInt8]] = [:]
  /// The values among them that come from a store, and the place that named each.
  private(set) var secrets: [(value: [UInt8], place: String)] = []
  private let references: References

  /// The maximum size of an env file.
  private static let fileLimit = 4 << 20

  init(_ references: References) { self.references = references }

  /// Copies this process's environment except variables that open a store.
  mutating func takeInherited() throws {
    for (name, value) in InheritedEnvironment.variables {
      try set(name, value, in: "the variable \(UTF8Text.onOneLine(String(decoding: name, as: UTF8.self)))")
    }
  }

  /// Adds the variables of an env file except those that open a store.
  mutating func add(file path: String) throws {
    let text = try ProgramEnvironment.text(of: path)
    let file: EnvironmentFile
    do { file = try EnvironmentFile(text) } catch {
      throw Failure(.usage, "\(UTF8Text.onOneLine(path)), line \(error.line): \(error.words)")
    }
    for entry in file.entries where !InheritedEnvironment.opensStore(Array(entry.name.utf8)) {
      let place = "\(UTF8Text.onOneLine(path)), line \(entry.line)"
      if entry.mayNameOthers {
        references.session.warn("\(place): '${' is passed to the program unchanged; use a vault:// reference")
      }
      if !Reference.isMeant(by: entry.value), entry.value.holds(Reference.scheme) {
        references.session.warn(
          "\(place): 'vault://' is passed to the program unchanged, because only a whole value can be a reference")
      }
      try set(Array(entry.name.utf8), Array(entry.value.utf8), in: place)
    }
  }

  /// Adds a variable for each item that `selection` picks.
  ///
  /// - Parameter hint: what to do about a variable that cannot be set.
  /// - Throws: `conflict` for two items with the same variable, for an item that makes no valid variable name, for a
  ///   variable that can hijack a program, and for a group in which somebody else could choose the variables;
  ///   `notFound` if a listed one is missing.
  mutating func add(_ selection: GroupVariables, hint: String) throws {
    let group = try references.group(selection.group)
    if !selection.isSafe, let writer = try references.otherWriter(of: group) {
      throw Failure(
        .conflict,
        "'\(UTF8Text.onOneLine(writer))' can write '\(group.name)', and could choose which variables are set",
        hint:
          "list the variables: --only A,B; give them a prefix: --env-prefix APP_; or trust the group's writers: --trust-names"
      )
    }
    var items: [String: String] = [:]
    var hijacking: Set<String> = []
    var cutsBeforeSlash = false
    var variables: [String] = []
    // vaultd keeps its own records in companion items, and lists leave them out, too.
    let isWhole = selection.prefix.isEmpty && selection.only.isEmpty
    for item in try group.items(prefix: selection.prefix) where !item.name.isCompanion {
      let full = item.name.description
      // The program did not ask for the logins of git, docker and cargo.
      if isWhole, LoginName.isHelpers(full) { continue }
      let shown = "'\(UTF8Text.onOneLine(full))'"
      let name = VariableName.of(String(full.dropFirst(selection.prefix.count))).map {
        selection.environmentPrefix + $0
      }
      if let name, !VariableName.canHijack(name) { variables.append(name) }
      guard selection.only.isEmpty || name.map(selection.only.contains) == true else { continue }
      references.session.warnIfExpired(item)
      if full.dropFirst(selection.prefix.count).first == "/", selection.mayLackSlash { cutsBeforeSlash = true }
      guard let variable = name else {
        throw Failure(.conflict, "no variable's name can be made from an item's name: \(shown)", hint: hint)
      }
      if VariableName.canHijack(variable, hasPrefix: !selection.environmentPrefix.isEmpty) {
        hijacking.insert(variable)
      }
      if let other = items.updateValue(full, forKey: variable) {
        let others = "'\(UTF8Text.onOneLine(other))' and \(shown)"
        throw Failure(.conflict, "two items would both set \(variable): \(others)", hint: hint)
      }
    }
    let unlisted = hijacking.subtracting(selection.only).sorted().joined(separator: ",")
    guard unlisted.isEmpty || selection.trustsNames else {
      throw Failure(
        .conflict, "the group's items would set variables that can hijack a program: \(unlisted)",
        hint:
          "choose items: --prefix P; list the variables that you want: -g \(group.name) --only A,B; or accept every name: --trust-names"
      )
    }
    if let unknown = selection.only.sorted().first(where: { items[$0] == nil }) {
      let meant = Closeness.nearestName(to: unknown, among: variables)
      throw Failure(
        .notFound, "--only lists a variable for which there is no item",
        hint: meant.map { "did you mean \($0)?" } ?? "list the items: vault list")
    }
    guard !items.isEmpty || selection.prefix.isEmpty else {
      throw Failure(.notFound, "there is no item with this prefix", hint: "list the items: vault list")
    }
    if cutsBeforeSlash {
      references.session.warn("the names after this prefix begin with '/', which becomes '_': end the prefix with '/'")
    }
    for (variable, item) in items {
      let value = try group.get(item).exportInsecurely()
      secrets.append((value, variable))
      try set(Array(variable.utf8), value, variable)
    }
  }

  /// Adds the variables of a project's file.
  mutating func add(_ project: ProjectFile) throws {
    let place = "'\(ProjectFile.name)'"
    if let selection = project.selection {
      try references.naming(place, isReference: false) {
        try add(selection, hint: "list the variables with 'only' in the file")
      }
    }
    for (variable, reference, line) in project.assignments {
      try set(Array(variable.utf8), resolved(reference, in: "\(place), line \(line)"), variable)
    }
  }

  /// Adds `NAME=REFERENCE`.
  mutating func add(assignment: String) throws {
    let (name, reference, place) = try ProgramEnvironment.parse(assignment, of: "--set")
    try set(name, resolved(reference, in: place), place)
  }

  /// Adds `NAME=REFERENCE`: the variable is the path of a file in memory that holds the value.
  mutating func add(fileAssignment: String) throws {
    let (name, reference, place) = try ProgramEnvironment.parse(fileAssignment, of: "--as-file")
    let secret = try Secret(resolved(reference, in: place))
    variables[name] = Array(MemoryFile.path(try MemoryFile.sealed(secret)).utf8)
  }

  /// Adds a netrc file in memory with the logins that `HOST=REFERENCE` name, and sets the variable NETRC to its path.
  mutating func add(netrc assignments: [String]) throws {
    guard !assignments.isEmpty else { return }
    var file = NetrcFile()
    for assignment in assignments {
      let (host, reference, place) = try ProgramEnvironment.parse(assignment, of: "--netrc")
      guard reference.field == nil else { throw Failure(.usage, "\(place): the reference names a field, not a login") }
      let login = try references.naming(place) { try references.login(reference) }
      guard let username = login.username, let password = login.secrets.password else {
        throw Failure(.usage, "\(place): the item is not JSON with the fields username and password")
      }
      do { try file.add(host: String(decoding: host, as: UTF8.self), username: username, password: password) } catch {
        throw Failure(.usage, "\(place): \(error.words)")
      }
      secrets.append((password, place))
    }
    let secret = try Secret(file.bytes)
    variables[Array("NETRC".utf8)] = Array(MemoryFile.path(try MemoryFile.sealed(secret)).utf8)
  }

  private static func parse(
    _ assignment: String, of option: String
  ) throws(Failure) -> (name: [UInt8], reference: Reference, place: String) {
    let parts = assignment.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else {
      throw .usage("\(option) needs \(option == "--netrc" ? "HOST" : "NAME")=vault://GROUP/NAME")
    }
    let reference = try References.parse(String(parts[1]))
    return (Array(parts[0].utf8), reference, "\(option) \(UTF8Text.onOneLine(String(parts[0])))")
  }

  // MARK: Steps

  /// Sets a variable to `value`, or to the value that it refers to.
  private mutating func set(_ name: [UInt8], _ value: [UInt8], in place: String) throws {
    guard let text = String(validating: value, as: UTF8.self), Reference.isMeant(by: text) else {
      return try set(name, value, place)
    }
    let reference: Reference
    do { reference = try References.parse(text) } catch {
      throw Failure(.usage, "\(place): \(error.message)", hint: error.hint)
    }
    try set(name, resolved(reference, in: place), place)
  }

  private mutating func set(_ name: [UInt8], _ value: [UInt8], _ place: String) throws(Failure) {
    guard !value.contains(0) else {
      throw Failure(
        .usage, "\(place): the value contains a zero byte, which an environment variable cannot hold",
        hint: "to pass it as a file: --as-file; to choose the others: --only")
    }
    variables[name] = value
  }

  private mutating func resolved(_ reference: Reference, in place: String) throws -> [UInt8] {
    let value = try references.naming(place) { try references.value(of: reference) }.exportInsecurely()
    secrets.append((value, place))
    return value
  }

  private static func text(of path: String) throws -> String {
    let bytes = try DescriptorInput.contents(of: path, "the file of --env-file", limit: fileLimit)
    guard bytes.count <= fileLimit else {
      throw Failure(.overLimit, "\(UTF8Text.onOneLine(path)) is longer than 4 MiB")
    }
    guard let text = bytes.exportInsecurelyAsString() else {
      throw Failure(.usage, "\(UTF8Text.onOneLine(path)) is not UTF-8")
    }
    return text
  }
}

extension EnvironmentFile.Fault {
  var line: Int {
    switch self {
    case .malformed(let line), .unclosedQuote(let line), .badName(let line), .badValue(let line): line
    }
  }

  /// A description of the fault for people.
  var words: String {
    switch self {
    case .malformed: "the line is neither NAME=value nor a comment"
    case .unclosedQuote: "a quote is never closed"
    case .badName: "this cannot be a variable's name"
    case .badValue: "the value holds a zero byte"
    }
  }
}

extension NetrcFile.Fault {
  /// A description of the fault for people.
  var words: String {
    switch self {
    case .badHost: "this cannot be a host in a netrc file"
    case .repeatedHost: "another --netrc names the same host"
    case .tooLong: "curl skips a line of 4,096 bytes or more in a netrc file"
    case .badText: "a netrc file cannot contain an empty text, a control character or bytes that are not UTF-8"
    }
  }
}
