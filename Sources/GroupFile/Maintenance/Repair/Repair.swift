import Sealing

/// What a repair kept of a group, and what not.
package struct RepairedGroup: Sendable {
  /// Items of the signed state that were kept, removed ones included.
  package internal(set) var kept: UInt64 = 0
  /// Items of the signed state that were lost.
  package internal(set) var lost: UInt64 = 0
  /// The names of lost items, as far as they can be known; sorted.
  package internal(set) var lostNames: [String] = []
  /// Older versions that were lost of items that were kept.
  package internal(set) var lostVersions: UInt64 = 0
  /// Values that open and that no signature proves: a reader could have written them. Sorted by name.
  package internal(set) var unproved: [UnprovedItem] = []
  /// Whether the history of the group's states was lost: machines that have not seen its last one must accept it.
  package internal(set) var losesChain = false
  /// The number of the state that the repair made.
  package internal(set) var epoch: UInt64 = 0
  /// Whether the damaged files were kept.
  package internal(set) var isKeptAside = false
}

/// A value that opens under the group's key, and that its signed state does not prove.
package struct UnprovedItem: Sendable, Equatable {
  package let name: String
  package let version: UInt64
  /// When it was written, as it says; milliseconds since 1970-01-01 UTC.
  package let changed: UInt64
  /// Whether it was kept, because the owner named it.
  package let isKept: Bool
}

extension AccessGroupFile {
  /// Makes the group anew of all that its last signed state proves, under a roster and a manifest signed by the owner.
  ///
  /// - Parameters:
  ///   - draft: a path on the store's file system that is free; one with `.salvage` at its end is taken, too.
  ///   - kept: a path that is free, where the damaged files go.
  ///   - names: unproved items that are kept all the same.
  /// - Returns: `nil` if nothing is damaged.
  /// - Throws: `rolledBack` where this machine has seen a newer state; `damaged` where no signed state is left; `noItem` for
  ///   a name that is none of an unproved item. The group is as it was then.
  package func repair(
    at draft: String, keeping kept: String, unproved names: [String] = [], by authority: any RosterAuthority,
    progress: (CopyStep) -> Void = { _ in }
  ) throws(GroupFileError) -> RepairedGroup? {
    guard context.kind == .owner else { throw .ownerOnly }
    let place = try ContainerPlace(folder: folder)
    guard AccessGroupFile.exists(in: folder) else { throw .missing }
    let lock = try WriterLock(at: place)
    let reading = witness.read()
    if reading == .invalid { throw .damaged(.witness, "neither record is valid") }
    guard try isDamaged(progress) else { return nil }
    ConnectionPool.closeIdle(at: place)
    let folder = try GroupDraft(in: draft, for: self.folder)
    let salvage = draft + ".salvage"
    defer { SalvageCopy.remove(salvage) }
    var group = try rebuild(place, salvage, in: folder, reading, names, authority, progress)
    // What is put in place was proved like any other group.
    let drafted = AccessGroupFile(folder: draft, context: context, witness: NoWitness(), now: now)
    let state = try drafted.provedState { progress(.proved($0)) }.state
    group.isKeptAside = try folder.take(keeping: kept, holding: lock)
    raise(to: state)
    return group
  }

  /// - Throws: whatever is wrong that a repair does not help against.
  private func isDamaged(_ progress: (CopyStep) -> Void) throws(GroupFileError) -> Bool {
    do throws(GroupFileError) {
      let transaction = try beginReading()
      _ = try FullProof.run(transaction.view) { progress(.proved($0)) }
      return false
    } catch {
      switch error {
      case .damaged(.witness, _): throw error
      case .damaged, .altered, .storage(.inputOutput): return true
      default: throw error
      }
    }
  }

  private func rebuild(
    _ place: ContainerPlace, _ salvage: String, in draft: GroupDraft, _ reading: WitnessReading, _ names: [String],
    _ authority: any RosterAuthority, _ progress: (CopyStep) -> Void
  ) throws(GroupFileError) -> RepairedGroup {
    let connection = try Connection.create(folder: draft.folder, fileMode: draft.fileMode)
    do {
      try SalvageCopy.make(of: place, at: salvage, header: connection.header())
      let index = try SalvageIndex(of: salvage) { progress(.copied($0, of: $1)) }
      try connection.begin(.immediate)
      let state = try SalvagedState.open(index, in: connection, as: context)
      try connection.storeChain(index.chain, of: state)
      // Damage must not hide that the state is an older one, or a fork.
      _ = try WitnessRule.check(state, against: reading, strict: true, connection)
      var rows = SalvagedRows(Snapshot(connection, state, NodeCache(), witnessed: reading), names)
      let root = try rows.write(from: index) { progress(.proved($0)) }
      var group = rows.group
      group.losesChain = try !connection.confirmChain(of: state)
      let signing = SalvagedState(state, authority: authority, context: context)
      group.epoch = try signing.sign(
        root: root, items: rows.itemCount, versions: rows.versionCount, wraps: index.wraps, time: now(), in: connection)
      try connection.commit()
      try connection.place()
      return group
    } catch {
      connection.discard()
      throw error
    }
  }

  private func raise(to state: VerifiedState) {
    _ = witness.raise { reading in
      switch reading {
      case .absent: state.witnessRecord(sequence: 1)
      case .valid(let record): state.witnessRecord(sequence: record.sequence + 1, flags: record.flags)
      case .invalid, .unavailable: nil
      }
    }
  }
}
