internal import Glibc
package import Sealing

/// Orders the states of a published group among all hosts that have a copy of it.
///
/// A writer calls it in its own transaction, after everything was proved, sealed and signed and before anything is
/// durable here. So a state that the log refuses never exists in a file.
package protocol CommitPublishing: Sendable {
  /// Makes `commit` the group's next state. When the call returns, the commit is durable in the log.
  ///
  /// - Parameter isRepeated: whether an earlier call with the same commit ended with `outcomeUnknown`. If that one was
  ///   successful after all, this one is as well.
  /// - Throws: `unordered`: `overtaken` if another state follows the commit's predecessor, `unreachable`, `outcomeUnknown`.
  func publish(_ commit: GroupCommit, isRepeated: Bool) throws(VaultError)

  /// Makes the state of the complete file at `path` the group's next one; what the log has of earlier ones may go.
  ///
  /// - Parameter previous: the state that it follows. A log that knows nothing of the group begins with the file.
  /// - Throws: as `publish(_:)`.
  func publish(
    fileAt path: String, holding state: PublishedState, after previous: PublishedState
  ) throws(VaultError)

  /// Brings the file up to date with the log; the caller has no transaction open.
  ///
  /// - Throws: `unordered(.unreachable)`; the error of a commit that does not prove.
  func catchUp() throws(VaultError)
}

extension CommitPublishing {
  /// Publishes a commit. As long as nobody knows whether the log took it, the same bytes are sent again for a few seconds:
  /// only one state can follow another, so the log has them once at most.
  ///
  /// - Throws: as `publish(_:isRepeated:)`.
  func publishOnce(_ commit: GroupCommit) throws(VaultError) {
    var failure: VaultError
    do throws(VaultError) { return try publish(commit, isRepeated: false) } catch { failure = error }
    let end = Deadline(after: 8_000)
    for pause: UInt32 in [50_000, 100_000, 200_000, 400_000, 800_000] {
      guard case .unordered(_, .outcomeUnknown) = failure, !end.hasPassed else { break }
      usleep(pause)
      do throws(VaultError) { return try publish(commit, isRepeated: true) } catch {
        // An error that says nothing about the first attempt leaves its outcome unknown.
        if case .unordered(_, .overtaken) = error { failure = error }
      }
    }
    throw failure
  }
}

