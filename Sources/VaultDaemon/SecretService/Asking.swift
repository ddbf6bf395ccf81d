#if Daemon
  import CVaultSystem
  import Foundation
  import ServiceLifecycle
  import Synchronization
  import VaultFoundation

  /// Asks the person at the machine, one question at a time: through pinentry, or on the daemon's own terminal. Where
  /// nobody can be asked, the answer is no. The daemon's end is the end of all questions.
  actor Asking: Service {
    /// The path of pinentry; `nil` if there is none, or nothing to show it on.
    private let pinentry: String?
    private let terminal: String?
    /// The questions that wait for the one that is asked, in their order.
    private var queue: [(number: Int, turn: CheckedContinuation<Bool, Never>)] = []
    private var lastNumber = 0
    private var isBusy = false
    private var hasEnded = false
    private var cancelQuestion: (@Sendable () -> Void)?
    /// How many questions each caller waits for.
    private var counts: [String: Int] = [:]

    /// The most questions that one caller waits for.
    static let limit = 4

    init(pinentry: String? = nil, terminal: String? = nil) { (self.pinentry, self.terminal) = (pinentry, terminal) }

    /// Finds what there is to ask with.
    ///
    /// - Parameter named: the program that the command line names.
    init(named: String?, environment: [String: String]) {
      let tty = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
      if tty >= 0 { close(tty) }
      terminal = tty >= 0 ? "/dev/tty" : nil
      let hasDisplay = environment["WAYLAND_DISPLAY"] != nil || environment["DISPLAY"] != nil
      let found = (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/pinentry" }
        .first { FileManager.default.isExecutableFile(atPath: $0) }
      pinentry = named ?? (hasDisplay ? found : nil)
    }

    func run() async {
      try? await gracefulShutdown()
      end()
    }

    /// Ends the question that is asked, and answers all others with no.
    func end() {
      hasEnded = true
      cancelQuestion?()
      for waiting in queue { waiting.turn.resume(returning: false) }
      queue = []
    }

    /// Asks on behalf of a caller, who may wait for few questions at a time.
    func confirm(_ question: String, for caller: String) async -> Bool {
      guard counts[caller, default: 0] < Self.limit else { return false }
      counts[caller, default: 0] += 1
      defer {
        let left = counts[caller, default: 1] - 1
        counts[caller] = left > 0 ? left : nil
      }
      return await confirm(question)
    }

    /// - Returns: whether the answer is yes.
    func confirm(_ question: String) async -> Bool {
      let plain = BusItem.withoutControls(question)
      let answer = await inTurn { [pinentry, terminal] in
        if let pinentry { return await Pinentry(program: pinentry).ask(plain, isSecret: false) }
        guard let terminal else { return nil }
        var hint = ""
        let question = TerminalQuestion(path: terminal)
        while let typed = await question.ask("vaultd: \(plain) [y/N] \(hint)", isSecret: false) {
          switch String(decoding: typed.bytes, as: UTF8.self).lowercased() {
          case "y", "yes": return typed
          case "", "n", "no": return nil
          default: hint = "(yes or no) "
          }
        }
        return nil
      }
      return answer != nil
    }

    /// - Returns: what somebody typed; `nil` if nobody did.
    func passphrase(_ question: String) async -> TypedBytes? {
      let plain = BusItem.withoutControls(question)
      return await inTurn { [pinentry, terminal] in
        if let pinentry { return await Pinentry(program: pinentry).ask(plain, isSecret: true) }
        guard let terminal else { return nil }
        return await TerminalQuestion(path: terminal).ask("vaultd: \(plain)\npassphrase: ", isSecret: true)
      }
    }

    /// - Returns: what `body` returns; `nil` if it did not begin because nobody waits for it any more.
    private func inTurn(_ body: @escaping @Sendable () async -> TypedBytes?) async -> TypedBytes? {
      guard await hasTurn() else { return nil }
      defer { endTurn() }
      guard !Task.isCancelled, !hasEnded else { return nil }
      let task = Task { await body() }
      cancelQuestion = { task.cancel() }
      return await withTaskCancellationHandler {
        await task.value
      } onCancel: {
        task.cancel()
      }
    }

    /// Waits for the turn; false if the task is cancelled before.
    private func hasTurn() async -> Bool {
      guard !hasEnded, !Task.isCancelled else { return false }
      guard isBusy else {
        isBusy = true
        return true
      }
      lastNumber += 1
      let number = lastNumber
      return await withTaskCancellationHandler {
        await withCheckedContinuation { queue.append((number, $0)) }
      } onCancel: {
        Task { await leave(number) }
      }
    }

    private func leave(_ number: Int) {
      guard let index = queue.firstIndex(where: { $0.number == number }) else { return }
      queue.remove(at: index).turn.resume(returning: false)
    }

    private func endTurn() {
      cancelQuestion = nil
      guard queue.isEmpty else { return queue.removeFirst().turn.resume(returning: true) }
      isBusy = false
    }
  }

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

  /// The program pinentry of GnuPG, which draws the question where the person is.
  private struct Pinentry {
    let program: String

    /// - Returns: `nil` if the answer is no; nothing typed if nothing was asked for.
    func ask(_ question: String, isSecret: Bool) async -> TypedBytes? {
      let (input, output) = (Pipe(), Pipe())
      // Assuan: one line for each command, and one status for each.
      let commands = [
        "SETTITLE vaultd", "SETDESC " + question.replacingOccurrences(of: "%", with: "%25"), "SETPROMPT Passphrase:",
        isSecret ? "GETPIN" : "CONFIRM", "BYE", "",
      ]
      let started = start(input, output)
      try? input.fileHandleForReading.close()
      try? output.fileHandleForWriting.close()
      guard let number = started else { return nil }
      let reading = output.fileHandleForReading
      let answer = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          Thread.detachNewThread {
            try? input.fileHandleForWriting.write(contentsOf: Data(commands.joined(separator: "\n").utf8))
            try? input.fileHandleForWriting.close()
            continuation.resume(returning: Self.answer(readFrom: reading.fileDescriptor, question: 3))
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
      return answer
    }

    /// Starts the program in a process group of its own, without the daemon's descriptors.
    ///
    /// Foundation's Process looks for the highest descriptor, and reads beyond the end of their list if there are more than
    /// a thousand (swift-corelibs-foundation#5472).
    ///
    /// - Returns: its number; `nil` if it cannot be started.
    private func start(_ input: Pipe, _ output: Pipe) -> pid_t? {
      for handle in [input, output].flatMap({ [$0.fileHandleForReading, $0.fileHandleForWriting] }) {
        _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
      }
      // Libraries leave further descriptors open on exec.
      csystem_close_on_exec(STDERR_FILENO + 1)
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
      let variables = unsafe ProcessInfo.processInfo.environment.map { unsafe strdup("\($0)=\($1)") }
      let name = unsafe strdup(program)
      defer { unsafe free(name) }
      defer { for index in unsafe variables.indices { unsafe free(variables[index]) } }
      var number: pid_t = 0
      let code = unsafe posix_spawn(&number, program, &actions, &attributes, [name, nil], variables + [nil])
      return code == 0 ? number : nil
    }

    /// The answer in what pinentry writes, of which no copy is left in memory.
    private static func answer(readFrom descriptor: CInt, question: Int) -> TypedBytes? {
      var text = [UInt8](repeating: 0, count: 64 * 1_024)
      defer { unsafe explicit_bzero(&text, text.count) }
      var count = 0
      while count < text.count {
        let read = unsafe text.withUnsafeMutableBytes { space in
          unsafe Glibc.read(descriptor, space.baseAddress! + count, space.count - count)
        }
        if read < 0, errno == EINTR { continue }
        guard read > 0 else { break }
        count += read
      }
      return answer(in: text[..<count], question: question)
    }

    /// The answer in what pinentry wrote: the greeting, and one status for each command.
    ///
    /// - Parameter question: the number of commands before the question.
    private static func answer(in text: ArraySlice<UInt8>, question: Int) -> TypedBytes? {
      var (statuses, typed): (Int, [UInt8]) = (0, [])
      for line in text.split(separator: UInt8(ascii: "\n")) {
        if line.starts(with: Array("D ".utf8)) {
          typed = unescaped(line.dropFirst(2))
        } else if line.starts(with: Array("OK".utf8)) || line.starts(with: Array("ERR".utf8)) {
          statuses += 1
          if statuses == question + 2 { return line.starts(with: Array("OK".utf8)) ? TypedBytes(typed) : nil }
        }
      }
      return nil
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

  /// A question on a terminal.
  private struct TerminalQuestion {
    let path: String

    /// - Returns: the line that was typed, without its end; `nil` if there was none.
    func ask(_ question: String, isSecret: Bool) async -> TypedBytes? {
      let isCancelled = Cancellation()
      return await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          Thread.detachNewThread {
            continuation.resume(returning: read(question, isSecret: isSecret, unless: isCancelled))
          }
        }
      } onCancel: {
        isCancelled.flag.store(true, ordering: .releasing)
      }
    }

    private final class Cancellation: Sendable {
      let flag = Atomic(false)
    }

    private func read(_ question: String, isSecret: Bool, unless isCancelled: Cancellation) -> TypedBytes? {
      let terminal = unsafe open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
      guard terminal >= 0 else { return nil }
      defer { close(terminal) }
      // In the background, a shell would take the answer for a command, and reading would stop the daemon.
      guard tcgetpgrp(terminal) == getpgrp() else { return nil }
      var settings = termios()
      let hasSettings = unsafe tcgetattr(terminal, &settings) == 0
      var silent = settings
      silent.c_lflag &= ~tcflag_t(ECHO)
      if isSecret, hasSettings { _ = unsafe tcsetattr(terminal, TCSAFLUSH, &silent) }
      defer {
        if isSecret, hasSettings, tcgetpgrp(terminal) == getpgrp() {
          _ = unsafe tcsetattr(terminal, TCSAFLUSH, &settings)
        }
      }
      // What was typed before the question is no answer to it.
      tcflush(terminal, TCIFLUSH)
      _ = unsafe write(terminal, question, question.utf8.count)
      while !isCancelled.flag.load(ordering: .acquiring) {
        var wait = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
        let isReadable = unsafe poll(&wait, 1, 200) > 0
        guard tcgetpgrp(terminal) == getpgrp() else { return nil }
        guard isReadable else { continue }
        var line = [UInt8](repeating: 0, count: 4_096)
        defer { unsafe explicit_bzero(&line, line.count) }
        let count = unsafe Glibc.read(terminal, &line, line.count)
        _ = unsafe write(terminal, "\n", isSecret ? 1 : 0)
        guard count > 0 else { return nil }
        return TypedBytes(Array(line[..<count].prefix { $0 != UInt8(ascii: "\n") }))
      }
      return nil
    }
  }
#endif
