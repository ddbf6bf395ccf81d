internal import Glibc
package import Sealing

package struct GroupCopy: Sendable, Equatable {
  package let state: PublishedState
  /// The link of the state before.
  package let previousLink: Digest
  package let isPublished: Bool
  /// Whether this host's member may change the group.
  package let isWriter: Bool
  /// When the state was signed, by the writer's clock, in milliseconds since 1970.
  package let time: UInt64
  /// How far the clock of a writer may be ahead, in milliseconds.
  package static let clockTolerance: UInt64 = 60_000

  init(_ state: VerifiedState) {
    (self.state, previousLink, time) = (PublishedState(state), state.manifest.previousLink, state.manifest.time)
    (isPublished, isWriter) = (state.isPublished, state.member.rights >= .write)
  }
}

/// Calls with which `vaultd` keeps copies of published groups up to date.
extension SecretStore {
  /// The copy of a group on this host; `nil` if there is none, or if it is older than the state that this machine has
  /// seen.
  ///
  /// A credential names states of groups that may never have been here. A copy that is missing, or that a backup has
  /// set back, can be fetched again.
  package func copy(of group: String) throws(VaultError) -> GroupCopy? {
    do {
      return GroupCopy(try self.group(group).verifiedState())
    } catch {
      switch error {
      case .notFound(.group): return nil
      case .rolledBack(_, _, _, let reason) where reason != .broughtBack: return nil
      default: throw error
      }
    }
  }

  /// Proves a commit against the group's copy, and moves the copy to the commit's state.
  ///
  /// - Returns: `false` if the copy already has this state or a later one.
  /// - Throws: ``VaultError/unordered(group:_:)`` with `overtaken` for a commit that follows another state;
  ///   ``VaultError/damaged(group:level:detail:)`` for one that cannot be proved. The copy is unchanged then.
  package func apply(_ commit: [UInt8], to group: String) throws(VaultError) -> Bool {
    let file = try self.group(group).file
    return try inGroup(group, file.apply(GroupCommit(parsing: commit)))
  }

  /// Refuses a commit that another program wants to publish, unless it can be proved and follows the copy's state.
  package func confirm(_ commit: GroupCommit, of group: String) throws(VaultError) {
    let file = try self.group(group).file
    try inGroup(group, file.confirm(commit))
  }

  /// Signs an empty change of a published group if its newest state is at least `seconds` old at `time`, in
  /// milliseconds since 1970, or was signed with a clock that was ahead.
  package func renew(_ group: String, olderThan seconds: UInt32, at time: UInt64) throws(VaultError) {
    try self.group(group).writing { (transaction) throws(VaultError) in
      let state = transaction.view.state
      // Another host may have been faster.
      let signed = state.manifest.time
      guard state.isPublished, time >= signed + UInt64(seconds) * 1_000 || signed > time + GroupCopy.clockTolerance
      else { return }
      transaction.renew()
    }
  }

  /// Proves a complete file, which `write` writes to a path, and the commits that follow it. If they lead to a later
  /// state than the copy's, the file replaces the copy; returns whether. A copy that this machine refused as too old is
  /// kept aside. On an error the copy is unchanged.
  package func adopt(
    _ group: String, _ write: (String) throws(VaultError) -> Void,
    following: (PublishedState) throws(VaultError) -> [[UInt8]]
  ) throws(VaultError) -> Bool {
    let isReadable = (try? copy(of: group)) != nil
    let group = try self.group(group)
    let file = try group.file
    // Where no owner has removed the group, a member gave up the copy, and goes on from what its credential knows.
    if case .application(let credential) = access, (try? location.identityFolder.read()) == nil,
      let floor = credential.floors.first(where: { $0.group == group.name.description })?.state
    {
      _ = witness(group.name).raise { $0.record?.flags.contains(.removed) == true ? floor : nil }
    }
    let drafts = try draftFolder()
    let places = drafts.places(of: group.name)
    // A daemon that has left the Unix group must not close the files to it.
    let shape = try? ContainerPlace(folder: file.folder).containerShape()
    let draft = try inGroup(group.name.description, GroupDraft(in: places.draft, for: file.folder, shape: shape))
    try write(draft.filePath)
    guard unsafe chmod(draft.filePath, draft.fileMode) == 0 else { throw .storage(.inputOutput) }
    try inGroup(group.name.description, draft.synchronize())
    var failure: VaultError?
    do throws(VaultError) {
      return try file.adopt(draft, keeping: places.kept, dropping: isReadable) { (state) throws(VaultError) in
        do throws(VaultError) { return try following(state) } catch {
          failure = error
          throw .unordered(.unreachable(error.message))
        }
      }
    } catch {
      throw failure ?? error.named(group.name.description)
    }
  }

  /// What a commit says, if a member signed it who may write, according to the copy or to one of `others`; else `nil`.
  package func signedManifest(
    of commit: GroupCommit, with others: [GroupCommit] = [], in group: String
  ) throws(VaultError) -> Manifest? {
    try commit.signedManifest(under: self.group(group).verifiedState(), with: others)
  }

  /// Whether the copy's chain continues the state with this epoch and link.
  package func copyDescends(from epoch: UInt64, _ link: [UInt8], of group: String) throws(VaultError) -> Bool {
    try self.group(group).reading { (view) throws(VaultError) in try view.descends(from: epoch, link) }
  }

  /// Lends a complete, proved file with the copy's current state.
  package func copyFile<Result>(
    of group: String, _ body: (_ path: String, _ state: PublishedState) throws(VaultError) -> Result
  ) throws(VaultError) -> Result {
    let group = try self.group(group)
    let file = try group.file
    let drafts = try draftFolder()
    let folder = drafts.path(of: group.name)
    let state: PublishedState
    do throws(VaultError) {
      _ = try GroupDraft(in: folder, for: file.folder)
      guard try file.backUp(to: folder) != nil else { throw .otherDevice("the group is bound to a device") }
      state = PublishedState(try Snapshot(restingIn: folder, file.context).state)
    } catch {
      throw error.named(group.name.description)
    }
    return try body("\(folder)/\(ContainerPlace.groupFileName)", state)
  }

  /// Proves the complete file at `path`, which another program wants to publish, or which is in a log.
  ///
  /// - Parameter previous: the state that the file's state must continue; `nil` for any.
  /// - Throws: the error of the proof; ``VaultError/invalid(_:)`` if the file is not a draft of this store, or does not
  ///   continue `previous`.
  package func provedCopy(
    at path: String, of group: String, after previous: PublishedState?
  ) throws(VaultError) -> GroupCopy {
    guard let end = path.lastIndex(of: "/"), path.hasPrefix("\(location.home)/\(DraftFolder.parentName)/"),
      !path.split(separator: "/").contains("..")
    else { throw .invalid("the file is not in the store") }
    let file = try self.group(group).file
    do throws(VaultError) {
      let resting = try Snapshot(restingIn: String(path[..<end]), file.context)
      _ = try FullProof.run(resting)
      if let previous {
        guard resting.state.manifest.groupID == previous.groupID,
          try resting.descends(from: previous.epoch, previous.link.bytes)
        else { throw .unordered(.overtaken) }
      }
      return GroupCopy(resting.state)
    } catch {
      throw error.named(group)
    }
  }
}
