internal import Sealing

/// The restoration of one group: first as a proved draft, then in the group's place.
struct Restoration {
  let name: AccessGroup.Name
  private(set) var outcome: StoreRestoration.Outcome
  /// The draft, until it is in place; `nil` if the group is not replaced.
  private(set) var prepared: Prepared?
  /// The id of the group that was put in place; `nil` if none was.
  private(set) var restoredID: GroupID?
  /// The members of a published group that is in place.
  private var publishedTo: [Member]?

  struct Prepared {
    let draft: GroupDraft
    let file: AccessGroupFile
    fileprivate let replaced: Replaced
    /// Whether the group's counters are advanced.
    let isRenewed: Bool
    let left: [Member]
    var state: VerifiedState
    var items: UInt64
  }

  /// The files that the draft replaces.
  fileprivate struct Replaced {
    let isThere: Bool
    /// The digest of their state; `nil` if they do not open.
    let link: Digest?
    /// Their state; also `nil` if it is not completely proved.
    let live: VerifiedState?

    init(_ file: AccessGroupFile, progress: (MaintenanceProgress) -> Void) {
      isThere = AccessGroupFile.exists(in: file.folder)
      // The state first: if it changes before it is proved, it is another one later.
      link = try? file.unwitnessed().beginReading().view.state.link
      live = (try? file.provedState { progress(.proved($0)) })?.state
    }

    /// Whether `file` is as it was: another process may have changed or repaired it since.
    func isSame(as file: AccessGroupFile) -> Bool {
      guard isThere else { return true }
      guard (live?.link ?? link) == (try? file.beginReading().view.state.link) else { return false }
      return live != nil || (try? file.provedState()) == nil
    }
  }

  /// How far to advance the counters of a restored group, so that numbers the lost machine may have used are never
  /// reused.
  static let lead: UInt64 = 1_024

  /// Copies the group into a draft and proves it. An error that concerns only this group becomes its outcome.
  ///
  /// - Throws: an error that the other groups of the backup would meet too, such as a full disk.
  init(
    of name: AccessGroup.Name, in store: SecretStore, from backup: String, _ replacing: Bool,
    _ keepsOwn: Bool, _ drafts: borrowing DraftFolder,
    leaving leaves: @escaping @Sendable (Member, AccessGroup.Name) -> Bool,
    _ progress: (MaintenanceProgress) -> Void
  ) throws(VaultError) {
    self.name = name
    let owner = try store.owner()
    let file = try store.file(of: name)
    let folder = "\(backup)/\(IdentityFolder.groupsName)/\(name)"
    do throws(VaultError) {
      let source = try Snapshot(restingIn: folder, file.context)
      let replaced = Replaced(file, progress: progress)
      let live = replaced.live
      // What another machine has written, such as a removal, is seen now, so that an older state needs to be accepted.
      if live != nil, case .valid = store.witness(name).read() { _ = try? file.beginReading() }
      outcome = .unchanged
      if replaced.isThere {
        if live?.isOrFollows(source.state) == true {
          if source.state.isPublished { publishedTo = source.state.roster.members }
          return
        }
        if keepsOwn, live != nil {
          outcome = .kept
          return
        }
        guard replacing else { throw .otherState(group: name.description) }
      }
      prepared = try Restoration.prepare(
        source, GroupDraft(in: drafts.path(of: name), for: file.folder), file, replaced, store.witness(name).read(),
        owner, leaving: { leaves($0, name) }, progress)
    } catch {
      if case .storage(let failure) = error, !failure.isOfOneFile { throw error.named(name.description) }
      outcome = .failed(error.named(name.description))
    }
  }

  private static func prepare(
    _ source: Snapshot, _ draft: GroupDraft, _ file: AccessGroupFile, _ replaced: Replaced,
    _ witness: WitnessReading, _ owner: Identity, leaving leaves: @escaping @Sendable (Member) -> Bool,
    _ progress: (MaintenanceProgress) -> Void
  ) throws(VaultError) -> Prepared {
    try draft.fill(from: source) { progress($0) }
    let drafted = file.unwitnessed(in: draft.folder)
    if case .unavailable = witness { throw .storage(.stateFolder) }
    let live = replaced.live
    let isRenewed = witness == .absent && !source.state.isPublished
    // No one confirms who comes back, so whoever was removed from the group that is replaced stays out, too.
    let revokes: @Sendable (Member) -> Bool = { leaves($0) || live?.roster.hasRemoved($0) == true }
    if isRenewed {
      // No group's name contains a plus sign.
      let places = DraftPlaces(draft: draft.folder + "+new", kept: draft.folder + "+old")
      var change = RosterChange(rotates: true, above: .init(source.state, live), revokes: revokes)
      if let live, live.roster.groupID == source.state.roster.groupID { change.formerReaders = live.roster.removals }
      try drafted.changeRoster(change, at: places, by: owner) { progress($0) }
    }
    let (state, items) = try drafted.provedState { progress(.proved($0)) }
    let left = isRenewed ? source.state.roster.members.filter(revokes) : []
    return Prepared(
      draft: draft, file: drafted, replaced: replaced, isRenewed: isRenewed, left: left, state: state, items: items)
  }

