import Exchange
import Glibc

/// The program `age` (https://age-encryption.org), which opens text that was sealed for an identity.
struct Age {
  /// A descriptor of the file with the identities.
  let identity: Int32?

  /// - Throws: `wrongKey` if none of the identities opens the text; `unclear` if the program is missing.
  func open(_ sealed: [UInt8]) throws(ImportFault) -> [UInt8] {
    guard let identity else { throw ImportFault("the file with the identities of age is missing", .wrongKey) }
    // Both fit into a pipe, so neither side waits for the other.
    guard sealed.count <= 32_768 else { throw ImportFault("a key sealed for age is too long", .damaged) }
    guard let input = Self.pipe(), let output = Self.pipe() else {
      throw ImportFault("there are no pipes", .unsupported)
    }
    defer { for end in [input.read, output.read, output.write] { close(end) } }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, input.read, STDIN_FILENO)
    unsafe posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO)
    unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    var number: pid_t = 0
    let words = ["age", "--decrypt", "-i", "/dev/fd/\(identity)"]
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { for index in unsafe arguments.indices { unsafe free(arguments[index]) } }
    let code = unsafe posix_spawnp(&number, "age", &actions, nil, &arguments, environ)
    guard code == 0 else {
      close(input.write)
      throw ImportFault("the program 'age' was not found; install age")
    }
    _ = unsafe sealed.withUnsafeBytes { unsafe Glibc.write(input.write, $0.baseAddress, $0.count) }
    close(input.write)
    var status: Int32 = 0
    while unsafe waitpid(number, &status, 0) == -1, errno == EINTR {}
    guard status == 0 else { throw ImportFault("no identity of age opens it", .wrongKey) }
    var opened = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe read(output.read, &opened, opened.count)
    return Array(opened.prefix(max(count, 0)))
  }

  private static func pipe() -> (read: Int32, write: Int32)? {
    var ends: [Int32] = [-1, -1]
    guard unsafe Glibc.pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}
