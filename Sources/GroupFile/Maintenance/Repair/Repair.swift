import Sealing

/// The result of repairing a group, and what a new key dropped because the last signed root does not prove it.
public struct GroupRepair: Sendable, Equatable {
  /// Items of the last signed state that were kept, removed ones included.
  public internal(set) var kept: UInt64 = 0
  /// Items of the last signed state that were lost.
  public internal(set) var lost: UInt64 = 0
  /// The known names of lost items, sorted.
  public internal(set) var lostNames: [String] = []
  /// Lost older versions of items that were kept.
  public internal(set) var lostVersions: UInt64 = 0
  /// Values that can be opened but that the signed state does not prove, sorted by name: damage destroyed their proof,
  /// or a member who may only read made them.
  public internal(set) var unproved: [UnprovedItem] = []
  /// Whether the chain of the group's states was lost: machines that have not seen the last state must accept it.
  public internal(set) var losesChain = false
  /// The number of the state that the repair made.
  public internal(set) var epoch: UInt64 = 0
  /// The folder of the damaged files.
  public package(set) var keptAside = ""
  /// Whether a new file replaced one that was too damaged to be changed in place, and the old one was kept.
  package internal(set) var isKeptAside = false
  /// Whether the accepted state could not be noted in the witness.
  package internal(set) var isUnwitnessed = false
  /// The number of rows in all tables that no signed data names; anyone who can write the file can add them.
  package internal(set) var unsigned: UInt64 = 0
  /// The names of unsigned rows that can be opened, at most 1,000, sorted.
  package internal(set) var unsignedNames: [String] = []

  static let namedCount = 1_000

  /// Throws `unproved` if something signed is lost, unless that is accepted.
  fileprivate func requireWhole(or isAccepted: (GroupRepair) -> Bool) throws(VaultError) {
    guard lost == 0 && lostVersions == 0 || isAccepted(self) else {
      throw .unproved(items: lost, versions: lostVersions)
    }
  }
}

/// A value that opens under the group's key but that its signed state does not prove.
public struct UnprovedItem: Sendable, Equatable {
  public let name: String
  public let version: UInt64
  /// When it was written, according to itself.
  public let changed: Timestamp
  /// Whether it was kept, because the owner named it.
  public let isKept: Bool
}

/// The content recovered from a damaged file, in the tables of a new one.
struct SalvagedGroup {
  let view: Snapshot
  let itemCount: UInt64
  let versionRowCount: UInt64
  let root: Digest
  /// Set if the state contradicts what was seen, so that the owner must accept it.
  let offered: OfferedState?
  /// All records that could be the members' wraps, by slot.
  let wraps: [[UInt8]: Set<[UInt8]>]
}

extension AccessGroupFile {
  /// Rebuilds the group from everything that its last signed state proves, with a roster and a manifest signed by the
  /// owner; `nil` if nothing is damaged. `draft`, the same path with the suffix `.salvage`, and `kept` for the damaged
  /// files are unused paths. If the owner's wrap is lost, one of `members` leads to the key. On an error the group is
  /// unchanged.
  package func repair(
    at draft: String, keeping kept: String, unproved names: [String] = [], by authority: any RosterAuthority,
    members: [MemberSeed] = [], isLossAccepted: (GroupRepair) -> Bool,
    progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) -> GroupRepair? {
    let place = try ContainerPlace(folder: folder)
    guard AccessGroupFile.exists(in: folder) else { throw .notFound(.group) }
    let isCleared = place.clearCompanions()
    let places = DraftPlaces(draft: draft, kept: kept)
    if witness.read() == .invalid { throw .damaged(.witness, "neither record is valid") }
    // What was moved away leaves the group with the folder that is replaced.
    guard try isCleared ? true : isDamaged(progress) else { return nil }
    return try makeNew(
      at: places, names: names, members: members, unsigned: \.withoutSignedState, progress: progress
    ) { (salvaged, group, makeNew) throws(VaultError) in
      try group.requireWhole(or: isLossAccepted)
      return try RosterWriting(view: salvaged.view, context: context, authority: authority, salvaged: salvaged)
        .write(RosterChange(), at: now(), &group, progress, makingNew: makeNew)?.writer
    }.left
  }