  /// Proves the draft again after it was changed.
  mutating func proveAgain() throws(VaultError) {
    guard let prepared else { return }
    self.prepared?.state = try inGroup(name.description, prepared.file.provedState().state)
  }

  /// Has `vaultd` bring a published group up to date with its log. If that fails, it does so later. Members whom
  /// `leaves` names are then put out, now or with the next change of members: a log that has lost everything begins anew
  /// with the backup's roster.
  mutating func followLog(
    in store: SecretStore, leaving leaves: @escaping @Sendable (Member, AccessGroup.Name) -> Bool
  ) {
    guard let publishedTo else { return }
    var epoch = try? store.synchronize(name.description)
    let change = RosterChange(rotates: true) { [name] in leaves($0, name) }
    var left = publishedTo.filter(change.revokes)
    do throws(VaultError) {
      if !left.isEmpty, try store.group(name).verifiedState().roster.members.contains(where: change.revokes) {
        epoch = try store.change(name, change).manifest.epoch
      }
    } catch .rolledBack {
      // Nobody reads the group before the owner accepts it, which leaves them out.
    } catch {
      left = []
      store.notices.post(.removalPending(group: name.description, reason: error.message))
    }
    guard case .restored(var restored) = outcome else { return }
    (restored.epoch, restored.left) = (epoch ?? restored.epoch, left)
    outcome = .restored(restored)
  }

  mutating func fail(_ error: VaultError) {
    if case .failed = outcome { return }
    outcome = .failed(error)
  }

  mutating func place(in store: SecretStore, _ replacing: Bool, _ drafts: borrowing DraftFolder) {
    guard let prepared else { return }
    let kept = drafts.keepingPath(of: name)
    do throws(VaultError) {
      // Another process may have made or restored the group since this one looked.
      guard replacing || !store.location.hasGroup(name) else { throw .otherState(group: name.description) }
      let replaced = prepared.file.unwitnessed(in: store.location.groupFolder(name.description))
      let isKept = try prepared.draft.take(keeping: kept) { prepared.replaced.isSame(as: replaced) }
      let state = prepared.state
      restoredID = state.manifest.groupID
      if state.isPublished { publishedTo = state.roster.members }
      if prepared.isRenewed {
        _ = store.witness(name).raise { reading in reading == .absent ? state.witnessRecord() : nil }
      }
      outcome = .restored(
        StoreRestoration.Restored(
          items: prepared.items, epoch: state.manifest.epoch, keptAside: isKept ? kept : nil,
          isRenewed: prepared.isRenewed, members: state.roster.members, left: prepared.left))
    } catch {
      outcome = .failed(error.named(name.description))
    }
    self.prepared = nil
  }
}

extension RosterChange.Numbers {
  /// The counters that a restored state must exceed: those of the backup and of the replaced state, plus the numbers
  /// that may have been used since.
  fileprivate init(_ backup: VerifiedState, _ live: VerifiedState?) {
    // The change itself adds 1.
    func raised(_ number: (VerifiedState) -> UInt64) -> UInt64 {
      max(number(backup), live.map(number) ?? 0) + Restoration.lead - 1
    }
    self.init(
      revision: raised { $0.manifest.rosterRevision }, generation: raised { $0.manifest.generation },
      epoch: raised { $0.manifest.epoch })
  }
}

extension Roster {
  /// Whether the credential of `member` was removed, and not admitted again.
  package func hasRemoved(_ member: Member) -> Bool {
    removed.contains { $0.application == member.application && $0.issue == member.issue }
      && !members.contains { $0.signingKey == member.signingKey }
  }
}

extension VerifiedState {
  /// Whether this state is `backup` itself or the result of restoring it, with nothing written since.
  package func isOrFollows(_ backup: VerifiedState) -> Bool {
    if link == backup.link { return true }
    return roster.previous == backup.signedRoster.digest && manifest.epoch == roster.firstEpoch
      && manifest.rosterRevision >= backup.manifest.rosterRevision + Restoration.lead
  }
}
