internal import Glibc

/// One access group's file, opened as one member: begins verified reads and writes, from any thread.
package final class AccessGroupFile: Sendable {
  /// The folder that holds `group.vault`, its log and its lock.
  package let folder: String
  package let context: GroupContext
  let folderOwner: UInt32?
  let witness: any Witnessing
  let confirm: (@Sendable (VerifiedState) throws(VaultError) -> Bool)?
  private let known = Locked<VerifiedState?>(nil)
  let cache = ProvedCache()
  // Resolving a folder takes several system calls, which every transaction would otherwise repeat.
  private let place = Locked<ContainerPlace?>(nil)
  let publisher: @Sendable () -> (any CommitPublishing)?
  private let keepingGroups: (@Sendable (() -> Void) throws(VaultError) -> Void)?
  /// The clock, in milliseconds since 1970-01-01 UTC.
  let now: @Sendable () -> UInt64

  /// - Parameters:
  ///   - folderOwner: the only user besides root who may own the folder; `nil` means the user of this process.
  ///   - confirm: called for a state that has neither witness nor floor, and for another group than the removed one that the
  ///     witness knows. It throws if the owner's registry contradicts it, and returns whether the group is being made.
  ///   - publisher: finds what orders the states of a published group; `nil` if nothing does here.
  ///   - keepingGroups: runs its argument while nobody else makes or removes a group; throws if it cannot.
  package init(
    folder: String, context: GroupContext, folderOwner: UInt32? = nil, witness: any Witnessing,
    confirm: (@Sendable (VerifiedState) throws(VaultError) -> Bool)? = nil,
    publisher: @escaping @Sendable () -> (any CommitPublishing)? = { nil },
    keepingGroups: (@Sendable (() -> Void) throws(VaultError) -> Void)? = nil,
    now: @escaping @Sendable () -> UInt64
  ) {
    (self.folder, self.context, self.folderOwner, self.witness) = (folder, context, folderOwner, witness)
    (self.confirm, self.publisher, self.keepingGroups, self.now) = (confirm, publisher, keepingGroups, now)
  }

  package static func exists(in folder: String) -> Bool {
    do throws(VaultError) { return try ContainerPlace.status(ContainerPlace(folder: folder).path) != nil } catch {
      // A file that cannot be examined counts as existing.
      return error != .notFound(.group)
    }
  }

  /// Begins a verified view of the newest state.
  ///
  /// - Parameter beginning: `readingLater` for a single answer. If a later call throws `storage(.replaced)`, begin
  ///   again with `reading`.
  /// - Throws: the first error of a reader's checks (format article, "Opening a group"); `busy` if whoever makes or
  ///   removes groups takes ten seconds.
  package func beginReading(_ beginning: Connection.Beginning = .reading) throws(VaultError) -> Snapshot {
    try settled { () throws(VaultError) in try look(beginning) }
  }

  /// Calls `look`, and calls it again if another process may have been making or removing the group meanwhile: the
  /// group's file and its witness cannot change in one step.
  private func settled<Result>(_ look: () throws(VaultError) -> Result) throws(VaultError) -> Result {
    do {
      return try afterInterruption(look)
    } catch {
      guard let keepingGroups else { throw error }
      switch error {
      case .anotherGroup(""), .rolledBack(_, _, _, .broughtBack): break
      default: throw error
      }
      var again = Swift.Result<Result, VaultError>.failure(error)
      do {
        try keepingGroups { again = Swift.Result { () throws(VaultError) in try look() } }
      } catch .busy(let group) {
        throw .busy(group: group)
      } catch {}
      return try again.get()
    }
  }

  /// Calls `look`, and calls it again once the owner has replaced the files, ten seconds later at most.
  private func afterInterruption<Result>(_ look: () throws(VaultError) -> Result) throws(VaultError) -> Result {
    do throws(VaultError) { return try look() } catch {
      guard case .denied(.permissions) = error else { throw error }
    }
    let deadline = Deadline(after: 10_000)
    while (try? resolvedPlace().isBeingReplaced()) == true, !deadline.hasPassed { usleep(20_000) }
    return try look()
  }

  /// One look, for callers that hold the group's lock: they must not wait for those who make or remove groups.
  func look(_ beginning: Connection.Beginning, triesLeft: Int = 4) throws(VaultError) -> Snapshot {
    // The witness first: read after the snapshot began, another process's newer witness would look like a rollback.
    let reading = witness.read()
    let lease: ConnectionLease
    do { lease = try ConnectionPool.reader(at: resolvedPlace()) } catch { throw meaning(of: error, toWrite: false) }
    let connection = lease.connection
    do throws(VaultError) { try connection.begin(beginning) } catch {
      guard error == .storage(.replaced), triesLeft > 0 else { throw error }
      return try look(beginning, triesLeft: triesLeft - 1)
    }
    let view = try snapshot(connection, reading, strict: false)
    view.lease = consume lease
    return view
  }

  /// Whether other users may write the group's files; `false` if that cannot be found out.
  package var isWritableByOthers: Bool {
    (try? ContainerPlace.status(resolvedPlace().folder)).map { $0.mode & 0o022 != 0 } ?? false
  }

  /// Whether the files are read alone: others may write them, and this process uses their index nowhere else.
  var isReadAlone: Bool {
    guard isWritableByOthers, let file = try? resolvedPlace().file() else { return false }
    return !ConnectionPool.shared.isOpen(file.identity)
  }

  /// As `beginReading`, but of files that others may write, the index is copied and the locks are not used: whoever cuts the
  /// index short does not end this process, and whoever keeps a lock does not delay it. The witness stays as it is. If
  /// somebody writes meanwhile, it is tried again.
  package func beginReadingAlone() throws(VaultError) -> Snapshot {
    guard isReadAlone else { return try beginReading() }
    for number in 1...4 {
      let before = try? resolvedPlace().traces()
      do throws(VaultError) { return try settled(lookAlone) } catch {
        // What is read partly before a change and partly after it may also contradict what was seen. Times of files are too
        // coarse to show each change.
        let canPass = if case .rolledBack = error { true } else { error.isAvoidable }
        guard canPass, number == 1 || before != (try? resolvedPlace().traces()) else { throw error }
        usleep(20_000)
      }
    }
    return try settled(lookAlone)
  }

  /// Whether `state` is what the files hold for all readers, those with the present index and those with one that is made
  /// from the log.
  func holdsOnly(_ state: VerifiedState) -> Bool {
    do {
      return try [LogIndex(resolvedPlace()), nil].allSatisfy { try lookAlone(with: $0).state.link == state.link }
    } catch {
      return false
    }
  }

  /// A connection that reads alone, with a copy of the index, unless that shows an older state than the log proves, because
  /// others have altered it.
  func openAlone() throws(VaultError) -> Connection {
    let place = try resolvedPlace()
    let index = try LogIndex(place)
    let file = unwitnessed()
    func epoch(_ index: LogIndex?) -> UInt64 { (try? file.lookAlone(with: index).state.manifest.epoch) ?? 0 }
    let isBehind = index != nil && epoch(index) < epoch(nil)
    return try Connection(at: place, access: .reading, isAlone: true, index: isBehind ? nil : index)
  }

  func lookAlone(with index: LogIndex?) throws(VaultError) -> Snapshot {
    let connection = try Connection(at: resolvedPlace(), access: .reading, isAlone: true, index: index)
    try connection.begin(.reading)
    return try snapshot(connection, witness.read(), strict: false, mending: true)
  }

  func lookAlone() throws(VaultError) -> Snapshot {
    let reading = witness.read()
    do {
      let connection = try openAlone()
      try connection.begin(.reading)
      return try snapshot(connection, reading, strict: false)
    } catch {
      throw meaning(of: error, toWrite: false)
    }
  }

  /// Begins a change: waits for the lock, then repeats all checks of a read while holding it.
  ///
  /// - Throws: as `beginReading`; `busy` after ten seconds; `denied(.readOnly)`.
  package func beginWriting() throws(VaultError) -> WriteTransaction {
    try settled { () throws(VaultError) in
      let session = try beginSession()
      let view = try snapshot(session.connection, witness.readToWrite(), strict: true)
      try view.state.confirmRoster(session.connection)
      try view.state.requireWriter()
      try view.state.requirePermitted(epoch: view.state.manifest.epoch + 1)
      try session.prepare(after: view.state)
      return WriteTransaction(session, view)
    }
  }

  func beginSession(alone isAlone: Bool = false) throws(VaultError) -> WriteSession {
    do { return try WriteSession(of: self, alone: isAlone) } catch { throw meaning(of: error, toWrite: true) }
  }

  package func resolvedPlace() throws(VaultError) -> ContainerPlace {
    if let place = place.withLock({ $0 }) { return place }
    let resolved = try ContainerPlace(folder: folder, owner: folderOwner)
    place.withLock { $0 = resolved }
    return resolved
  }

  /// Brings the file of a published group up to date with its log. The file may be missing, or too old to be read.
  ///
  /// - Throws: `unordered(.notHere)` if nothing here can reach the log; as `CommitPublishing.catchUp()`.
  package func catchUp() throws(VaultError) {
    guard let publisher = publisher() else { throw .unordered(.notHere) }
    try publisher.catchUp()
  }

  /// Resolves the folder again when it is next used, because another one may have taken its place.
  func forgetPlace() { place.withLock { $0 = nil } }

  func meaning(of error: VaultError, toWrite: Bool) -> VaultError {
    switch error {
    case .notFound(.group): missingMeans()
    case .permissionDenied: .denied(.permissions(DeniedPath.words(folder: folder, toWrite: toWrite)))
    default: error
    }
  }

  /// The error for a missing file: `notFound`, or a rollback if this machine has verified the file before.
  ///
  /// Another process may be creating or removing the group, so the file must be missing again between two reads of the
  /// witness that agree.
  private func missingMeans() -> VaultError {
    forgetPlace()
    let reading = witness.read()
    if let floor = floor(beside: reading) { return .rolledBack(found: 0, known: floor.epoch, reason: .vanished) }
    switch reading {
    case .valid(let record) where !record.flags.contains(.removed):
      guard !AccessGroupFile.exists(in: folder), case .valid(let after) = witness.read(),
        after.groupID == record.groupID, !after.flags.contains(.removed)
      else { return .notFound(.group) }
      return .rolledBack(found: 0, known: record.epoch, reason: .vanished)
    case .invalid: return .damaged(.witness, "neither record is valid")
    default: return .notFound(.group)
    }
  }

  /// What the credential knows of the group, if it counts in addition to the witness: without one, or if that has an older
  /// roster.
  func floor(beside reading: WitnessReading) -> WitnessRecord? {
    switch reading {
    case .invalid: nil
    case .valid(let record) where record.rosterRevision >= context.floor?.rosterRevision ?? 0: nil
    default: context.floor
    }
  }

  /// Keeps `new`, unless a newer state is known.
  func know(_ new: VerifiedState) {
    known.withLock { state in
      if let state, state.manifest.groupID == new.manifest.groupID, state.manifest.epoch > new.manifest.epoch { return }
      state = new
    }
  }

  func snapshot(
    _ connection: Connection, _ reading: WitnessReading, strict: Bool, mending: Bool = false
  ) throws(VaultError) -> Snapshot {
    let newest = known.withLock { $0 }
    // A writer verifies the signatures, whatever was seen.
    let state = try VerifiedState.open(
      connection, as: context, known: newest, witnessed: strict ? nil : reading.record, mending: mending)
    var reading = reading
    // Whoever makes a group of the same name anew may be killed before its witness is written.
    if let gone = reading.record, gone.flags.contains(.removed), !state.isSameGroup(gone), try confirm?(state) == true {
      reading = .absent
    }
    var outcome = try WitnessRule.check(state, against: reading, strict: strict, connection)
    if let floor = floor(beside: reading) {
      let above = try WitnessRule.check(state, against: .valid(floor), strict: strict, connection)
      outcome.notice = outcome.notice ?? above.notice
    } else if reading.record == nil, newest?.manifest.groupID != state.manifest.groupID {
      // The registry is not asked again for a group that this process has confirmed already.
      _ = try confirm?(state)
    }
    // If the file claims a later format, so far only the tables of the state were compared.
    if mending, connection.version != state.roster.flags.version { try connection.compareTables() }
    let view = Snapshot(connection, state, cache, witnessed: reading)
    view.notices = outcome.notice.map { [$0] } ?? []
    // A state in a log that nobody reads was perhaps never committed, and another one may take its place.
    guard state.hasOwnersVersion, !connection.isAlone else { return view }
    if outcome.isAhead {
      // Its writer may have been killed before it was on the disk.
      let isDurable = connection.handle.synchronizeLog()
      guard isDurable || !strict else { throw .storage(.inputOutput) }
      if isDurable {
        let isGap = if case .gap = outcome.notice { true } else { false }
        view.raise(witness, to: state, gapSeen: isGap)
      } else {
        view.notices.append(.witnessUnwritten)
      }
    }
    know(state)
    return view
  }
}

/// The memory that the caches of all open groups share. Each may take what the others leave, and otherwise an equal part
/// as long as all together take at most twice as much: one that is not used keeps what it has.
final class CacheBudget: Sendable {
  static let process = CacheBudget(byteCount: 192 << 20)

  private let byteCount: Int
  private let use = Locked((cacheCount: 0, byteCount: 0))

  init(byteCount: Int) { self.byteCount = byteCount }

  func leave(_ byteCount: Int) { use.withLock { $0 = ($0.cacheCount - 1, $0.byteCount - byteCount) } }

  /// The limit of a cache that now takes `new` bytes, and took `old` before; `nil` adds a cache.
  func limit(of new: Int, before old: Int?) -> Int {
    use.withLock { use in
      if old == nil { use.cacheCount += 1 }
      use.byteCount += new - (old ?? 0)
      let left = byteCount - (use.byteCount - new)
      return max(left, min(byteCount / use.cacheCount, max(left + byteCount, byteCount >> 8)))
    }
  }
}
