#if Daemon
  import Foundation
  import VaultFoundation

  /// The program behind a connection of the bus, as far as the bus and /proc know it.
  struct BusProgram: Sendable, Equatable {
    /// For the record; the application is nobody's.
    var peer: Peer
    /// The id of a Flatpak application. Its connections come from a proxy that runs in its sandbox.
    var flatpak: String?

    init(process: Int32?, user: UInt32?) {
      peer = Peer(process: process, user: user)
      guard let process, process > 0 else { return }
      // Of the file system that the process sees.
      let place = "/proc/\(process)/root"
      flatpak = (try? String(contentsOfFile: place + "/.flatpak-info", encoding: .utf8))
        .flatMap(Self.application)
    }

    init(executable: String?, flatpak: String? = nil) {
      peer = Peer()
      peer.executable = executable
      self.flatpak = flatpak
    }

    /// The application's id in the text of a `.flatpak-info`.
    static func application(in text: String) -> String? {
      var isInSection = false
      for line in text.split(separator: "\n") {
        if line.first == "[" { isInSection = line == "[Application]" }
        if isInSection, line.hasPrefix("name=") { return String(line.dropFirst(5)) }
      }
      return nil
    }

    /// How a question names it.
    var name: String { flatpak ?? peer.executable ?? "an unknown program" }
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
    private static let (exePrefix, flatpakPrefix) = (prefix + "exe/", prefix + "flatpak/")

    private let settings: [String: String]

    init(_ settings: [String: String]) { self.settings = settings.filter { $0.key.hasPrefix(Self.prefix) } }

    /// The rule for a program. A rule that cannot count denies, because nobody knows what it was meant to allow.
    func rule(for program: BusProgram) -> ProgramRule {
      if let flatpak = program.flatpak {
        if let text = settings[Self.flatpakPrefix + flatpak] { return ProgramRule(rawValue: text) ?? .deny }
      } else if let path = program.peer.executable, path.hasPrefix("/") {
        // A program whose file was replaced is still the one that a rule denies, and no longer the one that it allows.
        let gone = " (deleted)"
        let isGone = path.hasSuffix(gone)
        let name = Self.exePrefix + path.dropFirst().dropLast(isGone ? gone.count : 0)
        if let text = settings[name] {
          let rule = Self.problem(with: name, text) == nil ? ProgramRule(rawValue: text) ?? .deny : .deny
          if !isGone || rule != .allow { return rule }
        }
      } else if settings.keys.contains(where: { $0.hasPrefix(Self.exePrefix) }) {
        // Nobody knows which rule would count.
        return rest == .deny ? .deny : .ask
      }
      return rest
    }

    /// The rule for programs that have none.
    private var rest: ProgramRule {
      guard let text = settings[Self.prefix + "default"] else { return .allow }
      return ProgramRule(rawValue: text) ?? .deny
    }

    /// The label that the owner gave a collection.
    func label(of group: String) -> String? { settings[Self.labelPrefix + group] }

    /// The groups that programs made as collections.
    var made: [String] {
      settings.keys.filter { $0.hasPrefix(Self.collectionPrefix) }
        .map { String($0.dropFirst(Self.collectionPrefix.count)) }.sorted()
    }

    /// What is wrong with a setting, named without `settings/`; `nil` if nothing is.
    static func problem(with name: String, _ value: String) -> String? {
      if name.hasPrefix(labelPrefix) || name.hasPrefix(collectionPrefix) { return nil }
      let isExe = name.hasPrefix(exePrefix)
      guard isExe || name.hasPrefix(flatpakPrefix) || name == prefix + "default" else {
        return "settings/\(name) is no setting"
      }
      if isExe, isInterpreter("/" + name.dropFirst(exePrefix.count)) {
        return "settings/\(name) names an interpreter: the rule would be one for every script"
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
