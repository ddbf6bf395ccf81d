#if Daemon
  /// The commits of one access group, in the one order that a server far away keeps for all hosts.
  ///
  /// The log stores bytes and orders them. It proves nothing: whoever reads a commit, a head or a base checks its signatures
  /// before they use it. Each call ends by itself, at the latest when its time limit is over.
  protocol CommitLog: Sendable {
    /// The newest commit's epoch and link.
    ///
    /// - Returns: `nil` if the group was never published here.
    /// - Throws: ``LogError/damaged(_:)`` with the revision that ``replaceHead(at:with:link:)`` needs, and the errors of
    ///   every call: ``LogError/unavailable``, ``LogError/refused``, ``LogError/malformed``.
    func head() async throws(LogError) -> LogHead?

    /// The time by the servers' clocks, in milliseconds since 1970: the latest that one of them tells. Nothing proves it.
    ///
    /// - Returns: `nil` if none tells it.
    func time() async -> UInt64?

    /// Stores `commit` and makes it the head, both or neither.
    ///
    /// If an answer does not arrive, the call finds out by itself whether the commit was stored, and sends the same bytes
    /// again if it was not.
    ///
    /// - Parameters:
    ///   - commit: of any epoch above that of `head`; the next one, if the log is to have no gap.
    ///   - head: what must still be the head.
    ///   - occupant: the revision of a commit of the same epoch that does not prove, as ``LogError/occupied(_:)`` told.
    ///     It is replaced.
    /// - Returns: the head that `commit` became. By now another one may have followed it.
    /// - Throws: ``LogError/conflict(_:)`` if the head is another one, ``LogError/occupied(_:)`` if there is a commit of this
    ///   epoch although the head is `head`, ``LogError/outcomeUnknown`` if the time limit was over before it was known, and
    ///   ``LogError/tooLarge(limit:)``. After each of them but `outcomeUnknown` the commit is not in the log, and will not be.
    func append(
      _ commit: LoggedCommit, after head: LogHead, over occupant: LogRevision?
    ) async throws(LogError) -> LogHead

    /// The commits that follow `epoch`, in order and without gaps, up to the head.
    ///
    /// - Parameter limit: the most commits. There can be fewer, because an answer's bytes are limited too.
    /// - Returns: none only if `epoch` is the head's or above it.
    /// - Throws: ``LogError/baseNeeded`` if the next commit is not there, ``LogError/damaged(_:)`` if it cannot be read.
    func commits(after epoch: UInt64, limit: Int) async throws(LogError) -> [StoredCommit]

    /// What happens from `head` on, over lost connections and changes of server, until the caller stops listening.
    ///
    /// - Parameter head: `nil` tells the present head first, if there is one.
    func watch(after head: LogHead?) -> AsyncThrowingStream<LogEvent, any Error>

    /// What the newest base is.
    ///
    /// - Returns: `nil` if there is none.
    func base() async throws(LogError) -> LogBase?

    /// Reads a base in pieces of at most ``LogLimits/part`` bytes. No more than a few of them are in memory at once.
    ///
    /// - Parameter consume: throws ``LogError/stopped`` to end the call.
    /// - Throws: ``LogError/baseReplaced`` if there is a newer one by now; start again with that.
    func readBase(
      _ base: LogBase, _ consume: @Sendable (_ piece: [UInt8]) async throws(LogError) -> Void
    ) async throws(LogError)

    /// Makes a complete file the base and the head, both or neither: it begins the log of a group, or it is a state that
    /// no commit can describe, such as one under a new key. Any other base is replaced.
    ///
    /// - Parameters:
    ///   - head: what must still be the head; `nil` if the group must have no log.
    ///   - pieces: see ``putBase(epoch:link:replacing:keeping:pieces:)``.
    /// - Returns: the head that the file became. By now a commit may have followed it.
    /// - Throws: ``LogError/conflict(_:)`` if the head is another one, ``LogError/outcomeUnknown`` if it is not known
    ///   whether the file was one before.
    func publish(
      epoch: UInt64, link: CommitLink, after head: LogHead?, pieces: BasePieces
    ) async throws(LogError) -> LogHead

    /// Replaces the base by a newer one, then removes the commits that nobody needs any more, and after a day the parts
    /// that nothing names.
    ///
    /// - Parameters:
    ///   - base: what must still be the base.
    ///   - margin: how many commits at and below the base's epoch stay, for hosts that are a little behind.
    ///   - pieces: the base's bytes.
    /// - Throws: ``LogError/baseReplaced`` if another base is there; it stays.
    func putBase(
      epoch: UInt64, link: CommitLink, replacing base: LogBase?, keeping margin: UInt64, pieces: BasePieces
    ) async throws(LogError) -> LogBase

    /// Replaces a head that does not prove, or writes one where it is missing.
    ///
    /// - Parameter revision: of the head that was found; `nil` if there was none.
    /// - Throws: ``LogError/conflict(_:)`` if the head is another one by now.
    func replaceHead(
      at revision: LogRevision?, with epoch: UInt64, link: CommitLink
    ) async throws(LogError) -> LogHead

    /// Whether each commit above `epoch` up to `head` is there, and was written once: after the one before it, and not after
    /// the head. Their contents are not looked at.
    func isWhole(from epoch: UInt64, to head: LogHead) async throws(LogError) -> Bool
  }

  /// The bytes of a base, piece by piece: piece 0, 1 and so on, each of ``LogLimits/part`` bytes except the last, then `nil`.
  /// A piece can be asked for again. It throws ``LogError/stopped`` to end the call.
  typealias BasePieces = @Sendable (_ index: Int) async throws(LogError) -> [UInt8]?

  /// 32 bytes that name a commit and all that came before it.
  struct CommitLink: Sendable, Hashable {
    static let byteCount = 32
    let bytes: [UInt8]

    /// - Returns: `nil` unless there are 32 bytes.
    init?(_ bytes: some Sequence<UInt8>) {
      let bytes = Array(bytes)
      guard bytes.count == Self.byteCount else { return nil }
      self.bytes = bytes
    }
  }

  /// When a key of the log was last written, as the server counts. Only the log that gave it can use it.
  struct LogRevision: Sendable, Hashable {
    let number: Int64
  }

  /// The newest commit of a log.
  struct LogHead: Sendable, Hashable {
    let epoch: UInt64
    let link: CommitLink
    let revision: LogRevision
  }

  /// A commit as the log sees it.
  struct LoggedCommit: Sendable, Hashable {
    let epoch: UInt64
    let link: CommitLink
    let bytes: [UInt8]
  }

  /// A commit that was read from the log.
  struct StoredCommit: Sendable, Hashable {
    let commit: LoggedCommit
    let revision: LogRevision
  }

  /// A compacted file that stands for all commits up to its epoch.
  struct LogBase: Sendable, Hashable {
    let epoch: UInt64
    let link: CommitLink
    let byteCount: UInt64
    let revision: LogRevision
  }

  /// What a watch tells.
  enum LogEvent: Sendable, Equatable {
    /// A commit was written. One at the head is followed by ``head(_:)`` with the same revision.
    case commit(StoredCommit)
    case head(LogHead)
    /// A commit was removed, as a new base does with those that nobody needs any more.
    case commitRemoved(epoch: UInt64)
    /// Somebody removed the head.
    case headRemoved
    /// The base was replaced or removed.
    case baseChanged
    /// A head or a commit was written that cannot be read.
    case damaged(LogDamage)
    /// Some events are lost: the server has forgotten them, or was set back. Read ``CommitLog/head()`` and the commits
    /// again. The watch goes on from now.
    case lostPlace
  }

  /// What on the server cannot be read.
  struct LogDamage: Sendable, Hashable {
    enum Place: Sendable, Hashable {
      case head, base
      case commit(epoch: UInt64)
    }

    let place: Place
    let revision: LogRevision
  }

  /// Why a call to a log failed.
  enum LogError: Error, Equatable {
    /// The head is another one.
    case conflict(LogHead?)
    /// There is a commit of this epoch, which the head does not count.
    case occupied(StoredCommit)
    /// It is not known whether the change was made.
    case outcomeUnknown
    /// No server could be reached, or none answered in time. Nothing was changed.
    case unavailable
    /// The login or a permission was refused.
    case refused
    /// A server's certificate is not trusted, or ours cannot be used.
    case untrusted
    /// The bytes are too many for a commit or base, or the server's limit for one request is below a part's size.
    case tooLarge(limit: Int)
    /// The server has no room left.
    case full
    /// The commits that were asked for are no longer there.
    case baseNeeded
    /// There is another base by now.
    case baseReplaced
    /// What is stored is no head, commit or base.
    case damaged(LogDamage)
    /// A server answered with something that is no answer.
    case malformed
    /// The caller's closure ended the call.
    case stopped
  }

  /// The sizes that a log accepts, in bytes.
  enum LogLimits {
    /// Larger commits and bases go up in parts of this size.
    static let part = 1_048_576
    static let commit = 64 * part
    static let base = 4_096 * part
  }
#endif
