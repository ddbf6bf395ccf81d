internal import GroupFile
internal import Sealing

/// One group of a backup on its way back: first a proved draft, then in its place.
struct Restoration {
  let name: AccessGroup.Name
  private(set) var outcome: StoreRestoration.Outcome
  private var prepared: Prepared?
  /// The id of the group that was put in place; `nil` if none was.
  private(set) var restoredID: GroupID?

  private struct Prepared {
    let draft: GroupDraft
    let file: AccessGroupFile
    let isRenewed: Bool
    var state: VerifiedState
    var items: UInt64
  }

  /// How far the numbers of a group rise that nobody here has seen: more than a lost machine can have given out unseen.
  static let lead: UInt64 = 1_024

  /// Copies the group into a draft and proves it; whatever keeps it from being restored is its outcome.
  ///
  /// - Throws: what the other groups of the backup would meet too, such as a full disk.
  init(
    of name: AccessGroup.Name, in store: SecretStore, from backup: String, _ replacing: Bool,
    _ drafts: borrowing DraftFolder, _ progress: (MaintenanceProgress) -> Void
  ) throws(VaultError) {
    self.name = name
    let owner = try store.owner()
    let file = try name == .registry ? store.registry().group.file : store.group(name).file
    let folder = "\(backup)/\(IdentityFolder.groupsName)/\(name)"
    do throws(GroupFileError) {
      let source = try RestingGroup(in: folder, file.context)
      let live = Live(file, progress)
      if live.isThere {
        if live.state?.isOrFollows(source.state) == true {
          outcome = .unchanged
          return
        }
        if name == .registry, live.state != nil {
          outcome = .kept
          return
        }
        guard replacing else {
          outcome = .failed(.otherState(group: name.description))
          return
        }
      }
      prepared = try Restoration.prepare(
        source, GroupDraft(in: drafts.path(of: name), for: file.folder), file, live.state, store.witness(name).read(),
        owner, progress)
      outcome = .unchanged
    } catch {
      if case .storage(let failure) = error, failure != .inputOutput {
        throw VaultError(error, group: name.description)
      }
      outcome = .failed(VaultError(error, group: name.description))
    }
  }

  /// What is in the group's place, whatever was seen before.
  private struct Live {
    let isThere: Bool
    /// `nil` if it does not verify.
    let state: VerifiedState?

    init(_ file: AccessGroupFile, _ progress: (MaintenanceProgress) -> Void) {
      isThere = AccessGroupFile.exists(in: file.folder)
      state = isThere ? (try? file.provedState { progress(.proved($0)) })?.state : nil
    }
  }

  private static func prepare(
    _ source: RestingGroup, _ draft: GroupDraft, _ file: AccessGroupFile, _ live: VerifiedState?,
    _ witness: WitnessReading, _ owner: Identity, _ progress: (MaintenanceProgress) -> Void
  ) throws(GroupFileError) -> Prepared {
    try draft.fill(from: source) { progress(MaintenanceProgress($0)) }
    let drafted = AccessGroupFile(
      folder: draft.folder, context: file.context, witness: NoWitness(), now: { SystemClock.milliseconds() })
    let isRenewed: Bool
    switch witness {
    case .unavailable: throw .storage(.stateFolder)
    case .absent:
      isRenewed = true
      try drafted.changeRoster(RosterChange(rotates: true, above: .init(source.state, live)), by: owner) {
        progress(MaintenanceProgress($0))
      }
    case .valid, .invalid: isRenewed = false
    }
    let (state, items) = try drafted.provedState { progress(.proved($0)) }
    return Prepared(draft: draft, file: drafted, isRenewed: isRenewed, state: state, items: items)
  }

  /// The draft of a group whose numbers rise.
  var renewedDraft: AccessGroupFile? { prepared.flatMap { $0.isRenewed ? $0.file : nil } }

  /// Proves the draft again after something was written to it.
  mutating func proveAgain() throws(VaultError) {
    guard let prepared else { return }
    do { self.prepared?.state = try prepared.file.provedState().state } catch {
      throw VaultError(error, group: name.description)
    }
  }

  /// Says what went wrong after all.
  mutating func fail(_ error: VaultError) {
    if case .failed = outcome { return }
    outcome = .failed(error)
  }

  /// Puts the draft in the group's place.
  mutating func place(in store: SecretStore, _ drafts: borrowing DraftFolder) {
    guard let prepared else { return }
    let kept = drafts.keepingPath(of: name)
    do {
      let isKept = try prepared.draft.take(keeping: kept)
      let state = prepared.state
      restoredID = state.manifest.groupID
      if prepared.isRenewed {
        _ = store.witness(name).raise { reading in reading == .absent ? state.witnessRecord(sequence: 1) : nil }
      }
      outcome = .restored(
        StoreRestoration.Restored(
          items: prepared.items, epoch: state.manifest.epoch, keptAside: isKept ? kept : nil,
          isRenewed: prepared.isRenewed, members: state.roster.members.map(GroupMember.init)))
    } catch {
      outcome = .failed(VaultError(error, group: name.description))
    }
    self.prepared = nil
  }
}

extension RosterChange.Numbers {
  /// What a restored state must be above: what it was copied from and what it replaces, and what may lie between.
  fileprivate init(_ backup: VerifiedState, _ live: VerifiedState?) {
    let states = [backup] + (live.map { [$0] } ?? [])
    // The change itself adds one.
    func raised(_ number: (VerifiedState) -> UInt64) -> UInt64 {
      (states.map(number).max() ?? 0) + Restoration.lead - 1
    }
    self.init(
      revision: raised { $0.manifest.rosterRevision }, generation: raised { $0.manifest.generation },
      epoch: raised { $0.manifest.epoch })
  }
}

extension VerifiedState {
  /// Whether this is `backup` itself, or what restoring it made of it, with nothing written since.
  fileprivate func isOrFollows(_ backup: VerifiedState) -> Bool {
    if link == backup.link { return true }
    return roster.previous == backup.signedRoster.digest && manifest.epoch == roster.firstEpoch
      && manifest.rosterRevision == backup.manifest.rosterRevision + Restoration.lead
  }
}
