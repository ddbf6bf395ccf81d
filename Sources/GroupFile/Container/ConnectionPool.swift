internal import CVaultSQLite
internal import Glibc

/// The connections of this process for each file (device and inode), and the writers' turns. Safe from any thread.
/// SQLite keeps one record of its locks per file and process, and a forked child inherits it without the locks. So idle
/// connections are closed before a fork, and the child cannot open a file that was still open then.
@safe package final class ConnectionPool: @unchecked Sendable {
  // A pthread mutex, because it must be held across a fork: otherwise the child could inherit it locked by another
  // thread.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  // In the order in which they were returned.
  private var idle: [Connection] = []
  // Arrays, because they are short, and a process that reads one item should not pay for hashing.
  private var open: [FileIdentity] = []
  private var inherited: [FileIdentity] = []
  // Closing one would end the locks of this process's connections to the file.
  private var toClose: [(file: FileIdentity, descriptor: CInt)] = []
  private var turns: [(path: String, turn: WriterTurn)] = []

  static let shared = ConnectionPool()

  /// How many idle connections are kept open; each holds four or five descriptors.
  package static let idleLimit = Locked(24)
  /// The number of turns that are kept although no thread may use them; each holds a descriptor.
  static let turnLimit = 32

  private init() {
    unsafe pthread_mutex_init(mutex, nil)
    // A child runs fork handlers in the order of registration, and handles must first learn that they are the parent's.
    _ = csqlite_fork_generation()
    pthread_atfork(
      { ConnectionPool.shared.prepareFork() }, { _ = unsafe pthread_mutex_unlock(ConnectionPool.shared.mutex) },
      { ConnectionPool.shared.endForkInChild() })
  }

  private func locked<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try body()
  }

  func isOpen(_ identity: FileIdentity) -> Bool { locked { open.contains(identity) } }

  /// Opens the file at `path`, whose locks are those of the group's `file`, for `body`, while no further connection opens.
  ///
  /// - Parameter body: gets the descriptor, which may be negative, and whether this process has connections that take locks.
  func withLockedFile(at path: String, of file: FileIdentity, _ body: (CInt, Bool) -> Int) -> Int {
    locked {
      let isOurs = open.contains(file)
      let descriptor = unsafe Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
      defer { if isOurs { toClose.append((file, descriptor)) } else { Glibc.close(descriptor) } }
      return body(descriptor, isOurs)
    }
  }

  /// A connection for reading: an idle one, or a new one, with the errors of `Connection.init`.
  package static func reader(at place: ContainerPlace) throws(VaultError) -> ConnectionLease {
    ConnectionLease(try shared.connection(at: place, for: .reading), lock: nil)
  }

  /// The connection for writing, once it is the turn of this thread in the process, and of the process among all.
  ///
  /// - Throws: `busy` after `milliseconds`; as `Connection.init`.
  package static func writer(
    at place: ContainerPlace, waiting milliseconds: Int = 10_000
  ) throws(VaultError) -> ConnectionLease {
    let lock = try WriterLock(at: place, waiting: milliseconds)
    return ConnectionLease(try shared.connection(at: place, for: .writing), lock: lock)
  }

  private func connection(at place: ContainerPlace, for access: Connection.Access) throws(VaultError) -> Connection {
    let identity = try place.identity()
    while let idle = takeIdle(identity, access) {
      // The previous user may have kept the connection beyond the lease.
      guard idle.isReusable else {
        idle.close()
        continue
      }
      do throws(VaultError) {
        try idle.prepareReuse()
        return idle
      } catch {
        idle.close()
        throw error
      }
    }
    // A connection to another file of this path is never used again, because its file was replaced.
    close { $0.location == place && $0.identity != identity }
    for _ in 0..<4 {
      do throws(VaultError) { return try Connection(at: place, access: access) } catch {
        // Whoever replaced this file has finished by now.
        guard error == .storage(.replaced) else { throw error }
      }
    }
    return try Connection(at: place, access: access)
  }

  // MARK: Idle connections

  private func takeIdle(_ identity: FileIdentity, _ access: Connection.Access) -> Connection? {
    locked {
      let index = idle.lastIndex { $0.identity == identity && $0.access == access }
      return index.map { idle.remove(at: $0) }
    }
  }

  /// Keeps `connection`, which has no open transaction, for reuse; beyond the limit, the one unused for longest is
  /// closed.
  func keep(_ connection: Connection) {
    let surplus = locked {
      idle.append(connection)
      return idle.count > ConnectionPool.idleLimit.withLock(\.self) ? idle.removeFirst() : nil
    }
    surplus?.close()
  }

  /// Closes the idle connections to the file at `place`, before its folder is moved away or removed.
  package static func closeIdle(at place: ContainerPlace) { shared.close { $0.location.path == place.path } }

  /// Closes all idle connections and lock files in `folder`, a canonical path, because the groups in it will not be
  /// used again at their present paths.
  package static func forget(inside folder: String) {
    // Threads that hold such a turn or wait for it keep it: only the path's next user gets a new one. The lock on the
    // file itself excludes one from the other.
    _ = shared.locked {
      let forgotten = shared.turns.filter { CanonicalPath.isInside($0.path, folder) }
      shared.turns.removeAll { CanonicalPath.isInside($0.path, folder) }
      return forgotten
    }
    shared.close { CanonicalPath.isInside($0.location.folder, folder) }
  }

  private func close(where isUnwanted: (Connection) -> Bool) {
    let unwanted = locked {
      let unwanted = idle.filter(isUnwanted)
      idle.removeAll(where: isUnwanted)
      return unwanted
    }
    for connection in unwanted { connection.close() }
  }

  /// What lets this process's threads write in turn, for the lock file at `path`.
  func turn(at path: String) -> WriterTurn {
    locked {
      for known in turns where known.path == path { return known.turn }
      // Forget those that no thread uses.
      if turns.count >= ConnectionPool.turnLimit {
        for index in turns.indices.reversed() where isKnownUniquelyReferenced(&turns[index].turn) {
          turns.remove(at: index)
        }
      }
      let turn = WriterTurn()
      turns.append((path, turn))
      return turn
    }
  }

  // MARK: Open files

  /// Records that a connection to the file is about to open.
  ///
  /// - Parameter takesLocks: whether it will have SQLite's locks; otherwise closing the file elsewhere ends none of its.
  /// - Throws: `storage` if the parent of this process had the file open when it forked.
  func willOpen(_ identity: FileIdentity, takesLocks: Bool) throws(VaultError) {
    try locked { () throws(VaultError) in
      guard !inherited.contains(identity) else { throw .storage(.forked) }
      if takesLocks { open.append(identity) }
    }
  }

  func didClose(_ identity: FileIdentity, tookLocks: Bool) {
    locked {
      guard tookLocks, let index = open.lastIndex(of: identity) else { return }
      open.remove(at: index)
      guard !open.contains(identity) else { return }
      for kept in toClose where kept.file == identity { Glibc.close(kept.descriptor) }
      toClose.removeAll { $0.file == identity }
    }
  }

  // MARK: Fork

  private func prepareFork() {
    close { _ in true }
    unsafe pthread_mutex_lock(mutex)
  }

  private func endForkInChild() {
    inherited += open
    (open, toClose, turns) = ([], [], [])
    // The list was emptied before the fork, but another thread of the parent may have returned a connection since. Like
    // everything of the parent, it must not be closed here.
    idle = []
    unsafe pthread_mutex_unlock(mutex)
  }
}

/// A connection lent by the pool until the lease ends. It is closed then if it cannot be used again.
package struct ConnectionLease: ~Copyable {
  package let connection: Connection
  private let lock: WriterLock?

  init(_ connection: Connection, lock: consuming WriterLock?) {
    self.connection = connection
    self.lock = lock
  }

  deinit {
    // Before the lock is released, so that the next writer finds the connection idle.
    connection.rollback()
    // A file that was replaced while it was read is not held open any longer.
    let isWanted = connection.isReusable && !connection.location.hasLost(connection.identity)
    if isWanted { ConnectionPool.shared.keep(connection) } else { connection.close() }
  }
}
