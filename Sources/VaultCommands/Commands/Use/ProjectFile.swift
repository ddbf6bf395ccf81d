internal import Exchange
import Glibc
internal import Ground
internal import Vault

/// A project's `.vault` file, which says what `vault run` passes to programs that are started there.
///
/// ```
/// # a comment
/// group = team.shared
/// prefix = shop/
/// only = DB_PASSWORD, API_TOKEN
/// env-prefix = SHOP_
/// set STRIPE_KEY = payments/stripe#key
/// ```
///
/// It names neither a store, nor a key, nor a program. It counts only after `vault allow`, and only with the content
/// that it had then.
struct ProjectFile {
  private(set) var group: String?
  private var prefix: String?
  private var only: Set<String> = []
  private var environmentPrefix: String?
  /// The entries of `set`, with their lines.
  private(set) var assignments: [(variable: String, reference: Reference, line: Int)] = []

  static let name = ".vault"
  private static let byteLimit = 65_536

  /// The group's items that become variables; nil if the file only lists references.
  var selection: GroupVariables? {
    let isNamed = prefix != nil || !only.isEmpty || environmentPrefix != nil
    guard isNamed || assignments.isEmpty else { return nil }
    return GroupVariables(group: group, prefix: prefix ?? "", only: only, environmentPrefix: environmentPrefix ?? "")
  }

  // MARK: Reading

  /// - Throws: `usage` with the line number. The content is not repeated.
  init(_ content: [UInt8]) throws(Failure) {
    guard let text = String(validating: content, as: UTF8.self), !content.contains(0) else {
      throw Failure(.usage, "'\(ProjectFile.name)' is not UTF-8 text")
    }
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let line = ProjectFile.trimmed(line)
      guard !line.isEmpty, !line.hasPrefix("#") else { continue }
      do throws(Fault) { try take(line, index + 1) } catch {
        throw Failure(.usage, "'\(ProjectFile.name)', line \(index + 1): \(error.words)")
      }
    }
    // The line `group` may come after them.
    assignments = assignments.map { [group] variable, reference, line in
      (variable, Reference(group: reference.group ?? group, name: reference.name, field: reference.field), line)
    }
  }

  private struct Fault: Error { let words: String }

  private mutating func take(_ line: Substring, _ number: Int) throws(Fault) {
    let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(ProjectFile.trimmed)
    guard parts.count == 2, !parts[1].isEmpty else {
      throw Fault(words: "the line is neither 'word = value' nor a comment")
    }
    let words = parts[0].split(whereSeparator: \.isWhitespace)
    let value = String(parts[1])
    guard value.utf8.count < 2 || value.first != value.last || !"'\"".contains(value.first ?? " ") else {
      throw Fault(words: "the value is in quotes, which would be part of it")
    }
    switch (words.first, words.count) {
    case ("group", 1): try once(&group, value)
    case ("prefix", 1): try once(&prefix, value)
    case ("env-prefix", 1):
      guard VariableName.isValid(value) else { throw Fault(words: "this cannot start a variable's name") }
      try once(&environmentPrefix, value)
    case ("only", 1):
      guard only.isEmpty else { throw Fault(words: "it is given twice") }
      for name in value.split(separator: ",").map(ProjectFile.trimmed) { only.insert(try variable(String(name))) }
    case ("set", 2): try set(String(words[1]), value, number)
    default: throw Fault(words: "the line must begin with group, prefix, only, env-prefix or set NAME")
    }
  }

  private func once(_ place: inout String?, _ value: String) throws(Fault) {
    guard place == nil else { throw Fault(words: "it is given twice") }
    place = value
  }

  private mutating func set(_ name: String, _ value: String, _ number: Int) throws(Fault) {
    let variable = try variable(name)
    guard !assignments.contains(where: { $0.variable == variable }) else { throw Fault(words: "it is given twice") }
    let reference: Reference
    do { reference = try Reference(Reference.isMeant(by: value) ? value : Reference.scheme + "/" + value) } catch {
      throw Fault(words: "this is not an item: \(error.words)")
    }
    assignments.append((variable, reference, number))
  }

  /// Even in an allowed file, its author must not set variables that can hijack a program.
  private func variable(_ name: String) throws(Fault) -> String {
    guard VariableName.isValid(name) else { throw Fault(words: "this cannot be a variable's name") }
    guard !VariableName.canHijack(name) else { throw Fault(words: "this variable can hijack a program") }
    return name
  }

  private static func trimmed(_ text: Substring) -> Substring {
    let start = text.drop(while: \.isWhitespace)
    return start[..<(start.lastIndex { !$0.isWhitespace }.map(start.index(after:)) ?? start.startIndex)]
  }
}

// MARK: - Finding it

extension ProjectFile {
  /// A file that was found in a folder or above it.
  struct Found {
    /// Absolute, without links.
    let path: String
    /// Nil if the file cannot be allowed; `reason` says why.
    var content: [UInt8]?
    var reason = ""
  }

  /// The file that counts here, if it was allowed. A file that cannot be allowed causes a warning.
  ///
  /// - Throws: `denied` for a file that was not decided about or has changed since; `usage` for a fault in it.
  static func allowed(in session: Session) throws -> ProjectFile? {
    guard let found = try find(home: session.variable("HOME")) else { return nil }
    let shown = session.shown(found.path)
    guard let content = found.content else {
      session.warn("\(shown) is ignored: \(found.reason)")
      return nil
    }
    let location = try StoreLocation(environment: session.environment)
    let hint = "read it, then: vault allow; to go on without it, here: vault allow --deny"
    switch try location.standing(ofProject: found.path, content) {
    case .allowed: return try ProjectFile(content)
    case .denied: return nil
    case .unknown: throw Failure(.denied, "\(shown) was not allowed", hint: hint)
    case .changed: throw Failure(.denied, "\(shown) has changed since it was allowed", hint: hint)
    }
  }

