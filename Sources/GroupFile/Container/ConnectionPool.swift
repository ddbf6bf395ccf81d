internal import CSQLite
internal import Glibc

/// The connections of this process: per file, known by device and inode, its idle readers and one writer.
///
/// Whatever path led to the file, its connections are shared. Safe from any thread. A forked child starts with none.
package enum ConnectionPool {
  /// A connection to read with: an idle one, or a new one.
  ///
  /// - Throws: What `Connection.init` throws.
  package static func reader(at place: ContainerPlace) throws(GroupFileError) -> ConnectionLease {
    ConnectionLease(try connection(at: place, for: .reading), lock: nil)
  }

  /// The connection to write with, once it is this thread's turn in the process and the process's turn among all.
  ///
  /// - Parameter milliseconds: How long to wait for both, at most.
  /// - Throws: `busy` after that, and what `Connection.init` throws.
  package static func writer(
    at place: ContainerPlace, waiting milliseconds: Int = 10_000
  ) throws(GroupFileError) -> ConnectionLease {
    let lock = try WriterLock(at: place, waiting: milliseconds)
    return ConnectionLease(try connection(at: place, for: .writing), lock: lock)
  }

  /// Closes the idle connections to the file at `place`: before its folder is moved away or removed.
  package static func closeIdle(at place: ContainerPlace) {
    ConnectionTable.shared.close { $0.location == place }
  }

  private static func connection(
    at place: ContainerPlace, for access: Connection.Access
  ) throws(GroupFileError) -> Connection {
    let identity = try place.identity()
    while let idle = ConnectionTable.shared.take(identity, access) {
      // Somebody may have kept the connection longer than his lease.
      guard idle.isReusable else {
        idle.close()
        continue
      }
      do throws(GroupFileError) {
        try idle.prepareReuse()
        return idle
      } catch {
        idle.close()
        // The folder was exchanged just now.
        guard error == .moved else { throw error }
      }
    }
    // What is open at this path and is another file was replaced; nobody will ask for it again.
    ConnectionTable.shared.close { $0.location == place && $0.identity != identity }
    do throws(GroupFileError) {
      return try Connection(at: place, access: access)
    } catch {
      // Whoever put another file in the place of this one has done so by now.
      guard error == .moved else { throw error }
      return try Connection(at: place, access: access)
    }
  }
}

/// A connection lent by the pool until the lease ends; what is in no state to be used again is closed then.
package struct ConnectionLease: ~Copyable {
  package let connection: Connection
  private let lock: WriterLock?

  init(_ connection: Connection, lock: consuming WriterLock?) {
    self.connection = connection
    self.lock = lock
  }

  deinit {
    // The lock ends after this: the next writer finds the connection idle.
    connection.rollback()
    if connection.isReusable { ConnectionTable.shared.keep(connection) } else { connection.close() }
  }
}

/// What this process has open: its idle connections, the files that are open at all, and the writers' turns.
///
/// SQLite keeps one record per file and process of the locks it holds, and a forked child inherits the record without
/// the locks. Idle connections are therefore closed before a fork; a file that is open even so stays closed to the child.
@safe final class ConnectionTable: @unchecked Sendable {
  private struct Idle {
    let connection: Connection
    let access: Connection.Access
  }

  // A pthread mutex, because it has to be held across a fork: the child would inherit it locked by another thread.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  // In the order of their return.
  private var idle: [Idle] = []
  // Arrays, because they are short, and a process that reads one item should not pay for hashing.
  private var open: [FileIdentity] = []
  private var inherited: [FileIdentity] = []
  private var turns: [(path: String, turn: WriterTurn)] = []

  /// The table of this process.
  static let shared = ConnectionTable()

  /// How many connections are kept open for nobody; each holds three or four descriptors.
  static let idleLimit = 24

  private init() {
    unsafe pthread_mutex_init(mutex, nil)
    // Handlers run in a child in the order in which they were set: handles must know first that they are the parent's.
    _ = csqlite_fork_generation()
    pthread_atfork(
      { ConnectionTable.shared.prepareFork() }, { ConnectionTable.shared.endFork() },
      { ConnectionTable.shared.endForkInChild() })
  }

  private func locked<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try body()
  }

  // MARK: Idle connections

  /// Takes out an idle connection to the file, if there is one.
  func take(_ identity: FileIdentity, _ access: Connection.Access) -> Connection? {
    locked {
      let index = idle.lastIndex { $0.connection.identity == identity && $0.access == access }
      return index.map { idle.remove(at: $0).connection }
    }
  }

  /// Keeps `connection`, which is in no transaction, for the next; the one unused for longest is closed if need be.
  func keep(_ connection: Connection) {
    let surplus = locked {
      idle.append(Idle(connection: connection, access: connection.access))
      return idle.count > ConnectionTable.idleLimit ? idle.removeFirst().connection : nil
    }
    surplus?.close()
  }

  /// Closes the idle connections that `isUnwanted` names.
  func close(where isUnwanted: (Connection) -> Bool) {
    let unwanted = locked {
      let unwanted = idle.filter { isUnwanted($0.connection) }
      idle.removeAll { isUnwanted($0.connection) }
      return unwanted
    }
    for entry in unwanted { entry.connection.close() }
  }

  /// The turn to write for whoever holds the lock file at `path`.
  func turn(at path: String) -> WriterTurn {
    locked {
      for known in turns where known.path == path { return known.turn }
      let turn = WriterTurn()
      turns.append((path, turn))
      return turn
    }
  }

  // MARK: Open files

  /// Notes that a connection to the file is about to open.
  ///
  /// - Throws: `storage` where the parent of this process had the file open when it forked.
  func willOpen(_ identity: FileIdentity) throws(GroupFileError) {
    try locked { () throws(GroupFileError) in
      guard !inherited.contains(identity) else { throw .storage(.forked) }
      open.append(identity)
    }
  }

  /// Notes that a connection to the file was closed.
  func didClose(_ identity: FileIdentity) {
    locked {
      if let index = open.lastIndex(of: identity) { open.remove(at: index) }
    }
  }

  // MARK: Fork

  private func prepareFork() {
    close { _ in true }
    unsafe pthread_mutex_lock(mutex)
  }

  private func endFork() { unsafe pthread_mutex_unlock(mutex) }

  private func endForkInChild() {
    inherited += open
    open = []
    turns = []
    // Empty but for what another thread gave back just now; it is left unclosed, like all that is the parent's.
    idle = []
    unsafe pthread_mutex_unlock(mutex)
  }
}
