import CSystem
import Glibc
internal import Vault

/// Puts another program in the place of this one: no process of ours, and nothing that it held, stays behind.
enum ProgramStart {
  /// Does not return where it succeeds.
  ///
  /// - Parameters:
  ///   - program: a path, or a name that is looked up in the PATH of `variables`.
  ///   - arguments: the program's arguments, its own name first.
  ///   - variables: its environment.
  /// - Returns: why it could not be started: `commandNotFound`, `notExecutable`.
  static func replaceProcess(_ program: String, _ arguments: [String], _ variables: [[UInt8]: [UInt8]]) -> Failure {
    let path: String
    do throws(Failure) { path = try find(program, variables) } catch { return error }
    csystem_take_default_action(SIGPIPE)
    csystem_take_default_action(SIGXFSZ)
    unsafe withCStrings(arguments, variables) { arguments, environment in
      _ = unsafe execve(path, arguments, environment)
    }
    guard errno == ENOEXEC else { return failure(errno) }
    unsafe withCStrings(shellArguments(path, arguments), variables) { arguments, environment in
      _ = unsafe execve(shell, arguments, environment)
    }
    return failure(errno)
  }

  /// The program's path: `program` itself where it is one, or else the first of its name in the PATH of `variables`.
  ///
  /// - Throws: `commandNotFound`, `notExecutable`.
  static func find(_ program: String, _ variables: [[UInt8]: [UInt8]]) throws(Failure) -> String {
    guard !program.contains("/") else { return program }
    let folders = variables[Array("PATH".utf8)] ?? Array("/usr/local/bin:/usr/bin:/bin".utf8)
    var found = ENOENT
    for folder in folders.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false) {
      let path = (folder.isEmpty ? "." : String(decoding: folder, as: UTF8.self)) + "/" + program
      var status = stat()
      guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
      guard unsafe access(path, X_OK) != 0 else { return path }
      found = EACCES
    }
    throw failure(found)
  }

  /// What reads a script that does not say who reads it (no `#!`), as for execvp(3).
  static let shell = "/bin/sh"

  /// The arguments with which the shell runs the script at `path`.
  static func shellArguments(_ path: String, _ arguments: [String]) -> [String] {
    // It takes what begins with '-' for options.
    [shell, path.hasPrefix("-") ? "./" + path : path] + arguments.dropFirst()
  }

  /// What an `errno` of starting a program means.
  static func failure(_ code: Int32) -> Failure {
    switch code {
    case ENOENT, ENOTDIR: Failure(.commandNotFound, "the program was not found")
    case E2BIG: Failure(.notExecutable, "the arguments and the environment are too large together")
    default: Failure(.notExecutable, "the program cannot be executed: \(SystemReason.text(code))")
    }
  }

  /// Lends a program's arguments and its environment as C has them; they are wiped at the end.
  static func withCStrings<Result>(
    _ arguments: [String], _ variables: [[UInt8]: [UInt8]],
    _ body: (
      UnsafePointer<UnsafeMutablePointer<CChar>?>, UnsafePointer<UnsafeMutablePointer<CChar>?>
    ) -> Result
  ) -> Result {
    let environment = variables.map { $0.key + [UInt8(ascii: "=")] + $0.value + [0] }
    return unsafe withPointers(arguments.map { Array($0.utf8) + [0] }) { arguments in
      unsafe withPointers(environment) { environment in unsafe body(arguments, environment) }
    }
  }

  /// Lends `strings`, each with its NUL.
  private static func withPointers<Result>(
    _ strings: [[UInt8]], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    var copies = unsafe strings.map { bytes in
      unsafe bytes.withUnsafeBytes { unsafe strdup($0.bindMemory(to: CChar.self).baseAddress!) }
    }
    unsafe copies.append(nil)
    defer {
      for index in unsafe copies.indices {
        guard let copy = unsafe copies[index] else { continue }
        unsafe explicit_bzero(copy, strlen(copy))
        unsafe free(copy)
      }
    }
    return unsafe copies.withUnsafeBufferPointer { unsafe body($0.baseAddress!) }
  }
}
