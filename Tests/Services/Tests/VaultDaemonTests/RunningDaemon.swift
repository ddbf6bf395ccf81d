import Foundation
import Logging
import ServiceLifecycle
import VaultFoundation

@testable import VaultDaemon

/// A store with an enrolled service, and a daemon in this process that serves it on a Unix socket.
///
/// The application `web` is whoever runs the tests.
final class RunningDaemon: Sendable {
  let folder: String
  let socket: String
  let seal: Seal
  let configuration: Configuration
  private let task: Task<Void, any Error>?

  /// - Parameters:
  ///   - binds: whether this process is the application `web`.
  ///   - serves: whether there is a daemon, or only the store.
  ///   - others: sockets besides the Unix one.
  init(
    binds: Bool = true, serves: Bool = true, others: [ListeningSocket] = [],
    change: (inout Configuration) -> Void = { _ in }
  ) throws {
    folder = NSTemporaryDirectory() + "vaultd-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    socket = folder + "/socket"
    let location = try Self.location(folder)
    try SecretStore.create(at: location, with: .keyFile(folder + "/key"))
    let owner = try SecretStore.open(at: location, unlocking: .keyFile(folder + "/key"))
    _ = try owner.enrollService(to: folder + "/credential")
    if binds { try owner.applications.bind("web", .init(user: String(getuid()))) }
    var configuration = Configuration(location: location)
    configuration.credential = folder + "/credential"
    change(&configuration)
    self.configuration = configuration
    seal = Seal(configuration)
    try seal.unseal()
    let daemon = Daemon(configuration, logger: Self.logger, seal: seal)
    guard serves else {
      task = nil
      return
    }
    let sockets = [try ListeningSocket.unix(at: socket)] + others
    task = Task {
      let handover = await Handover([], Handover.Signals(ends: []), SystemdNotices([:]))
      try await daemon.serve(on: sockets, handover: handover)
    }
  }

  deinit {
    task?.cancel()
    try? FileManager.default.removeItem(atPath: folder)
  }

  private static func location(_ folder: String) throws -> StoreLocation {
    try StoreLocation(home: folder + "/home", state: folder + "/state")
  }

  func owner() throws -> SecretStore {
    try SecretStore.open(at: Self.location(folder), unlocking: .keyFile(folder + "/key"))
  }

  static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  /// What answers requests, for calls without a socket.
  func interface(
    _ failures: Failures = Failures(.allowing(failures: .max)), log: Logger = logger, replication: Replication? = nil,
    bodies: BodyBudget = BodyBudget(limit: 0), strangersBodies: BodyBudget = BodyBudget(limit: 0),
    messages: BodyBudget = BodyBudget(limit: 0), answers: BodyBudget = BodyBudget(limit: 0)
  ) -> Interface {
    Interface(
      seal: seal, home: configuration.location.home, limits: Limits(), bodies: bodies,
      strangersBodies: strangersBodies, messages: messages, answers: answers,
      failures: failures,
      metrics: DaemonMetrics(Connections(Limits())),
      replication: replication ?? Replication({ [] }, log, log: { _, _ in throw LogError.unavailable }), logger: log)
  }

  /// Sets an item as the owner does with `vault set`.
  func set(_ name: String, in group: String, to value: String) throws {
    try owner().group(group).set(name, to: value)
  }

  func text(_ name: String, in group: String) throws -> String {
    try owner().group(group).get(name).exportInsecurelyAsString() ?? ""
  }

  func items(of group: String) throws -> [Item] { try owner().group(group).items() }

  func bind(_ application: String, unit: String? = nil, user: String? = nil) throws {
    _ = try owner().applications.bind(application, .init(unit: unit, user: user))
  }

  func bind(certificate: String, to application: String) throws {
    _ = try owner().applications.bind(application, .init(certificate: certificate))
  }

  /// A token, for an application that is not whoever runs the tests.
  func token(of application: String) throws -> String {
    guard let opened = seal.current else { throw Refusal.sealed }
    let method = ServiceTokens.Method.unix
    let bases = try opened.callers.bases(of: application, by: method, in: opened.store)
    let match = Callers.Match(application: application, basis: bases.first ?? "")
    return try opened.tokens.issue(for: match, by: method, lasting: 3_600, limit: 3_600).text
  }

  func unbind(_ application: String) throws { _ = try owner().applications.unbind(application) }

  /// The status of curl's answer for a whole URL; 0 if there is none.
  func status(of url: String, _ arguments: String...) async throws -> Int {
    let text = try await Self.output(
      of: "/usr/bin/curl",
      ["--silent", "--max-time", "20", "--output", "/dev/null", "--write-out", "%{http_code}"] + arguments + [url])
    return Int(text) ?? 0
  }

  /// The records of applications and unknown callers, oldest first.
  func records() throws -> [AuditRecord] {
    let list = try owner().auditRecords(since: Timestamp(milliseconds: 0))
    var records: [AuditRecord] = []
    while let record = try list.next() { if record.caller.who != .owner { records.append(record) } }
    return records
  }

  /// Runs curl with the socket and `arguments`.
  ///
  /// - Returns: what it prints, then the status of the answer.
  @discardableResult
  func curl(_ path: String, _ arguments: String...) async throws -> (body: String, status: Int) {
    try await curl(url: "http://localhost" + path, ["--unix-socket", socket] + arguments)
  }

  func curl(url: String, _ arguments: [String]) async throws -> (body: String, status: Int) {
    let text = try await Self.output(
      of: "/usr/bin/curl", ["--silent", "--write-out", "\n%{http_code}"] + arguments + [url])
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return (lines.dropLast().joined(separator: "\n"), Int(lines.last ?? "") ?? 0)
  }

  /// Makes a pinentry that writes down what it is to ask and which files it has open, and then says `answer`, which the
  /// shell reads.
  static func writePinentry(saying answer: String, to path: String) async throws {
    let script = """
      #!/bin/sh
      echo OK
      while read -r command rest; do
        case $command in
          SETDESC) echo "$rest" >>"$0.asked"; ls -l /proc/$$/fd >"$0.open"; echo OK ;;
          CONFIRM) echo \(answer) ;;
          BYE) exit ;;
          *) echo OK ;;
        esac
      done

      """
    try await writeProgram(script, to: path)
  }

  /// Makes an executable script. Another process writes it: a program that another test starts meanwhile could inherit the
  /// descriptor, and a file that somebody may still write to is not executed.
  static func writeProgram(_ text: String, to path: String) async throws {
    let script = #"printf '%s' "$0" >"$1.new" && chmod 700 "$1.new" && mv "$1.new" "$1""#
    _ = try await output(of: "/bin/sh", ["-c", script, text, path])
  }

  /// Runs a program, and returns what it prints. A thread of its own waits for it, because the daemon needs those of the
  /// tests.
  static func output(of path: String, _ arguments: [String]) async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try waitForOutput(of: path, arguments) })
      }
    }
  }

  private static func waitForOutput(of path: String, _ arguments: [String]) throws -> String {
    let program = try Program(path, arguments)
    program.closeInput()
    let text = program.readOutput()
    program.wait()
    return text
  }
}

extension Limits {
  /// So many requests may be refused in all, however slow the machine is.
  static func allowing(failures count: Int) -> Limits {
    var limits = Limits()
    (limits.failures, limits.failureWindow) = (count, .seconds(1_000_000))
    return limits
  }
}
