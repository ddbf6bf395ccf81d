import Sealing
import Synchronization

/// One access group's file, opened as one member: begins verified reads and writes, from any thread.
package final class AccessGroupFile: Sendable {
  /// The folder that holds `group.vault`, its log and its lock.
  package let folder: String
  package let context: GroupContext
  let witness: any Witnessing
  let known = KnownState()
  let cache = NodeCache()
  /// The clock, milliseconds since 1970-01-01 UTC.
  let now: @Sendable () -> UInt64

  package init(
    folder: String, context: GroupContext, witness: any Witnessing, now: @escaping @Sendable () -> UInt64
  ) {
    self.folder = folder
    self.context = context
    self.witness = witness
    self.now = now
  }

  /// Whether there is a group file in `folder`.
  package static func exists(in folder: String) -> Bool { ConnectionPool.exists(folder: folder) }

  /// Begins a verified view of the newest state.
  ///
  /// - Throws: what the checks of a reader find, in the order of the format's rule 10.
  package func beginReading() throws(GroupFileError) -> ReadTransaction {
    let pool = try pool()
    // The witness first: read after the snapshot began, another process's newer witness would look like a rollback.
    let reading = witness.read()
    let connection = try pool.takeReader()
    do {
      try connection.begin(.reading)
      let snapshot = try snapshot(connection, reading, strict: false)
      return ReadTransaction(snapshot, pool)
    } catch {
      connection.rollback()
      pool.giveBack(connection)
      throw error
    }
  }

  /// Begins a change: waits for the lock, then makes every check of a read again inside it.
  ///
  /// - Throws: as `beginReading`; `busy` after ten seconds; `readOnlyMember`.
  package func beginWriting() throws(GroupFileError) -> WriteTransaction {
    let pool = try pool()
    let session = try WriteSession(pool, folder: folder, known: known)
    let view = try snapshot(session.connection, witness.read(), strict: true)
    try view.state.confirmRoster(session.connection)
    return try WriteTransaction(session, view, context: context, witness: witness, time: now())
  }


  /// The connections to the file that is in the folder now.
  ///
  /// - Throws: `rolledBack` where a file that this machine knows is gone, `missing` where none was known.
  func pool() throws(GroupFileError) -> ConnectionPool {
    do {
      return try ConnectionPool.at(folder: folder)
    } catch .missing {
      switch witness.read() {
      case .valid(let record) where !record.flags.contains(.removed):
        throw .rolledBack(found: 0, known: record.epoch, .vanished)
      case .invalid: throw .damaged(.witness, "neither record is valid")
      default: throw .missing
      }
    }
  }

  func snapshot(
    _ connection: Connection, _ reading: WitnessReading, strict: Bool
  ) throws(GroupFileError) -> Snapshot {
    let state = try VerifiedState.open(connection, as: context, known: known.newest)
    let outcome = try WitnessRule.check(state, against: reading, strict: strict, connection)
    known.update(state)
    var notices = outcome.notice.map { [$0] } ?? []
    if outcome.isAhead, let notice = state.raise(witness, gapSeen: outcome.gapSeen) { notices.append(notice) }
    return Snapshot(connection, state, cache, notices: notices)
  }
}

/// A verified view that gives its connection back when it ends.
package final class ReadTransaction: ItemReading {
  package let view: Snapshot
  private let pool: ConnectionPool

  init(_ view: Snapshot, _ pool: ConnectionPool) {
    self.view = view
    self.pool = pool
  }

  deinit {
    view.connection.rollback()
    pool.giveBack(view.connection)
  }

  package func provedDigest(of token: Token) throws(GroupFileError) -> Digest? { try view.digest(of: token) }
}

/// The newest state that this process verified of one group.
final class KnownState: Sendable {
  private let state = Mutex<VerifiedState?>(nil)

  var newest: VerifiedState? { state.withLock { $0 } }

  /// Keeps `new` unless a newer one is known.
  func update(_ new: VerifiedState) {
    state.withLock { state in
      guard state !== new else { return }
      state = new
    }
  }
}
