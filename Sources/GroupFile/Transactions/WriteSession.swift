import Sealing

/// The one writer of a group file: holds the lock and an immediate transaction until it ends.
final class WriteSession {
  let connection: Connection
  private var lease: ConnectionLease?
  private let known: KnownState
  private var isOpen = true
  private var isCommitted = false
  /// Whether bytes were freed that should not stay in the write-ahead log.
  var frees = false
  /// Whether freed pages go back to the file system when the session ends.
  var vacuums = false

  init(at place: ContainerPlace, known: KnownState) throws(GroupFileError) {
    self.known = known
    let lease = try ConnectionPool.writer(at: place)
    connection = lease.connection
    try connection.begin(.immediate)
    self.lease = consume lease
  }

  deinit { end() }

  /// Signs `manifest` as `seed` and writes it with its link of the chain.
  func sign(
    _ manifest: Manifest, after state: VerifiedState, by seed: MemberSeed
  ) throws(GroupFileError) -> VerifiedState {
    let sealed = SignedManifest.seal(manifest, by: seed.signingKey(), with: state.keys)
    try connection.storePart(.manifest, sealed)
    try connection.appendChain(manifest.epoch, manifest.rest())
    return state.followed(by: manifest, sealed)
  }

  /// Makes the transaction durable.
  func commit() throws(GroupFileError) {
    try connection.commit()
    isCommitted = true
  }

  /// Ends the session: rolls back what was not committed, checkpoints where it is due, and lets the next writer in.
  func end(_ state: VerifiedState? = nil) {
    guard isOpen else { return }
    isOpen = false
    if !isCommitted { connection.rollback() }
    if let state { known.update(state) }
    // What was committed is durable: housekeeping that does not succeed now is done by a later writer.
    if vacuums { try? connection.vacuum() }
    if frees || vacuums {
      // Other writers wait meanwhile, and the reader that holds the log may be waiting for this very thread.
      try? connection.truncatingCheckpoint(waiting: 500)
    } else if isCommitted {
      try? connection.checkpointIfLarge()
    }
    lease = nil
  }

  /// Removes the group's folder with all that belongs to the group.
  func removeFiles() throws(GroupFileError) {
    connection.rollback()
    try connection.removeFiles()
    end()
  }
}
