#if Daemon
  import CVaultProcess
  import Foundation
  import Synchronization
  import VaultFoundation

  /// What somebody typed, wiped at the end.
  final class TypedBytes: Sendable {
    private let stored: Mutex<[UInt8]>

    init(_ bytes: [UInt8]) { stored = Mutex(bytes) }

    deinit { stored.withLock { bytes in unsafe explicit_bzero(&bytes, bytes.count) } }

    var bytes: [UInt8] { stored.withLock { $0 } }

    func secret() throws(VaultError) -> Secret {
      try stored.withLock { (bytes) throws(VaultError) in try Secret(bytes) }
    }
  }

  /// What came of asking.
  enum Given: Sendable {
    /// Yes, with nothing typed if nothing was asked for.
    case typed(TypedBytes)
    case no
    /// Nobody could be asked.
    case failed(String)
  }

  /// The program pinentry of GnuPG, which draws the question where the person is.
  struct Pinentry {
    let program: String
    /// Variables that name a display, in place of the daemon's own.
    var display: [String: String] = [:]

    func ask(_ question: String, isSecret: Bool) async -> Given {
      // Assuan: one line for each command, and one status for each.
      let commands = [
        "SETTITLE vaultd", "SETDESC " + question.replacingOccurrences(of: "%", with: "%25"), "SETPROMPT Passphrase:",
        isSecret ? "GETPIN" : "CONFIRM", "BYE", "",
      ]
      let given = await Self.run(program, [], display, input: commands.joined(separator: "\n")) { descriptor in
        Self.answer(readFrom: descriptor, question: 3)
      }
      return given ?? .failed("pinentry (\(program)) cannot be started")
    }

    /// The variables that name a display, as the user's service manager has them. A desktop tells it when it starts.
    static func display(asking systemctl: String) async -> [String: String] {
      await run(systemctl, ["--user", "show-environment"], [:], input: "") { descriptor in
        var bytes = [UInt8](repeating: 0, count: 64 * 1_024)
        let text = String(decoding: bytes[..<read(descriptor, into: &bytes)], as: UTF8.self)
        return text.split(separator: "\n").reduce(into: [:]) { found, line in
          let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
          // A value that needs quotes is no display's.
          guard parts.count == 2, !parts[1].hasPrefix("$"),
            ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"].contains(parts[0])
          else { return }
          found[parts[0]] = parts[1]
        }
      } ?? [:]
    }

    /// Runs a program, whose group of processes ends with the task.
    ///
    /// - Parameter read: reads its output.
    /// - Returns: `nil` if it cannot be started.
    private static func run<Result: Sendable>(
      _ program: String, _ arguments: [String], _ variables: [String: String], input text: String,
      _ read: @escaping @Sendable (CInt) -> Result
    ) async -> Result? {
      let (input, output) = (Pipe(), Pipe())
      let started = start(program, arguments, variables, input, output)
      try? input.fileHandleForReading.close()
      try? output.fileHandleForWriting.close()
      guard let number = started else { return nil }
      let reading = output.fileHandleForReading
      let result = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          Thread.detachNewThread {
            try? input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
            try? input.fileHandleForWriting.close()
            continuation.resume(returning: read(reading.fileDescriptor))
          }
        }
      } onCancel: {
        // A script may have begun others, which hold its output open.
        if kill(-number, SIGKILL) != 0 { kill(number, SIGKILL) }
      }
      // A program that writes on and on ends with its next line.
      try? reading.close()
      var status: Int32 = 0
      while unsafe waitpid(number, &status, 0) == -1, errno == EINTR {}
      return result
    }

    /// Starts the program in a process group of its own, without the daemon's descriptors.
    ///
    /// Foundation's Process looks for the highest descriptor, and reads beyond the end of their list if there are more than
    /// a thousand (swift-corelibs-foundation#5472).
    ///
    /// - Returns: its number; `nil` if it cannot be started.
    private static func start(
      _ program: String, _ arguments: [String], _ variables: [String: String], _ input: Pipe, _ output: Pipe
    ) -> pid_t? {
      for handle in [input, output].flatMap({ [$0.fileHandleForReading, $0.fileHandleForWriting] }) {
        _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
      }
      // Libraries leave further descriptors open on exec.
      cprocess_close_on_exec(STDERR_FILENO + 1)
      var actions = unsafe posix_spawn_file_actions_t()
      unsafe posix_spawn_file_actions_init(&actions)
      defer { unsafe posix_spawn_file_actions_destroy(&actions) }
      unsafe posix_spawn_file_actions_adddup2(&actions, input.fileHandleForReading.fileDescriptor, STDIN_FILENO)
      unsafe posix_spawn_file_actions_adddup2(&actions, output.fileHandleForWriting.fileDescriptor, STDOUT_FILENO)
      unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
      var attributes = posix_spawnattr_t()
      unsafe posix_spawnattr_init(&attributes)
      defer { unsafe posix_spawnattr_destroy(&attributes) }
      // POSIX_SPAWN_SETSIGMASK, with no signal blocked, and SETPGROUP, which Swift does not import.
      unsafe posix_spawnattr_setflags(&attributes, 0x08 | 0x02)
      let environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
      let pairs = unsafe environment.map { unsafe strdup("\($0)=\($1)") }
      let words = unsafe ([program] + arguments).map { unsafe strdup($0) }
      defer { for index in unsafe pairs.indices { unsafe free(pairs[index]) } }
      defer { for index in unsafe words.indices { unsafe free(words[index]) } }
      var number: pid_t = 0
      let code = unsafe posix_spawn(&number, program, &actions, &attributes, words + [nil], pairs + [nil])
      return code == 0 ? number : nil
    }

    /// The answer in what pinentry writes, of which no copy is left in memory.
    private static func answer(readFrom descriptor: CInt, question: Int) -> Given {
      var text = [UInt8](repeating: 0, count: 64 * 1_024)
      defer { unsafe explicit_bzero(&text, text.count) }
      let count = read(descriptor, into: &text)
      return answer(in: text[..<count], question: question)
    }

    /// - Returns: how many bytes came before the end, or before `bytes` was full.
    private static func read(_ descriptor: CInt, into bytes: inout [UInt8]) -> Int {
      var count = 0
      while count < bytes.count {
        let read = unsafe bytes.withUnsafeMutableBytes { space in
          unsafe Glibc.read(descriptor, space.baseAddress! + count, space.count - count)
        }
        if read < 0, errno == EINTR { continue }
        guard read > 0 else { break }
        count += read
      }
      return count
    }

    /// The answer in what pinentry wrote: the greeting, and one status for each command.
    ///
    /// - Parameter question: the number of commands before the question.
    private static func answer(in text: ArraySlice<UInt8>, question: Int) -> Given {
      var (statuses, typed): (Int, [UInt8]) = (0, [])
      for line in text.split(separator: UInt8(ascii: "\n")) {
        if line.starts(with: Array("D ".utf8)) {
          typed = unescaped(line.dropFirst(2))
        } else if line.starts(with: Array("OK".utf8)) || line.starts(with: Array("ERR".utf8)) {
          statuses += 1
          guard statuses == question + 2 else { continue }
          if line.starts(with: Array("OK".utf8)) { return .typed(TypedBytes(typed)) }
          let words = String(decoding: line.prefix(200), as: UTF8.self).split(separator: " ")
          // 'canceled' and 'not confirmed' of pinentry; the rest are its failures.
          return words.count > 1 && ["83886179", "83886194"].contains(words[1])
            ? .no : .failed("pinentry failed: \(BusItem.withoutControls(words.joined(separator: " ")))")
        }
      }
      return .failed("pinentry ended without an answer")
    }

    private static func unescaped(_ line: ArraySlice<UInt8>) -> [UInt8] {
      var (bytes, rest): ([UInt8], ArraySlice<UInt8>) = ([], line)
      bytes.reserveCapacity(line.count)
      while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "%"), rest.count >= 2,
          let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
        else {
          bytes.append(byte)
          continue
        }
        bytes.append(code)
        rest = rest.dropFirst(2)
      }
      return bytes
    }
  }
#endif