  /// Finds the first such file in a folder or above it.
  ///
  /// The home folder and those above it are not searched, because HashiCorp's vault keeps a file with this name there.
  ///
  /// - Parameters:
  ///   - folder: nil for the working directory.
  ///   - home: the user's home folder.
  /// - Throws: the error that kept it from being read.
  static func find(from folder: String? = nil, home: String?) throws(Failure) -> Found? {
    guard var place = ResolvedPath.of(folder ?? ".") else {
      throw Failure(SystemReason.status(errno), "the folder cannot be searched: \(SystemReason.text(errno))")
    }
    let home = home.flatMap(ResolvedPath.of)
    while place != home, place != "/" {
      if let found = try look(at: place + "/" + name) { return found }
      place = place.lastIndex(of: "/").map { String(place[..<$0]) } ?? ""
      if place.isEmpty { place = "/" }
    }
    return nil
  }

  private static func look(at path: String) throws(Failure) -> Found? {
    let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else {
      switch errno {
      case ENOENT, ENOTDIR: return nil
      case ELOOP: return Found(path: path, reason: "it is a symbolic link")
      case let code: return Found(path: path, reason: SystemReason.text(code))
      }
    }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw DescriptorInput.failure("'\(name)'", errno) }
    // Some programs have a folder with this name.
    guard status.st_mode & S_IFMT != S_IFDIR else { return nil }
    guard status.st_mode & S_IFMT == S_IFREG else { return Found(path: path, reason: "it is not a regular file") }
    guard status.st_uid == geteuid() else { return Found(path: path, reason: "it belongs to another user") }
    guard status.st_mode & 0o022 == 0 else { return Found(path: path, reason: "others can write it (chmod go-w)") }
    let bytes = try DescriptorInput(descriptor, "'\(name)'").readAll(limit: byteLimit)
    guard bytes.count <= byteLimit else { return Found(path: path, reason: "it is longer than 64 KiB") }
    return Found(path: path, content: bytes.exportInsecurely())
  }
}

/// `vault allow [FOLDER]`
struct AllowProject: Command {
  static let about = About(
    "Allow a project's .vault to set variables for vault run.",
    usage: "vault allow [FOLDER] [--yes | --deny | --revoke]",
    more: """
      The command searches for the file in the folder and those above it, up to the home folder, which is not \
      searched. It shows the file, and from then on vault run uses it as it is now; when it changes, it must be \
      allowed again. A file that belongs to somebody else, that others can write, or that is a link is never used: \
      vault run then warns and continues without it.

      It has lines such as group = team.shared, prefix = shop/, only = DB_PASSWORD, API_TOKEN, env-prefix = SHOP_ and \
      set DB_URL = db/url#dsn. The first four mean the same as the options of vault run; set sets one variable to one \
      item, written as in a reference. If there is only set, no other items of the group are used. # starts a comment.

      Until it is allowed, vault run starts nothing there, unless -g, --prefix or a similar option replaces it. With \
      --deny, vault run ignores the file, whatever it says. --revoke forgets the decision.
      """,
    example: """
      vault allow
      """)

  let folder: String?
  let yes: Bool
  let deny: Bool
  let revoke: Bool

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    folder = arguments.optionalArgument(
      "folder", "The folder to search; by default the working directory.", completes: .files)
    yes = arguments.flag("--yes", "Do not ask first; for scripts.")
    deny = arguments.flag("--deny", "Never use it.")
    revoke = arguments.flag("--revoke", "Forget the decision.")
  }

  func run(in session: Session) throws {
    guard [yes, deny, revoke].count(where: { $0 }) < 2 else {
      throw Failure.usage("--yes, --deny and --revoke exclude each other")
    }
    guard let found = try ProjectFile.find(from: folder, home: session.variable("HOME")) else {
      throw Failure(
        .notFound, "there is no '\(ProjectFile.name)' in the folder or above it",
        hint: "one in the home folder itself is never used")
    }
    let location = try StoreLocation(environment: session.environment)
    if revoke { return try location.forget(project: found.path) }
    if deny { return try location.allow(project: found.path, nil) }
    let shown = session.shown(found.path)
    guard let content = found.content else { throw Failure(.denied, "\(shown) cannot be allowed: \(found.reason)") }
    _ = try ProjectFile(content)
    do throws(Failure) {
      try session.output.write("\(shown):\n")
      for line in String(decoding: content, as: UTF8.self).split(whereSeparator: \.isNewline) {
        try session.output.write("  \(UTF8Text.onOneLine(String(line)))\n")
      }
      if !yes { try session.output.flush() }
    } catch {
      throw error.isSilent ? Failure(.storage, "nobody read the file, so it was not allowed") : error
    }
    if !yes {
      guard let terminal = session.terminal else {
        throw Failure(.usage, "there is no terminal to ask", hint: "after reading it: --yes")
      }
      guard try terminal.confirm("let 'vault run' use it? (yes/no) ") else {
        throw Failure(.interrupted, "nothing was allowed")
      }
    }
    try location.allow(project: found.path, content)
  }
}
