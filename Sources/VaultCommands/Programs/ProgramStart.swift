import CVaultSystem
import Glibc
internal import Vault

/// Replaces this process with another program, so that nothing of this process's memory remains.
enum ProgramStart {
  /// Does not return if it succeeds.
  ///
  /// - Parameters:
  ///   - program: a path, or a name that is looked up in the PATH of `variables`.
  ///   - arguments: the program's arguments, its own name first.
  ///   - variables: its environment.
  /// - Returns: why it could not be started: `commandNotFound` or `notExecutable`.
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

  /// The program's path: `program` itself if it is a path, and otherwise the first match in the PATH of `variables`.
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

  /// The interpreter of a script without `#!`, as in execvp(3).
  static let shell = "/bin/sh"

  /// The arguments with which the shell runs the script at `path`.
  static func shellArguments(_ path: String, _ arguments: [String]) -> [String] {
    // The shell takes a path that begins with '-' for options.
    [shell, path.hasPrefix("-") ? "./" + path : path] + arguments.dropFirst()
  }

  /// The failure for an `errno` from starting a program.
  static func failure(_ code: Int32) -> Failure {
    switch code {
    case ENOENT, ENOTDIR: Failure(.commandNotFound, "the program was not found")
    case E2BIG:
      Failure(
        .notExecutable, "an argument or a variable is too large, or all of them together are",
        hint: "a variable holds less than 128 KiB; to pass a larger value as a file: vault run --as-file NAME=REFERENCE"
      )
    case EAGAIN:
      Failure(
        .storage, "no further process can be started", hint: "a limit is reached: ulimit -u, or that of a container")
    default: Failure(.notExecutable, "the program cannot be executed: \(SystemReason.text(code))")
    }
  }

  /// Lends a program's arguments and environment as C arrays, and wipes them afterwards.
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

/// This process's environment without the variables that open a store: programs get individual secrets, never the key
/// to all of them.
enum InheritedEnvironment {
  /// Values by name, both as the system's bytes, without NUL. Variables for which ``opensStore(_:)`` is true are left
  /// out.
  static var variables: [[UInt8]: [UInt8]] {
    var variables: [[UInt8]: [UInt8]] = [:]
    var next = unsafe environ
    while let entry = unsafe next.pointee {
      unsafe next += 1
      let bytes = unsafe Array(UnsafeRawBufferPointer(start: entry, count: strlen(entry)))
      guard let equals = bytes.dropFirst().firstIndex(of: UInt8(ascii: "=")) else { continue }
      let name = Array(bytes[..<equals])
      if opensStore(name) { continue }
      variables[name] = Array(bytes[(equals + 1)...])
    }
    return variables
  }

  /// Whether this is one of the variables that tell vault where a store is and what opens it. Others, such as
  /// VAULT_ADDR, belong to other programs.
  static func opensStore(_ name: [UInt8]) -> Bool { ours.contains { name.elementsEqual($0.utf8) } }

  private static let ours = Session.variables.filter { $0.hasPrefix("VAULT_") } + ["CREDENTIALS_DIRECTORY"]
}
