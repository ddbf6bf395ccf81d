internal import CVaultSQLite
internal import Glibc
internal import Sealing

extension AccessGroupFile {
  /// Gives the group another shape while nobody writes: a new folder with copies of the files replaces the old one, so
  /// that whoever has those open has no hold on the new ones. The contents are not checked. Returns whether the old
  /// files were moved to `places.kept`, because they may have a state that the new ones lack. On an error the group is
  /// as before.
  package func take(_ shape: ContainerShape, at places: DraftPlaces) throws(VaultError) -> Bool {
    let place = try resolvedPlace()
    // An exchange would leave the files where the link leads.
    guard try ContainerPlace.status(folder)?.isFolder != false else { throw .storage(.fixedFolder) }
    do throws(VaultError) {
      // Checked before locking, which would report a link's own mode as too wide.
      _ = try place.file()
      let lock = try WriterLock(at: place, toChangeModes: true, replacing: true)
      return try withClosedFiles(of: place, under: lock, at: places, for: shape) {
        (place, lock, isCopy) throws(VaultError) in
        if isCopy, shape == .closed { return false }
        let draft = try GroupDraft(in: places.draft, for: folder, shape: shape)
        try SalvageCopy.duplicate(
          place, to: ContainerPlace(folder: draft.folder), shape, shape == .closed ? .trusted : .toShare)
        let isCovered =
          !lock.isShared && compare(draft.folder, with: place.folder, salvagingIn: places.draft + ".proof").isCovered
        return try draft.takeWhileLocked(keeping: places.kept, dropping: isCovered)
      }
    } catch {
      throw error == .permissionDenied ? meaning(of: error, toWrite: false) : error
    }
  }

  /// Runs `body` with the lock of files that nobody else can write: those at `place`, or closed copies in their place.
  /// What was acknowledged is in the copies, because each writer looks at the path after its commit; what is written
  /// later to the replaced files counts as not done. These are at `places.kept` with the suffix
  /// `DraftPlaces.lockedMark`, and stay there only if they may have a state that the copies lack. On an error they are
  /// back in their place, unless `body` has put others there. `shape` is the one that `body` gives the group, `nil` for
  /// a removal; `isRebuilt` says that `body` makes new files, so that others never read the copies.
  func withClosedFiles<Result>(
    of place: ContainerPlace, under lock: borrowing WriterLock, at places: DraftPlaces, for shape: ContainerShape?,
    rebuilding isRebuilt: Bool = false,
    _ body: (ContainerPlace, borrowing WriterLock, Bool) throws(VaultError) -> Result
  ) throws(VaultError) -> Result {
    guard let status = try ContainerPlace.status(folder), status.isFolder, lock.isShared || status.mode & 0o022 != 0
    else { return try body(place, lock, false) }
    // Then others can also replace the lock at any time.
    let isOpen = status.mode & 0o022 != 0
    let isForOthers = !isRebuilt && shape != nil && shape != .closed
    let source: CopySource = isForOthers ? .toShare : isOpen && !isRebuilt ? .untrusted : .trusted
    // Whoever is not in the Unix group would lose the folder's set-group-ID bit, and could not set it again.
    let unixGroup = UnixGroup(number: status.st_gid)
    let modes: (open: mode_t, closed: mode_t)? =
      unixGroup.isOurs ? (status.mode, status.mode & 0o2000 | 0o700) : nil
    let staysOpen = isOpen && shape?.unixGroup?.number == unixGroup.number
    let closed = staysOpen ? ContainerShape.interrupted(unixGroup) : .closed
    let kept = places.kept + DraftPlaces.lockedMark
    let salvage = places.draft + ".proof"
    // What readers see, if they see a whole state.
    var copy = try FolderCopy(
      of: place, in: places.draft + ".copy", for: folder, closed, source, locking: !isOpen, keepingAll: isRebuilt,
      reading: isRebuilt ? nil : try? unwitnessed().lookAlone())
    var isCovered = false
    func drop() { if isCovered || shape == nil { try? NewName.give(places.draft + ".copy", to: kept) } }
    do throws(VaultError) {
      _ = try copy.draft.takeWhileLocked(keeping: kept, dropping: false)
      // From now on, others reach nothing there but what they have open.
      if let modes { unsafe chmod(kept, modes.closed) }
      // More than once, because somebody may have written to them meanwhile, or go on for a moment.
      for number in 1...4 {
        let present: Proof?
        (isCovered, present) = compare(folder, with: kept, keepingAll: isRebuilt, salvagingIn: salvage)
        if isCovered || number == 4 { break }
        if number > 1 { usleep(300_000) }
        // Somebody may have altered the index, so that readers see an older state than the log proves, or linked the log.
        // If less is proved by it, it does not count. Of two states of one epoch, that of the index was acknowledged: a
        // killed writer's is overwritten in the log.
        let isByLog = number == 2
        let again = try FolderCopy(
          of: ContainerPlace(folder: kept), in: places.draft + ".copy+\(number)", for: folder, closed,
          isByLog && !isForOthers ? .trusted : source, locking: !isOpen, ignoringIndex: isByLog, keepingAll: isRebuilt)
        let copied = again.draft.folder
        guard
          let second = proof(of: try? unwitnessed(in: copied).beginReading(), in: copied, salvagingIn: salvage),
          present.map({ $0 < second || !isByLog && second.isFork(of: $0) }) ?? true
        else { continue }
        _ = try again.draft.takeWhileLocked(keeping: kept + "+copy", dropping: true)
        copy = again
      }
      let result = try body(ContainerPlace(folder: folder), copy.lock, true)
      drop()
      return result
    } catch {
      // Whether the copies are in the place of the group's files.
      if let found = try? ContainerPlace.identity(of: folder), found == copy.identity {
        if let modes { unsafe chmod(kept, modes.open) }
        try? copy.draft.putBack(kept, movingTo: places.draft + ".copy")
      } else {
        drop()
      }
      throw error
    }
  }