  /// Changes the roster of a group whose file is too damaged to be changed in place. Under one lock, so that nobody can
  /// damage it again meanwhile, it is rebuilt from what the last signed root proves, with a new key. `acceptance` may
  /// accept a state that contradicts what was seen. On an error nothing is changed.
  package func changeRoster(
    _ change: RosterChange, accepting acceptance: OwnersAcceptance? = nil, salvagingAt places: DraftPlaces,
    by authority: any RosterAuthority, members: [MemberSeed] = [], progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) -> (state: VerifiedState, left: GroupRepair) {
    try ContainerPlace(folder: folder).clearCompanions()
    var change = change
    change.rotates = true
    func sign(
      _ salvaged: SalvagedGroup, _ left: inout GroupRepair, _ makeNew: () throws(VaultError) -> GroupWriter
    ) throws(VaultError) -> GroupWriter? {
      guard salvaged.offered != nil || acceptance?.isRequired != true else { throw .contradiction(.superseded) }
      try left.requireWhole { _ in change.dropsUnproved }
      left.unsignedNames = left.unproved.prefix(GroupRepair.namedCount).map(\.name)
      left.unsigned = UInt64(left.unproved.count)
      // The rows in the draft are as their writers sealed them, and no other process can write there.
      salvaged.view.connection.handle.stepLimit = .max
      let writing = RosterWriting(view: salvaged.view, context: context, authority: authority, salvaged: salvaged)
      if let acceptance, let offered = salvaged.offered { change = change.taking(offered, acceptance) }
      return try writing.write(change, at: now(), &left, progress, makingNew: makeNew)?.writer
    }
    return try makeNew(
      at: places, dropping: change.drops, accepting: acceptance, if: change.isStillWanted, members: members,
      progress: { _ in }, sign: sign)
  }

  /// - Throws: an error that a repair cannot fix.
  private func isDamaged(_ progress: (MaintenanceProgress) -> Void) throws(VaultError) -> Bool {
    do throws(VaultError) {
      guard isReadAlone, let place = try? resolvedPlace() else {
        _ = try FullProof.run(look(.reading)) { progress(.proved($0)) }
        return false
      }
      // Others could cut the index short, so it is not mapped. But then the files look damaged while somebody writes.
      if (try? FullProof.run(lookAlone()) { progress(.proved($0)) }) != nil { return false }
      let lock = try WriterLock(at: place, replacing: true)
      do throws(VaultError) { _ = try FullProof.run(lookAlone()) { progress(.proved($0)) } } catch {
        guard canAvoid(error) else { throw error }
        return true
      }
      _ = lock.isShared
      return false
    } catch {
      if case .otherDevice = error, canAvoid(error) { return true }
      guard error.isRepairable else { throw error }
      return true
    }
  }

  /// Whether new files can avoid what caused `error`. If this machine has verified a group that is now of another
  /// device, its state was altered where nobody signs it, or the device key is gone.
  package func canAvoid(_ error: VaultError) -> Bool {
    if case .otherDevice = error { witness.read().record != nil } else { error.isAvoidable }
  }

  /// Rebuilds the group's file from what its last signed state proves, proves the result, and replaces the old file.
  /// All under one lock.
  ///
  /// - Parameters:
  ///   - isWanted: says under the lock whether it is still to be done.
  ///   - unsigned: describes the defect of a file without a signed state.
  ///   - sign: writes the new state, for a new key into a further file, which it returns.
  private func makeNew(
    at places: DraftPlaces, names: [String] = [], dropping: Set<Token> = [],
    accepting acceptance: OwnersAcceptance? = nil, if isWanted: () -> Bool = { true }, members: [MemberSeed],
    unsigned: (VaultError) -> VaultError = { $0 }, progress: (MaintenanceProgress) -> Void,
    sign: (SalvagedGroup, inout GroupRepair, () throws(VaultError) -> GroupWriter) throws(VaultError) -> GroupWriter?
  ) throws(VaultError) -> (state: VerifiedState, left: GroupRepair) {
    let place = try ContainerPlace(folder: folder)
    let shape = (try? place.containerShape().attainable) ?? .closed
    let lock = try WriterLock(at: place, replacing: true)
    return try withClosedFiles(of: place, under: lock, at: places, for: shape, rebuilding: true) {
      (place, _, _) throws(VaultError) in
      guard isWanted() else { throw .contradiction(.superseded) }
      let reading = witness.read()
      if reading == .invalid, acceptance == nil { throw .damaged(.witness, "neither record is valid") }
      ConnectionPool.closeIdle(at: place)
      let draft = try GroupDraft(in: places.draft, for: folder, shape: shape)
      let salvage = places.draft + ".salvage"
      defer { SalvageCopy.remove(salvage) }
      func makeWriter() throws(VaultError) -> GroupWriter {
        try GroupWriter(in: draft.folder, fileMode: draft.fileMode)
      }
      var writer = try makeWriter()
      let connection = writer.connection
      var group: GroupRepair
      var offered: OfferedState?
      let old: VerifiedState
      // So that what is needed only for this is released before the proof.
      do {
        let (copy, stored) = try SalvageCopy.make(of: place, in: salvage, header: connection.header())
        let index = try SalvageIndex(of: copy.path, stored) { progress(.copied(bytes: $0, of: $1)) }
        let state: VerifiedState
        let isRefused: Bool
        do throws(VaultError) {
          (state, isRefused) = try StateSearch.run(index, as: context, reading, members: members) { state in
            acceptance.map { $0.registration.groupID ?? state.manifest.groupID == state.manifest.groupID } ?? false
          }
        } catch {
          throw unsigned(error)
        }
        old = state
        if let acceptance, let found = try offer(salvaged: state, reading, isRefused: isRefused, to: acceptance) {
          guard acceptance.confirm(found) else { throw .declined }
          try requireWitness()
          offered = found
        }
        let view = Snapshot(connection, state, ProvedCache(), witnessed: reading)
        var rows = SalvagedRows(view, names, dropping: dropping)
        let root = try rows.write(from: index, to: &writer) { progress(.proved($0)) }
        group = rows.group
        group.losesChain = try !connection.storeChain(index.chain, of: state)
        var wraps: [[UInt8]: Set<[UInt8]>] = [:]
        for member in state.roster.members { wraps[member.slotID] = Set(index.wraps(of: member.slotID)) }
        let salvaged = SalvagedGroup(
          view: view, itemCount: writer.itemCount, versionRowCount: writer.versionRowCount, root: root,
          offered: offered, wraps: wraps)
        if let renewed = try sign(salvaged, &group, makeWriter) {
          writer.connection.discard()
          writer = renewed
        }
        try writer.complete()
      }
      // The new file is proved like any other group before it replaces the old one.
      let state = try unwitnessed(in: places.draft).provedState { progress(.proved($0)) }.state
      group.epoch = state.manifest.epoch
      group.isKeptAside = try put(draft, holding: state, after: old, keeping: places.kept)
      group.isUnwitnessed = offered != nil ? !noteAccepted(state) : !raise(to: state)
      return (state, group)
    }
  }

