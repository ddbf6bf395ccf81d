/// The only writer of a group file: holds the lock, and an immediate transaction unless it reads alone, until it ends.
final class WriteSession {
  let connection: Connection
  let file: AccessGroupFile
  /// `nil` once the session has ended.
  private var lease: ConnectionLease?
  private var isCommitted = false
  private var isReplaced = false
  private var isPublished = false
  /// Whether other hosts may know of the state that the session makes.
  private(set) var hasBegunPublishing = false
  /// Whether the write-ahead log must be emptied, because it holds bytes that were freed.
  var frees = false
  /// Whether free pages are returned to the file system when the session ends.
  var vacuums = false
  private(set) var vacuumFailure: VaultError?
  /// Gets each state of a published group before it becomes durable here, with the rows that make it.
  private var publishing: (publisher: any CommitPublishing, draft: GroupCommit.Draft)?

  /// - Parameter isAlone: whether the session can only put a new file in the place of this one. It uses no index or lock that
  ///   others may write or replace, so what they have written meanwhile is looked for at the end.
  init(of file: AccessGroupFile, alone isAlone: Bool = false) throws(VaultError) {
    self.file = file
    let place = try file.resolvedPlace()
    let lock = isAlone ? try WriterLock(at: place) : nil
    let lease = try isAlone ? ConnectionLease(file.openAlone(), lock: lock) : ConnectionPool.writer(at: place)
    connection = lease.connection
    try connection.begin(isAlone ? .reading : .immediate)
    self.lease = consume lease
  }

  /// A session that can prove changes of a reader's view, but not write them.
  init(of file: AccessGroupFile, proving view: Snapshot) { (self.file, connection) = (file, view.connection) }

  deinit { end() }

  /// Has the session's changes published if `state`, or the state that is to follow it, is.
  ///
  /// - Throws: `unordered(.notHere)` if nothing here can publish them.
  func prepare(after state: VerifiedState, publishing isWanted: Bool = false) throws(VaultError) {
    guard state.isPublished || isWanted else { return }
    guard let publisher = file.publisher() else { throw .unordered(.notHere) }
    publishing = (publisher, GroupCommit.Draft())
  }

  func note(_ row: Row, _ blob: [UInt8]?) throws(VaultError) { try publishing?.draft.add(row, blob) }

  /// Makes `state`, which the transaction has stored, the group's next state for all hosts, if the group is published.
  ///
  /// - Throws: as `CommitPublishing`; nothing is changed then, except that `outcomeUnknown` leaves this unknown.
  func publish(_ state: VerifiedState, after old: VerifiedState) throws(VaultError) {
    guard let publishing else { return }
    let commit = try GroupCommit(from: old, to: state, publishing.draft, connection)
    hasBegunPublishing = true
    try publishing.publisher.publishOnce(commit)
    isPublished = true
  }

  /// Signs `manifest`, writes it and its link of the chain, publishes it if the group is published, and makes the state
  /// durable.
  func commit(_ manifest: Manifest, after old: VerifiedState) throws(VaultError) -> VerifiedState {
    let seed = file.context.seed
    let sealed = SignedManifest.seal(manifest, by: try sealing(seed.signingKey()), with: old.keys)
    try connection.storePart(.manifest, sealed)
    try connection.appendChain(manifest.epoch, manifest.rest())
    let state = VerifiedState(
      keys: old.keys, signedRoster: old.signedRoster, manifest: manifest, member: old.member, sealedManifest: sealed,
      sealedRoster: old.sealedRoster, as: seed)
    try publish(state, after: old)
    try commit()
    return state
  }

  func commit() throws(VaultError) {
    do throws(VaultError) { try connection.commit() } catch {
      // The other hosts have the change, and this one gets it with the next commits.
      throw isPublished ? .storage(.unconfirmed) : error
    }
    isCommitted = true
  }

  /// Puts the complete file in `draft` in the group's place. A session alone cannot keep others from writing to the old
  /// file, so it looks at it before and afterwards, and keeps it at `kept` with `DraftPlaces.lockedMark` if it has
  /// another state. On any error but `unconfirmed` the group is unchanged.
  func exchange(
    for draft: GroupDraft, holding state: VerifiedState, after old: VerifiedState, keeping kept: String
  ) throws(VaultError) {
    guard try !connection.hasMoved() else { throw .storage(.replaced) }
    guard !connection.isAlone || file.unwitnessed().holdsOnly(old) else { throw .busy(group: nil) }
    // Whatever fails now, this connection is not used for another file.
    isReplaced = true
    let kept = connection.isAlone ? kept + DraftPlaces.lockedMark : kept
    _ = try file.put(draft, holding: state, after: old, keeping: kept, dropping: !connection.isAlone)
    // Nothing is exchanged back: others may have read the new file, and written to it.
    if connection.isAlone, file.unwitnessed(in: kept).holdsOnly(old) { try? NewName.give(draft.folder, to: kept) }
  }

  /// Ends the session: rolls back uncommitted changes, checkpoints if necessary, and admits the next writer.
  func end(_ state: VerifiedState? = nil) {
    guard lease != nil else { return }
    defer { lease = nil }
    if !isCommitted { connection.rollback() }
    if let state { file.know(state) }
    if isReplaced { return connection.close() }
    // Committed changes are durable, and a later writer repeats a checkpoint that fails now.
    if vacuums { do throws(VaultError) { try connection.vacuum() } catch { vacuumFailure = error } }
    if frees || vacuums {
      // A short wait: other writers are waiting, and the reader that holds the log may be waiting for this very thread.
      try? connection.truncatingCheckpoint(waiting: 500)
    } else if isCommitted {
      try? connection.checkpointIfLarge()
    }
  }
}
