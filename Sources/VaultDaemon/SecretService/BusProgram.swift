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
    private static let (exePrefix, flatpakPrefix) = (prefix + "exe/", prefix + "flatpak/")

    private let settings: [String: String]

    init(_ settings: [String: String]) { self.settings = settings.filter { $0.key.hasPrefix(Self.prefix) } }

    /// The rule for a program. A rule that cannot count denies, because nobody knows what it was meant to allow.
    func rule(for program: BusProgram) -> ProgramRule {
      if let flatpak = program.flatpak {
        if let text = settings[Self.flatpakPrefix + flatpak] { return ProgramRule(rawValue: text) ?? .deny }
      } else if let path = program.peer.executable, path.hasPrefix("/") {
        let name = Self.exePrefix + path.dropFirst()
        if let text = settings[name] {
          return Self.problem(with: name, text) == nil ? ProgramRule(rawValue: text) ?? .deny : .deny
        }
      }
      guard let text = settings[Self.prefix + "default"] else { return .allow }
      return ProgramRule(rawValue: text) ?? .deny
    }

    /// The label that the owner gave a collection.
    func label(of group: String) -> String? { settings[Self.labelPrefix + group] }

    /// The groups that have a label: those that programs made collections of.
    var labelled: [String] {
      settings.keys.filter { $0.hasPrefix(Self.labelPrefix) }.map { String($0.dropFirst(Self.labelPrefix.count)) }
        .sorted()
    }

    /// What is wrong with a setting, named without `settings/`; `nil` if nothing is.
    static func problem(with name: String, _ value: String) -> String? {
      if name.hasPrefix(labelPrefix) { return nil }
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