  /// The epoch of the newest signed state in the files at `place`, whatever this machine has seen. `salvage` is an
  /// unused path.
  func newestEpoch(at place: ContainerPlace, salvagingIn salvage: String) throws(VaultError) -> UInt64 {
    let (copy, stored) = try SalvageCopy.make(of: place, in: salvage, header: nil)
    defer { SalvageCopy.remove(salvage) }
    let index = try SalvageIndex(of: copy.path, stored) { _, _ in }
    return try StateSearch.run(index, as: context, .absent, members: []).state.manifest.epoch
  }

  private func raise(to state: VerifiedState) -> Bool {
    witness.raise { reading in
      switch reading {
      case .absent: state.witnessRecord()
      case .valid(let record) where record.epoch < state.manifest.epoch:
        state.witnessRecord(flags: record.flags)
      // Others may have written to the new file already.
      case .valid, .invalid, .unavailable: nil
      }
    }
  }

  /// Writes the named unproved values, which an earlier repair listed, from the damaged files in `aside` as new
  /// versions of their items. On an error nothing is changed.
  package func adopt(_ names: [String], from aside: String, at salvage: String) throws(VaultError) -> GroupRepair {
    guard context.kind == .owner else { throw .denied(.ownerOnly) }
    defer { SalvageCopy.remove(salvage) }
    let transaction = try beginWriting()
    let (copy, stored) = try SalvageCopy.make(
      of: ContainerPlace(folder: aside), in: salvage, header: transaction.view.connection.header())
    let index = try SalvageIndex(of: copy.path, stored) { _, _ in }
    var group = GroupRepair()
    group.kept = transaction.view.state.manifest.itemCount
    for name in names {
      let (attributes, secret, version) = try value(name, transaction.view.state.keys, index)
      try transaction.put(attributes, secret)
      group.unproved.append(
        UnprovedItem(name: name, version: version, changed: Timestamp(milliseconds: attributes.changed), isKept: true))
    }
    group.epoch = transaction.epoch
    try transaction.commit()
    return group
  }

  /// The newest value of `name` that can be opened.
  private func value(
    _ name: String, _ keys: GroupKeys, _ index: borrowing SalvageIndex
  ) throws(VaultError) -> (Attributes, OpenedSecret, version: UInt64) {
    for record in index.versions(of: keys.token(of: name)).reversed() {
      guard let row = index.row(record), row.state == .present,
        let attributes = try? keys.attributes(of: row, named: name), let secret = try? index.secret(of: row, keys)
      else { continue }
      return (attributes, secret.value, row.version)
    }
    throw .notFound(.item)
  }
}

extension VaultError {
  /// The defect for which a repair ends, because nothing could be proved.
  fileprivate var withoutSignedState: VaultError {
    guard case .damaged(nil, let level, let detail) = self else { return self }
    return .damaged(level, "\(detail); no signed state is left to repair it from")
  }
}
