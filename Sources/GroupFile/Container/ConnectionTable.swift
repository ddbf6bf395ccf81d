internal import CSQLite
internal import Glibc

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