/// What identifies a state of a group to a log.
package struct PublishedState: Sendable, Equatable {
  package let groupID: GroupID
  package let epoch: UInt64
  package let link: Digest

  package init(groupID: GroupID, epoch: UInt64, link: Digest) {
    (self.groupID, self.epoch, self.link) = (groupID, epoch, link)
  }

  package init(_ state: VerifiedState) {
    self.init(groupID: state.manifest.groupID, epoch: state.manifest.epoch, link: state.link)
  }
}

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
        throw .rolledBack(found: commit.epoch, known: old.manifest.epoch, .fork)
      }
      return false
    }
    guard commit.previousLink == old.link else { throw .unordered(.overtaken) }
    try WriteTransaction(session, view, context: context, witness: witness, time: now()).take(commit)
    return true
  }

  /// Refuses a commit that does not follow the file's state, or that no writer signed. Its rows are not looked at.
  ///
  /// - Throws: as `apply(_:)`.
  package func confirm(_ commit: GroupCommit) throws(VaultError) {
    let state = try beginReading().view.state
    guard commit.groupID == state.manifest.groupID else { throw .anotherGroup("") }
    guard commit.previousLink == state.link else { throw .unordered(.overtaken) }
    _ = try commit.state(after: state, as: context)
  }

  /// Puts a complete file that was fetched from a log in the place of the group's file, with the commits that follow it,
  /// if the state that they lead to is a later one.
  ///
  /// Everything is proved first, as it would be in its place. The file itself may be older than what this machine has
  /// seen; the state after the commits may not.
  ///
  /// - Parameters:
  ///   - draft: holds the file.
  ///   - kept: an unused path, to which the replaced files are moved.
  ///   - drops: whether they are not needed, as for `GroupDraft.take(keeping:dropping:)`.
  ///   - following: returns the next commits after a state, and none at the end.
  /// - Returns: whether the file was put in place.
  /// - Throws: what `following` throws, the errors of a reader, and of the proof; the group is unchanged then.
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
      // Nobody else can raise the witness now. A file that it refuses is older than what it has seen.
      if case .valid(let record) = witness.read(), record.epoch >= state.epoch, (try? look(.reading)) != nil {
        return false
      }
      _ = try draft.take(keeping: kept, dropping: drops, holding: lock)
    } else {
      _ = try draft.take(keeping: kept, dropping: drops)
    }
    forgetPlace()
    // The first look in its place raises the witness.
    _ = try beginReading()
    return true
  }

  /// Makes the state of the complete file in `draft` the next one for all hosts, if the group is published.
  ///
  /// - Throws: `unordered(.notHere)`; as `CommitPublishing`.
  func publish(_ draft: GroupDraft, holding state: VerifiedState, after old: VerifiedState) throws(VaultError) {
    guard state.isPublished || old.isPublished else { return }
    guard let publisher = publisher() else { throw .unordered(.notHere) }
    try publisher.publish(fileAt: draft.filePath, holding: PublishedState(state), after: PublishedState(old))
  }

  private func provedOutside(
    _ draft: GroupDraft, _ following: (PublishedState) throws(VaultError) -> [[UInt8]]
  ) throws(VaultError) -> PublishedState {
    let fetched = AccessGroupFile(folder: draft.folder, context: context.withoutFloor, witness: NoWitness(), now: now)
    let state = PublishedState(try fetched.provedState().state)
    try fetched.follow(following, from: state)
    let outside = AccessGroupFile(
      folder: draft.folder, context: context, witness: NoWitness(witness), confirm: confirm, now: now)
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

extension Snapshot {
  /// Whether this state is a later one than that with this epoch and link, and the chain shows that it descends from it.
  package func descends(from epoch: UInt64, _ link: [UInt8]) throws(VaultError) -> Bool {
    guard epoch < state.manifest.epoch, let link = Digest(link) else { return false }
    return try state.descends(from: epoch, link, connection)
  }
}

extension WriteTransaction {
  /// Takes the rows and the signed state of a commit of another host.
  ///
  /// - Throws: `damaged(.commit, …)` if its rows do not make the state that it signs; the errors of reading its parts.
  fileprivate func take(_ commit: GroupCommit) throws(VaultError) {
    let state = try commit.state(after: view.state, as: context)
    var own: [Token: Set<UInt64>] = [:]
    for sealed in commit.rows {
      let row = try sealed.parsedRow()
      // One commit may have several versions that were written for one request. As its writer did, this asks for the
      // versions that are kept now: the rows before this one may have dropped those of a request.
      let marks = try keptMarks(at: row.token).subtracting(own[row.token] ?? [])
      guard !marks.contains(row.nonce.mark) else { throw .damaged(.commit, "a request that was answered before") }
      own[row.token, default: []].insert(row.nonce.mark)
      try take(row, sealed.blob)
    }
    let connection = view.connection
    let root = try storeTree()
    guard
      state.manifest.root == root, state.manifest.itemCount == itemCount,
      state.manifest.versionRowCount == versionRowCount
    else { throw .damaged(.commit, "its rows do not make the state that it signs") }
    if let roster = commit.roster {
      try connection.storePart(.header, roster.header)
      try connection.storePart(.roster, roster.roster)
      try connection.statement("DELETE FROM wrap").run()
      for (member, wrap) in zip(state.roster.members, roster.wraps) { try connection.storeWrap(member.slotID, wrap) }
    }
    try connection.storePart(.manifest, commit.manifest)
    try connection.appendChain(commit.epoch, state.manifest.rest())
    try connection.storeVersion(state.roster.flags.version)
    try end(with: state)
  }

  /// The marks of the kept versions at `token`.
  private func keptMarks(at token: Token) throws(VaultError) -> Set<UInt64> {
    guard let current = try storedRow(at: token) else { return [] }
    return try view.connection.olderMarks(of: token, from: current.oldest).union([current.nonce.mark])
  }

  /// Takes a row that follows the item's current one.
  private func take(_ row: Row, _ blob: [UInt8]?) throws(VaultError) {
    let old = try storedRow(at: row.token)
    // A row that ends its item's history names no predecessor.
    let isFirst = row.previous == .zero && row.oldest == row.version
    guard row.version == (old?.version ?? 0) + 1, row.oldest >= old?.oldest ?? 1,
      row.previous == old?.digest ?? .zero || isFirst
    else { throw .damaged(.commit, "a row does not follow the one before") }
    guard (row.place == .blob) == (blob != nil),
      blob.map({ Hash.digest(.blob, $0).bytes.elementsEqual(row.encoded[row.secretRange]) }) ?? true
    else { throw .damaged(.commit, "a large value does not match its row") }
    try count(row.version - row.oldest, over: old)
    try write(SealedDraft(old: old, row: row, digest: row.digest, blob: blob))
  }
}

extension GroupCommit {
  /// Whether the manifest opens with the key of `state`.
  package func isSealed(as state: VerifiedState) -> Bool {
    groupID == state.manifest.groupID && SignedManifest.isSealed(manifest, with: state.keys)
  }
}

extension RestingGroup {
  /// Whether the file's chain leads from `previous` to its state.
  package func descends(from previous: PublishedState) throws(VaultError) -> Bool {
    guard previous.groupID == state.manifest.groupID else { return false }
    return try view.descends(from: previous.epoch, previous.link.bytes)
  }
}

extension GroupCommit.SealedRow {
  fileprivate func parsedRow() throws(VaultError) -> Row {
    do throws(VaultError) { return try Row(parsing: row) } catch { throw .damaged(.commit, "a row's layout") }
  }
}

extension GroupCommit {
  /// The state that this commit signs, which must follow `old`.
  ///
  /// - Throws: `damaged(.commit, …)`; the errors of opening a roster and a manifest.
  fileprivate func state(after old: VerifiedState, as context: GroupContext) throws(VaultError) -> VerifiedState {
    do throws(VaultError) { return try signedState(after: old, as: context) } catch .damaged(_, _, let detail) {
      // Not the file is damaged, but the commit.
      throw .damaged(.commit, detail)
    }
  }

  private func signedState(after old: VerifiedState, as context: GroupContext) throws(VaultError) -> VerifiedState {
    var (signed, member, header, sealedRoster) = (old.signedRoster, old.member, old.header, old.sealedRoster)
    if let roster {
      signed = try SignedRoster(opening: roster.roster, with: old.keys, ownerKey: context.ownerKey)
      let new = signed.roster
      guard new.groupID == old.roster.groupID, new.revision > old.roster.revision,
        new.generation == old.roster.generation, new.previous == old.signedRoster.digest, new.firstEpoch == epoch,
        StateHeader(of: new).serialized() == roster.header, new.members.count == roster.wraps.count,
        zip(new.members, roster.wraps).allSatisfy({ Wrap.digest($1, slotID: $0.slotID) == $0.wrapDigest })
      else { throw .damaged(.commit, "its roster does not follow the one before") }
      let own = new.members.firstIndex { $0.signingKey == context.seed.signingPublicKey }
      guard let own else { throw .denied(.notAMember) }
      member = try new.member(context, under: old.keys, roster.wraps[own])
      (header, sealedRoster) = (roster.header, roster.roster)
    }
    let manifest = try SignedManifest.open(manifest, with: old.keys) { $0 == signed.digest ? (signed, ()) : nil }
      .manifest
    guard manifest.epoch == epoch, manifest.previousLink == old.link, manifest.link() == link,
      manifest.version == signed.roster.flags.version
    else { throw .damaged(.commit, "its manifest does not follow the one before") }
    return VerifiedState(
      keys: old.keys, signedRoster: signed, manifest: manifest, member: member, sealedManifest: self.manifest,
      sealedRoster: sealedRoster, header: header)
  }
}