  /// Compares the files in `folder` with those at `kept`.
  ///
  /// - Parameter keepsAll: whether what readers of `kept` do not see was copied, too.
  /// - Returns: whether they have all that is at `kept`, which may go then, and what is proved in them.
  private func compare(
    _ folder: String, with kept: String, keepingAll keepsAll: Bool = false, salvagingIn salvage: String
  ) -> (isCovered: Bool, proof: Proof?) {
    let view = try? unwitnessed(in: folder).beginReading()
    let proof = proof(of: view, in: folder, salvagingIn: salvage)
    guard let proof, keepsAll || proof.isComplete, proof.epoch >= witness.read().record?.epoch ?? 0 else {
      return (false, proof)
    }
    return (covers(kept, view, upTo: proof.epoch, keepingAll: keepsAll, salvagingIn: salvage), proof)
  }

  /// Those of the folders at `kept`, with replaced files, whose state the group has or descends from, with all its rows; and
  /// those that were only prepared, and never in the group's place.
  package func superseded(of kept: [String], salvagingIn salvage: String) -> [String] {
    let found = kept.map { (path: $0, state: try? unwitnessed(in: $0).lookAlone(with: nil).state) }
      .filter { $0.state != nil }
    guard !found.isEmpty, let view = try? beginReadingAlone(), (try? FullProof.run(view)) != nil else { return [] }
    return found.filter { path, state in
      // Nobody has written under a roster that follows the group's and has only the state that it began with.
      if let state, state.roster.previous == view.state.signedRoster.digest,
        state.manifest.epoch == state.roster.firstEpoch, unwitnessed(in: path).holdsOnly(state)
      {
        return true
      }
      return covers(path, view, upTo: view.state.manifest.epoch, keepingAll: false, salvagingIn: salvage)
    }.map(\.path)
  }

