#if Daemon
  import Foundation
  import Logging
  import ServiceLifecycle
  import Synchronization
  import VaultFoundation

  /// Asks the person at the machine, one question at a time: through pinentry, or on the daemon's own terminal. Where
  /// nobody can be asked, the answer is no, and the log says why. The daemon's end is the end of all questions.
  actor Asking: Service {
    /// The path of pinentry; `nil` if there is none.
    private let pinentry: String?
    private let terminal: String?
    /// Whether pinentry has something to show its question on, as far as the daemon's own variables say.
    private let hasDisplay: Bool
    /// Whether the owner chose that pinentry, which may then need no display.
    private let isNamed: Bool
    /// The path of systemctl, which names a display that the daemon's own variables do not; `nil` not to look for one.
    private let systemctl: String?
    private let logger: Logger?
    /// The causes that the log already has.
    private var toldCauses: Set<String> = []
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

    /// What came of a question.
    enum Reply<Result: Sendable>: Sendable {
      /// When its turn came, it was not needed any more.
      case unneeded
      /// It was not asked, because nobody waits for it any more.
      case unasked
      case answered(Result)
    }

    init(pinentry: String? = nil, terminal: String? = nil, logger: Logger? = nil) {
      (self.pinentry, self.terminal, self.logger) = (pinentry, terminal, logger)
      (hasDisplay, isNamed, systemctl) = (pinentry != nil, true, nil)
    }

    /// Finds what there is to ask with.
    ///
    /// - Parameter named: the program that the command line names.
    init(named: String?, environment: [String: String], logger: Logger? = nil) {
      let tty = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
      if tty >= 0 { close(tty) }
      terminal = tty >= 0 ? "/dev/tty" : nil
      hasDisplay = environment["WAYLAND_DISPLAY"] != nil || environment["DISPLAY"] != nil
      func path(of program: String) -> String? {
        (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(program)" }
          .first { FileManager.default.isExecutableFile(atPath: $0) }
      }
      (pinentry, isNamed) = (named ?? path(of: "pinentry"), named != nil)
      systemctl = path(of: "systemctl")
      self.logger = logger
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

    // MARK: Questions

    /// Asks on behalf of a caller, who may wait for few questions at a time.
    func confirm(_ question: String, for caller: String, program: String) async -> Bool {
      guard counts[caller, default: 0] < Self.limit else { return false }
      counts[caller, default: 0] += 1
      defer {
        let left = counts[caller, default: 1] - 1
        counts[caller] = left > 0 ? left : nil
      }
      return await confirm(question, program: program)
    }

    /// - Returns: whether the answer is yes.
    func confirm(_ question: String, program: String = "") async -> Bool {
      await inTurn { await isAgreed(question, program) } ?? false
    }

    /// Asks a question that is made when its turn comes, because what it is about may have changed while it waited.
    ///
    /// - Parameters:
    ///   - program: for the log.
    ///   - question: the text, and what it is about; `nil` if there is nothing to ask any more.
    ///   - act: does what follows from the answer, before the next question has its turn. If nobody can be asked, the
    ///     answer is no.
    func confirm<Subject: Sendable, Result: Sendable>(
      program: String, _ question: @Sendable () async throws -> (text: String, subject: Subject)?,
      then act: @Sendable (Subject, Bool) async throws -> Result
    ) async throws -> Reply<Result> {
      try await inTurn { () async throws -> Reply<Result> in
        guard let (text, subject) = try await question() else { return .unneeded }
        return .answered(try await act(subject, await isAgreed(text, program)))
      } ?? .unasked
    }

    private func isAgreed(_ question: String, _ program: String) async -> Bool {
      let plain = BusItem.withoutControls(question)
      let answer = await answer(for: program) { pinentry, terminal in
        if let pinentry { return await pinentry.ask(plain, isSecret: false) }
        guard let terminal else { return .failed("") }
        var hint = ""
        while true {
          let given = await terminal.ask("vaultd: \(plain) [y/N] \(hint)", isSecret: false)
          guard case .typed(let typed) = given else { return given }
          switch String(decoding: typed.bytes, as: UTF8.self).lowercased() {
          case "y", "yes": return given
          case "", "n", "no": return .no
          default: hint = "(yes or no) "
          }
        }
      }
      return answer != nil
    }

    /// - Returns: what somebody typed; `nil` if nobody did.
    func passphrase(_ question: String, program: String = "") async -> TypedBytes? {
      let plain = BusItem.withoutControls(question)
      return await inTurn {
        await answer(for: program) { pinentry, terminal in
          if let pinentry { return await pinentry.ask(plain, isSecret: true) }
          guard let terminal else { return .failed("") }
          return await terminal.ask("vaultd: \(plain)\npassphrase: ", isSecret: true)
        }
      }
    }

    /// Asks with what there is to ask with.
    ///
    /// - Returns: `nil` if the answer is no, and if nobody could be asked, which is then in the log.
    private func answer(
      for program: String, _ ask: @escaping @Sendable (Pinentry?, TerminalQuestion?) async -> Given
    ) async -> TypedBytes? {
      let task = Task { [self] () -> Given in
        let (pinentry, terminal) = (await usablePinentry(), terminal.map { TerminalQuestion(path: $0) })
        guard pinentry != nil || terminal != nil else {
          let lacks = self.pinentry == nil ? "pinentry is not installed" : "there is no display for pinentry"
          return .failed("\(lacks), and vaultd has no terminal")
        }
        return await ask(pinentry, terminal)
      }
      cancelQuestion = { task.cancel() }
      let given = await withTaskCancellationHandler {
        await task.value
      } onCancel: {
        task.cancel()
      }
      // A program that was ended has not failed.
      guard !task.isCancelled else { return nil }
      switch given {
      case .typed(let typed):
        toldCauses = []
        return typed
      case .no:
        toldCauses = []
        return nil
      case .failed(let cause):
        if toldCauses.insert(cause).inserted {
          logger?.warning("nobody can be asked", metadata: ["cause": "\(cause)", "program": "\(program)"])
        }
        return nil
      }
    }

    /// The display may be there only since the person has logged in to a desktop, after the daemon's start.
    private func usablePinentry() async -> Pinentry? {
      guard let pinentry else { return nil }
      if hasDisplay { return Pinentry(program: pinentry) }
      let display = if let systemctl { await Pinentry.display(asking: systemctl) } else { [String: String]() }
      return isNamed || !display.isEmpty ? Pinentry(program: pinentry, display: display) : nil
    }

    // MARK: Turns

    /// - Returns: what `body` returns; `nil` if it did not begin because nobody waits for it any more.
    private func inTurn<Result: Sendable>(_ body: () async throws -> Result?) async rethrows -> Result? {
      guard await hasTurn() else { return nil }
      defer { endTurn() }
      guard !Task.isCancelled, !hasEnded else { return nil }
      return try await body()
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

  /// A question on a terminal.
  struct TerminalQuestion {
    let path: String

    private static let isElsewhere = Given.failed("another program has vaultd's terminal")

    /// - Returns: the line that was typed, without its end.
    func ask(_ question: String, isSecret: Bool) async -> Given {
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

    private func read(_ question: String, isSecret: Bool, unless isCancelled: Cancellation) -> Given {
      let terminal = unsafe open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
      guard terminal >= 0 else { return .failed("vaultd's terminal cannot be opened") }
      defer { close(terminal) }
      // In the background, a shell would take the answer for a command, and reading would stop the daemon.
      guard tcgetpgrp(terminal) == getpgrp() else { return Self.isElsewhere }
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
        guard tcgetpgrp(terminal) == getpgrp() else { return Self.isElsewhere }
        guard isReadable else { continue }
        var line = [UInt8](repeating: 0, count: 4_096)
        defer { unsafe explicit_bzero(&line, line.count) }
        let count = unsafe Glibc.read(terminal, &line, line.count)
        _ = unsafe write(terminal, "\n", isSecret ? 1 : 0)
        guard count > 0 else { return .no }
        return .typed(TypedBytes(Array(line[..<count].prefix { $0 != UInt8(ascii: "\n") })))
      }
      return .no
    }
  }
#endif
