extension AccessGroupFile {
  /// Proves a commit against the group's state, and makes its state this file's.
  ///
  /// - Returns: `false` if the file has this state already, or a later one.
  /// - Throws: `unordered(.overtaken)` if the commit follows another state than the file's; `rolledBack` for a fork; `damaged`
  ///   for a commit that does not prove; the errors of a writer. The file is unchanged then.
  package func apply(_ commit: GroupCommit) throws(VaultError) -> Bool {
    let session = try beginSession()
    let view = try snapshot(session.connection, witness.read(), strict: true)
    let old = view.state
    try old.confirmRoster(session.connection)
    guard commit.groupID == old.manifest.groupID else { throw .anotherGroup("") }
    guard commit.epoch > old.manifest.epoch else {
      guard commit.epoch < old.manifest.epoch || commit.link == old.link else {
        throw .rolledBack(found: commit.epoch, known: old.manifest.epoch, reason: .fork)
      }
      return false
    }
    guard commit.previousLink == old.link else { throw .unordered(.overtaken) }
    try WriteTransaction(session, view).take(commit)
    return true
  }

  /// Proves a commit against the file's state, with the errors of `apply(_:)`, and changes nothing. It waits for no writer:
  /// whoever made the commit may hold the lock.
  package func confirm(_ commit: GroupCommit) throws(VaultError) {
    let view = try beginReading()
    guard commit.groupID == view.state.manifest.groupID else { throw .anotherGroup("") }
    guard commit.previousLink == view.state.link else { throw .unordered(.overtaken) }
    _ = try WriteTransaction(WriteSession(of: self, proving: view), view).prove(commit)
  }

  /// Puts a complete file that was fetched from a log in the group's place, with the commits that `following` returns
  /// after a state, if they lead to a later state; returns whether it did. Everything is proved first, as it would be
  /// in its place. The file itself may be older than what this machine has seen; the state after the commits may not.
  /// On an error the group is unchanged.
  package func adopt(
    _ draft: GroupDraft, keeping kept: String, dropping drops: Bool = false,
    following: (PublishedState) throws(VaultError) -> [[UInt8]] = { _ in [] }
  ) throws(VaultError) -> Bool {
    let state: PublishedState
    do throws(VaultError) { state = try provedOutside(draft, following) } catch {
      // A log may keep a complete file from long ago, which is no news to whoever has a later one.
      if case .rolledBack(_, let found, let known, _) = error, found < known, (try? beginReading()) != nil {
        return false
      }
      throw error
    }
    if AccessGroupFile.exists(in: folder) {
      let lock = try WriterLock(at: resolvedPlace())
      // Nobody else can raise the witness now. A file that it refuses is older than what it has seen, unless the draft is
      // older, too: then the file may have put this member out while the draft was made.
      if case .valid(let record) = witness.read(), record.epoch >= state.epoch {
        if record.epoch > state.epoch || (try? look(.reading)) != nil { return false }
      }
      _ = try draft.takeWhileLocked(keeping: kept, dropping: drops)
      // The lock ends here, and not before.
      _ = lock.isShared
    } else {
      _ = try draft.take(keeping: kept, dropping: drops)
    }
    forgetPlace()
    // The first look in its place raises the witness.
    _ = try beginReading()
    return true
  }

  /// Makes the state of the complete file in `draft` the next one for all hosts, if the group is published, and then puts
  /// it in the group's place, as `GroupDraft.takeWhileLocked(keeping:dropping:)`.
  ///
  /// - Throws: `unordered(.notHere)`; as `CommitPublishing`.
  func put(
    _ draft: GroupDraft, holding state: VerifiedState, after old: VerifiedState, keeping kept: String,
    dropping drops: Bool = false
  ) throws(VaultError) -> Bool {
    let isPublished = state.isPublished || old.isPublished
    if isPublished {
      guard let publisher = publisher() else { throw .unordered(.notHere) }
      try publisher.publishOnce(draft, holding: state, after: old)
    }
    do throws(VaultError) { return try draft.takeWhileLocked(keeping: kept, dropping: drops) } catch {
      // As with a commit: the other hosts have the state.
      throw isPublished ? .storage(.unconfirmed) : error
    }
  }

  private func provedOutside(
    _ draft: GroupDraft, _ following: (PublishedState) throws(VaultError) -> [[UInt8]]
  ) throws(VaultError) -> PublishedState {
    var floorless = context
    floorless.floor = nil
    let fetched = AccessGroupFile(folder: draft.folder, context: floorless, witness: NoWitness(), now: now)
    let state = PublishedState(try fetched.provedState().state)
    try fetched.follow(following, from: state)
    let outside = AccessGroupFile(
      folder: draft.folder, context: context, witness: NoWitness(known: witness), confirm: confirm, now: now)
    return PublishedState(try outside.beginReading().view.state)
  }

  /// Applies what follows a state, up to the first commit that does not follow or prove.
  private func follow(
    _ following: (PublishedState) throws(VaultError) -> [[UInt8]], from state: PublishedState
  ) throws(VaultError) {
    var state = state
    do throws(VaultError) {
      while true {
        let before = state.epoch
        for bytes in try following(state) {
          let commit = try GroupCommit(parsing: bytes)
          _ = try apply(commit)
          state = PublishedState(groupID: commit.groupID, epoch: commit.epoch, link: commit.link)
        }
        guard state.epoch > before else { return }
      }
    } catch {
      switch error {
      case .damaged(_, .commit, _), .unordered(_, .overtaken), .rolledBack, .anotherGroup: return
      default: throw error
      }
    }
  }
}
