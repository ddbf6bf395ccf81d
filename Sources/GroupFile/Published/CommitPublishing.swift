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

  /// Makes the state of the complete file at `path` the group's next one; the log may drop earlier ones. A call that repeats
  /// another one is successful if that one was.
  ///
  /// - Parameter previous: the state that it follows. A log that knows nothing of the group begins with the file.
  /// - Throws: as `publish(_:isRepeated:)`.
  func publish(fileAt path: String, holding state: PublishedState, after previous: PublishedState) throws(VaultError)

  /// Brings the file up to date with the log; the caller has no transaction open.
  ///
  /// - Throws: `unordered(.unreachable)`; the error of a commit that does not prove.
  func catchUp() throws(VaultError)
}

extension CommitPublishing {
  /// Publishes a commit. As long as nobody knows whether the log took it, the same bytes are sent again for a few seconds:
  /// only one state can follow another, so the log has them once at most. Its errors are those of `publish(_:isRepeated:)`.
  func publishOnce(_ commit: GroupCommit) throws(VaultError) {
    try untilKnown { (isRepeated) throws(VaultError) in try publish(commit, isRepeated: isRepeated) }
  }

  /// Publishes a complete file in the same way.
  func publishOnce(_ draft: GroupDraft, holding state: VerifiedState, after old: VerifiedState) throws(VaultError) {
    let (state, old) = (PublishedState(state), PublishedState(old))
    try untilKnown { (_) throws(VaultError) in try publish(fileAt: draft.filePath, holding: state, after: old) }
  }

  private func untilKnown(_ publish: (_ isRepeated: Bool) throws(VaultError) -> Void) throws(VaultError) {
    var failure: VaultError
    do throws(VaultError) { return try publish(false) } catch { failure = error }
    let end = Deadline(after: 8_000)
    for pause: UInt32 in [50_000, 100_000, 200_000, 400_000, 800_000] {
      guard case .unordered(_, .outcomeUnknown) = failure, !end.hasPassed else { break }
      usleep(pause)
      do throws(VaultError) { return try publish(true) } catch {
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
