#if Daemon
  import Glibc
  import VaultFoundation

  /// The program behind a connection of the bus, as far as the bus and /proc know it.
  struct BusProgram: Sendable, Equatable {
    /// For the record; the application is nobody's.
    var peer: Peer
    private(set) var sandbox: Sandbox

    enum Sandbox: Sendable, Equatable {
      case none
      /// The id of a Flatpak application. Its connections come from a proxy that runs in its sandbox.
      case flatpak(String)
      /// Nobody can say whether there is one.
      case unknown
    }

    init(process: Int32?, user: UInt32?) {
      peer = Peer(process: process, user: user)
      guard let process, process > 0 else {
        sandbox = .unknown
        return
      }
      sandbox = Sandbox(of: process)
    }

    init(executable: String?, flatpak: String? = nil) {
      peer = Peer()
      peer.executable = executable
      sandbox = flatpak.map { .flatpak($0) } ?? (executable == nil ? .unknown : .none)
    }

    /// A sandboxed application, for which this program calls.
    ///
    /// - Returns: `nil` for what is no id of an application.
    func calling(for id: String) -> BusProgram? {
      guard Sandbox.isID(id) else { return nil }
      var program = self
      program.sandbox = .flatpak(id)
      return program
    }

    /// The id of a Flatpak application.
    var flatpak: String? { if case .flatpak(let id) = sandbox { id } else { nil } }

    /// Who asks: the program, whichever of its connections it uses. What an interpreter runs is known by its process alone.
    func asker(_ client: String) -> String {
      if let flatpak { return flatpak }
      if let executable = peer.executable, !ProgramRules.isInterpreter(executable) { return executable }
      return peer.process.map { "process \($0)" } ?? client
    }

    /// How a question names it.
    var name: String { flatpak ?? peer.executable ?? "an unknown program" }
  }

  extension BusProgram.Sandbox {
    /// Reads `/.flatpak-info` in the file system that the process sees, as xdg-desktop-portal does. The process may have made
    /// that file system itself.
    init(of process: Int32) {
      let root = unsafe open("/proc/\(process)/root", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard root >= 0 else {
        self = .unknown
        return
      }
      defer { close(root) }
      // A link would lead into the daemon's own file system, and a pipe would hold its thread.
      let file = unsafe openat(root, ".flatpak-info", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
      guard file >= 0 else {
        self = errno == ENOENT ? .none : .unknown
        return
      }
      defer { close(file) }
      var facts = stat()
      var bytes = [UInt8](repeating: 0, count: 64 * 1_024)
      guard unsafe fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG,
        case let count = unsafe read(file, &bytes, bytes.count), count > 0, count < bytes.count
      else {
        self = .unknown
        return
      }
      self.init(in: String(decoding: bytes[..<count], as: UTF8.self))
    }

    /// Reads the text of a `.flatpak-info`.
    init(in text: String) {
      var isInSection = false
      for line in text.split(separator: "\n") {
        if line.first == "[" { isInSection = line == "[Application]" || line == "[Runtime]" }
        guard isInSection, line.hasPrefix("name=") else { continue }
        let id = String(line.dropFirst(5))
        self = Self.isID(id) ? .flatpak(id) : .unknown
        return
      }
      self = .unknown
    }

    fileprivate static func isID(_ text: String) -> Bool {
      let isPlain = text.utf8.allSatisfy { byte in
        byte < 0x80 && Unicode.Scalar(byte).properties.isAlphabetic || (48...57).contains(byte)
          || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
      }
      return isPlain && (1...255).contains(text.utf8.count)
    }
  }

  /// What a program may do with the secrets on the bus.
  enum ProgramRule: String, Sendable {
    case allow, ask, deny
  }

  /// The owner's rules, settings of the group `vault.service`: `secret-service/default`, `secret-service/exe/PATH`,
  /// `secret-service/flatpak/ID`.
  struct ProgramRules: Sendable, Equatable {
    static let prefix = "secret-service/"
    static let labelPrefix = prefix + "label/"
    /// Before the names of groups that programs made as collections.
    static let collectionPrefix = prefix + "collection/"
    /// The value of such a setting if the collection's path has the group's name.
    static let ownName = "yes"
    private static let (exePrefix, flatpakPrefix) = (prefix + "exe/", prefix + "flatpak/")

    private let settings: [String: String]

    init(_ settings: [String: String]) { self.settings = settings.filter { $0.key.hasPrefix(Self.prefix) } }

    /// The rule for a program. A rule that cannot count denies, because nobody knows what it was meant to allow.
    func rule(for program: BusProgram) -> ProgramRule {
      let own = program.peer.executable.flatMap { rule(ofExecutable: $0) }
      // A program can put on a root of its own, and is still the one that a rule denies.
      if own == .deny { return .deny }
      switch program.sandbox {
      case .flatpak(let id):
        guard let text = settings[Self.flatpakPrefix + id] else { return rest }
        return ProgramRule(rawValue: text) ?? .deny
      case .none where program.peer.executable?.hasPrefix("/") ?? false: return own ?? rest
      case .none, .unknown:
        // Nobody knows which rule would count.
        let hasRules = settings.keys.contains { $0.hasPrefix(Self.exePrefix) || $0.hasPrefix(Self.flatpakPrefix) }
        return hasRules && rest == .allow ? .ask : rest
      }
    }

    /// - Returns: `nil` without a rule.
    private func rule(ofExecutable path: String) -> ProgramRule? {
      guard path.hasPrefix("/") else { return nil }
      // A program whose file was replaced is still the one that a rule denies, and no longer the one that it allows.
      let gone = " (deleted)"
      let isGone = path.hasSuffix(gone)
      let name = Self.exePrefix + path.dropFirst().dropLast(isGone ? gone.count : 0)
      guard let text = settings[name] else { return nil }
      let rule = Self.problem(with: name, text) == nil ? ProgramRule(rawValue: text) ?? .deny : .deny
      return isGone && rule == .allow ? nil : rule
    }

    /// The rule for programs that have none.
    private var rest: ProgramRule {
      guard let text = settings[Self.prefix + "default"] else { return .allow }
      return ProgramRule(rawValue: text) ?? .deny
    }

    /// The label that the owner gave a collection.
    func label(of group: String) -> String? { settings[Self.labelPrefix + group] }

    /// The groups that programs made as collections, each with the name for its path if that is not the group's own.
    var made: [(group: String, name: String?)] {
      settings.filter { $0.key.hasPrefix(Self.collectionPrefix) }
        .map { (String($0.key.dropFirst(Self.collectionPrefix.count)), $0.value == Self.ownName ? nil : $0.value) }
        .sorted { $0.0 < $1.0 }
    }

    /// What is wrong with a setting, named without `settings/`; `nil` if nothing is.
    static func problem(with name: String, _ value: String) -> String? {
      if name.hasPrefix(labelPrefix) || name.hasPrefix(collectionPrefix) { return nil }
      let isExe = name.hasPrefix(exePrefix)
      guard isExe || name.hasPrefix(flatpakPrefix) || name == prefix + "default" else {
        return "settings/\(name) is not a setting"
      }
      if isExe, isInterpreter("/" + name.dropFirst(exePrefix.count)) {
        return "settings/\(name) names an interpreter: the rule would apply to every script"
      }
      return ProgramRule(rawValue: value) == nil ? "settings/\(name) is neither allow, ask nor deny" : nil
    }

    /// Whether what runs as this executable is decided by a script.
    static func isInterpreter(_ path: String) -> Bool {
      let file = String(path.split(separator: "/").last ?? "")
      // Versions are part of the names: python3.11, ruby3.1, lua5.4.
      let name = file.prefix { !$0.isNumber && $0 != "-" }
      return interpreters.contains(String(name))
    }

    private static let interpreters: Set<String> = [
      "ash", "awk", "bash", "bun", "busybox", "csh", "dash", "deno", "electron", "env", "fish", "gawk", "gjs", "java",
      "ksh",
      "lua", "luajit", "mawk", "mksh", "mono", "node", "nodejs", "perl", "php", "pwsh", "pypy", "python", "qemu",
      "ruby", "sh",
      "tclsh", "wine", "wish", "zsh",
    ]
  }
#endif