  /// Whether `view` shows, or descends from, each signed state in the files at `kept`: by their index, and by their log.
  private func covers(
    _ kept: String, _ view: Snapshot?, upTo epoch: UInt64, keepingAll keepsAll: Bool, salvagingIn salvage: String
  ) -> Bool {
    let files = unwitnessed(in: kept)
    if let view, files.holdsOnly(view.state) { return true }
    var isSeen = keepsAll
    do {
      let place = try ContainerPlace(folder: kept)
      for index in try [LogIndex(place), nil] {
        let old: VerifiedState
        do { old = try files.lookAlone(with: index).state } catch VaultError.damaged { continue }
        guard let view, old.manifest.groupID == view.state.manifest.groupID,
          try old.link == view.state.link || view.descends(from: old.manifest.epoch, old.link.bytes)
        else { return false }
        isSeen = true
      }
      return try isSeen && newestEpoch(at: place, salvagingIn: salvage) <= epoch
    } catch {
      return false
    }
  }

  /// What is proved in a folder with files of this group; `view` is what readers see, and `salvage` an unused path.
  private func proof(of view: Snapshot?, in folder: String, salvagingIn salvage: String) -> Proof? {
    if let view {
      return Proof(
        epoch: view.state.manifest.epoch, link: view.state.link, isComplete: (try? FullProof.run(view)) != nil)
    }
    let epoch = try? newestEpoch(at: ContainerPlace(folder: folder), salvagingIn: salvage)
    return epoch.map { Proof(epoch: $0, link: nil, isComplete: false) }
  }
}

/// A state of which at least the signatures are proved.
private struct Proof {
  let epoch: UInt64
  /// `nil` if readers do not see the state.
  let link: Digest?
  /// Whether all its rows are proved.
  let isComplete: Bool

  static func < (left: Proof, right: Proof) -> Bool {
    left.epoch != right.epoch ? left.epoch < right.epoch : !left.isComplete && right.isComplete
  }

  /// Whether readers see another state of the same epoch, of which as much is proved.
  func isFork(of other: Proof) -> Bool {
    guard let link, let others = other.link else { return false }
    return epoch == other.epoch && link != others && (isComplete || !other.isComplete)
  }
}

/// A new folder with copies of a group's files, which only this process can open and has locked.
private struct FolderCopy: ~Copyable {
  let draft: GroupDraft
  let lock: WriterLock
  let identity: FileIdentity?

  /// - Parameter isLocking: whether SQLite's lock of a reader is held meanwhile, so that an honest writer moves no pages from
  ///   the log to the file. The index of others, which they could cut short, is not used for that.
  init(
    of files: ContainerPlace, in folder: String, for target: String, _ shape: ContainerShape, _ source: CopySource,
    locking isLocking: Bool, ignoringIndex ignoresIndex: Bool = false, keepingAll keepsAll: Bool,
    reading view: consuming Snapshot? = nil
  ) throws(VaultError) {
    let draft = try GroupDraft(in: folder, for: target, shape: shape)
    let place = try ContainerPlace(folder: folder)
    let reader = isLocking ? try? Connection(at: files, access: .reading) : nil
    defer { reader?.close() }
    try? reader?.begin(.reading)
    // A log that has another name, or is not the one at the path, could be any file, of which SQLite's copy would show
    // pages that no table uses.
    let isFilled = view.map { view in
      unsafe (try? draft.fill(from: view)) != nil
        && (source == .trusted || csqlite_log_has_one_name(view.connection.handle.database) == 1)
    }
    if isFilled != true {
      Connection.remove(place)
      try SalvageCopy.duplicate(
        files, to: place, .closed, source, ignoringIndex: ignoresIndex, keepingAll: keepsAll)
    }
    let identity = try ContainerPlace.identity(of: folder)
    lock = try WriterLock(at: place)
    (self.draft, self.identity) = (draft, identity)
  }
}
