import Glibc
import TestSupport

@testable import VaultCommands

/// The executable, run on a test's store.
extension TestStore {
  @discardableResult
  func execute(_ arguments: String..., input: String = "") -> Executable.Result {
    Executable(arguments, input: Array(input.utf8), environment: environment).wait()
  }

  func execute(_ arguments: [String], input: [UInt8]) -> Executable.Result {
    Executable(arguments, input: input, environment: environment).wait()
  }

  /// Runs a command in a separate process with VAULT_TEST_FULL=1 and otherwise in this process. Both do the same.
  func attempt(
    _ arguments: [String], input: String = "", environment more: [String: String] = [:]
  ) -> Executable.Result {
    let environment = environment.merging(more) { $1 }
    let input = Array(input.utf8)
    if RunLength.isFull { return Executable(arguments, input: input, environment: environment).wait() }
    let transcript = Transcript(arguments, input: input, environment: environment)
    return Executable.Result(
      status: transcript.status, outputBytes: transcript.outputBytes, errors: transcript.errors)
  }

  /// The environment of a script: `$vault` is the executable, and `$folder` is the test's folder with `store`, `state` and `key`.
  var scriptEnvironment: [String: String] {
    environment.merging(["vault": Executable.path, "folder": folder.path, "PATH": Machine.path]) { $1 }
  }

  /// A shell function: `put NAME VALUE [OPTION]...` sets an item, as another user if `$as` says how. With many
  /// writers on a slow disk, its turn can take more than ten seconds to come; then it asks again, for three minutes at
  /// most.
  static let put = #"""
    put() (
      name=$1 value=$2 status=15; shift 2
      for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do
        [ $status -ne 15 ] || { words=$(printf %s "$value" | $as "$vault" set "$name" "$@" 2>&1); status=$?; }
      done
      [ $status -eq 0 ] || echo "set $name: $status $words"
    )

    """#

  @discardableResult
  func shell(_ script: String, input: String = "") -> Executable.Result {
    Executable(["-c", script], program: "/bin/sh", input: Array(input.utf8), environment: scriptEnvironment).wait()
  }

  /// Runs a command whose output nobody reads.
  func unread(_ command: String) -> Executable.Result {
    let (reading, writing) = Pipe.pair()
    defer { close(writing) }
    close(reading)
    return Executable(
      ["-c", "exec \"$vault\" \(command) >&3"], program: "/bin/sh", environment: scriptEnvironment, extra: [writing]
    ).wait()
  }

  /// Runs a script in a separate mount namespace.
  @discardableResult
  func shellWithMounts(_ script: String) -> Executable.Result {
    Executable(["-m", "/bin/sh", "-c", script], program: "/usr/bin/unshare", environment: scriptEnvironment).wait()
  }

  /// The folder of the group `default`.
  var groupFolder: String { folder.file("store/groups/default") }
}
