internal import CVaultSystem
internal import Glibc

/// A folder in which a group's file is prepared; once complete, it becomes the group, replacing an existing one.
///
/// The folder is moved as a whole: the old file, log and index stay together and unchanged, and nobody sees a group
/// that is half replaced.
package struct GroupDraft: Sendable {
  package let folder: String
  private let target: String
  package let fileMode: UInt32

  /// Makes the draft's folder, with the modes and the Unix group of `target`, if attainable, unless it gets another shape.
  ///
  /// - Throws: `denied`, `storage`, `exists`.
  package init(in folder: String, for target: String, shape: ContainerShape? = nil) throws(VaultError) {
    let status = shape == nil ? try ContainerPlace.status(target) : nil
    let shape = shape ?? status.flatMap { try? ContainerShape(folder: $0).attainable } ?? .closed
    (self.folder, self.target) = (folder, target)
    fileMode = shape.fileMode
    try shape.makeFolder(folder)
  }

  package var filePath: String { "\(folder)/\(ContainerPlace.groupFileName)" }

  /// Writes a file that is not SQLite's work to the disk, before SQLite opens it. What it replaces may be the only copy.
  package func synchronize() throws(VaultError) {
    try onDisk(OpenFile(filePath, O_RDONLY | O_NOFOLLOW).synchronize())
    try Connection.synchronize(folder)
  }

  package func fill(from group: Snapshot, progress: (MaintenanceProgress) -> Void = { _ in }) throws(VaultError) {
    try group.copy(to: folder, mode: fileMode, progress: progress)
    // Create an empty log and index, so that users who may only read the folder can open the file.
    try Connection(at: ContainerPlace(folder: folder), access: .writing).close()
  }

  /// Moves the draft to the group's place, while no writer is active there; returns whether the replaced files were
  /// moved to the unused path `kept`. If they are not needed (`drops`), they end in the draft's folder. It is `busy` if
  /// `isSame` says that the group has another state by now. On any error but `unconfirmed` the group is unchanged.
  package func take(
    keeping kept: String, dropping drops: Bool = false, if isSame: () -> Bool = { true }
  ) throws(VaultError) -> Bool {
    guard try ContainerPlace.status(target) != nil else {
      ConnectionPool.closeIdle(at: try ContainerPlace(folder: folder))
      try onDisk(NewName.give(target, to: folder))
      try confirm(folder)
      return false
    }
    let lock = try WriterLock(at: ContainerPlace(folder: target))
    guard isSame() else { throw .busy(group: nil) }
    let isKept = try takeWhileLocked(keeping: kept, dropping: drops)
    // The lock ends here, and not before.
    _ = lock.isShared
    return isKept
  }

  /// As `take(keeping:dropping:if:)`, while the writer lock of the group's place is held.
  func takeWhileLocked(keeping kept: String, dropping drops: Bool = false) throws(VaultError) -> Bool {
    let old = try ContainerPlace(folder: target)
    for place in [try ContainerPlace(folder: folder), old] { ConnectionPool.closeIdle(at: place) }
    // A folder without a group's file holds nothing to keep.
    let drops = drops || (try? old.checkVacant()) != nil
    // If the process is killed, the replaced files are where the drafts of killed processes are removed.
    if drops, try GroupDraft.exchange(folder, target) {
      try confirm(folder)
      return false
    }
    // First rename the draft to the path for the old files, so that a process killed from now on loses neither.
    try onDisk(NewName.give(kept, to: folder))
    do throws(VaultError) {
      if try !GroupDraft.exchange(kept, target) { try GroupDraft.exchangeInSteps(kept, target) }
    } catch {
      try? NewName.give(folder, to: kept)
      throw error
    }
    try confirm(kept)
    if drops { try onDisk(NewName.give(folder, to: kept)) }
    return !drops
  }

  /// Puts the files that the draft has replaced, which are at `kept`, back in their place, and moves the draft to the unused
  /// path `aside`.
  func putBack(_ kept: String, movingTo aside: String) throws(VaultError) {
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: target))
    if try !GroupDraft.exchange(kept, target) { try GroupDraft.exchangeInSteps(kept, target) }
    try? NewName.give(aside, to: kept)
    try? confirm(kept)
  }

  /// - Returns: `false` if the file system cannot exchange two folders.
  private static func exchange(_ draft: String, _ target: String) throws(VaultError) -> Bool {
    if unsafe csystem_exchange(draft, target) == 0 { return true }
    switch errno {
    case EINVAL, ENOSYS: return false
    case EXDEV, EBUSY: throw .storage(.fixedFolder)
    default: throw VaultError(FileFault(errno: errno))
    }
  }

  /// The same for any file system: the group is missing for a moment. If the process is killed then, the next change of the
  /// group, or verification, puts the old files back.
  private static func exchangeInSteps(_ draft: String, _ target: String) throws(VaultError) {
    let old = draft + DraftPlaces.movedMark
    try onDisk(NewName.give(old, to: target))
    do throws(FileFault) { try NewName.give(target, to: draft) } catch {
      try? NewName.give(target, to: old)
      throw VaultError(error)
    }
    do throws(FileFault) { try NewName.give(draft, to: old) } catch { throw .storage(.unconfirmed) }
  }

  /// - Throws: `storage(.unconfirmed)`, because the files are exchanged already.
  private func confirm(_ other: String) throws(VaultError) {
    do throws(VaultError) {
      for path in [target, other] { try Connection.synchronize(CanonicalPath.split(path).folder) }
    } catch {
      throw .storage(.unconfirmed)
    }
  }
}

/// The witness for a file that is not a group's file yet: it may be compared with one, and records nothing.
struct NoWitness: Witnessing {
  var known: (any Witnessing)?

  func read() -> WitnessReading { known?.read() ?? .absent }

  func raise(durably _: Bool, _ update: (WitnessReading) -> WitnessRecord?) -> Bool { true }
}

extension AccessGroupFile {
  /// The group's file, or another one of the group in `folder`, whatever this machine has seen of it.
  package func unwitnessed(in folder: String? = nil) -> AccessGroupFile {
    AccessGroupFile(
      folder: folder ?? self.folder, context: context, folderOwner: folder == nil ? folderOwner : nil,
      witness: NoWitness(), now: now)
  }

  /// The state at the group's place, proved completely, whatever this machine has seen before.
  ///
  /// - Throws: the errors of a reader, except those about the witness.
  package func provedState(
    progress: (UInt64) -> Void = { _ in }
  ) throws(VaultError) -> (state: VerifiedState, items: UInt64) {
    let transaction = try unwitnessed().beginReading()
    return (transaction.view.state, try FullProof.run(transaction.view, progress: progress).items)
  }
}
