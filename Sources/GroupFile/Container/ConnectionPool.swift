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
