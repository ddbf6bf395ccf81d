import Foundation
import Logging
import ServiceLifecycle
import VaultFoundation

@testable import VaultDaemon

/// A daemon in this process, on a Unix socket in a folder of its own.
final class RunningDaemon: Sendable {
  let folder: String
  let socket: String
  private let task: Task<Void, any Error>

  init(change: (inout Configuration) -> Void = { _ in }) throws {
    folder = NSTemporaryDirectory() + "vaultd-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    socket = folder + "/socket"
    var configuration = Configuration(location: try StoreLocation(home: folder + "/home", state: folder + "/state"))
    change(&configuration)
    let seal = Seal { () throws(VaultError) in throw .locked(.credential(.missing)) }
    let daemon = Daemon(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, seal: seal)
    let listening = try ListeningSocket.unix(at: socket)
    task = Task { try await daemon.serve(on: [listening], gracefulShutdownSignals: []) }
  }

  deinit {
    task.cancel()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Runs curl with the socket and `arguments`.
  ///
  /// - Returns: what it prints, then the status of the answer.
  func curl(_ path: String, _ arguments: String...) throws -> (body: String, status: Int) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/curl")
    process.arguments =
      ["--silent", "--show-error", "--unix-socket", socket, "--write-out", "\n%{http_code}"] + arguments
      + ["http://localhost" + path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return (lines.dropLast().joined(separator: "\n"), Int(lines.last ?? "") ?? 0)
  }
}
