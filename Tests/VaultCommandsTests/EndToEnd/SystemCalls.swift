import TestSupport
import Testing

@testable import VaultCommands

/// The system calls of a command, and runs in which one of them fails.
extension TestStore {
  /// One system call: the `number`th with its name.
  struct SystemCall: CustomStringConvertible {
    let name: String
    let number: Int
    var description: String { "\(name) \(number)" }

    /// The strace option that kills the process before the call.
    var killing: [String] { ["-e", "inject=\(name):signal=KILL:when=\(number)"] }
    /// The strace option that makes the call fail.
    func failing(_ error: String) -> [String] { ["-e", "inject=\(name):error=\(error):when=\(number)"] }
  }

  /// The calls that change something.
  static let changingCalls = [
    "openat", "write", "pwrite64", "ftruncate", "fsync", "fdatasync", "rename", "renameat", "renameat2", "link",
    "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "flock", "fchmod", "close",
  ]

  /// Runs a command under strace.
  func trace(
    _ arguments: [String], input: String = "", _ calls: [String], _ options: [String] = []
  ) -> Executable.Result {
    Executable(
      ["-f", "-qq", "-o", folder.file("trace"), "-e", "trace=" + calls.map { "?" + $0 }.joined(separator: ",")]
        + options + [Executable.path] + arguments,
      program: "/usr/bin/strace", input: Array(input.utf8), environment: environment
    ).wait()
  }

  /// The system calls of an undisturbed run, or a sample of them.
  func systemCalls(
    of arguments: [String], input: String = "", _ calls: [String] = changingCalls, sample: Int
  ) throws -> [SystemCall] {
    let result = trace(arguments, input: input, calls)
    try #require(result.status == 0, "\(result.errors)")
    var counts: [String: Int] = [:]
    let all = String(decoding: folder.read("trace"), as: UTF8.self).split(separator: "\n").compactMap { line in
      let name = String(line.drop { $0.isNumber || $0 == " " }.prefix { $0 != "(" })
      guard calls.contains(name) else { return nil as SystemCall? }
      counts[name, default: 0] += 1
      return SystemCall(name: name, number: counts[name]!)
    }
    try #require(!all.isEmpty)
    return RunLength.positions(in: all.count, sample: sample).map { all[$0] }
  }
}
