internal import Glibc

/// The folder `set-aside` in the store: new groups are drafted in it before they replace others, and replaced files are
/// kept in it.
///
/// Each process makes drafts in a folder of its own, which it keeps locked. An unlocked one was left by a killed
/// process, and the next process removes it.
struct DraftFolder: ~Copyable {
  private let home: String
  private let parent: Folder
  private let folder: Folder
  private let name: String

  static let parentName = "set-aside"
  private static let prefix = ".draft-"
  private static let lockPrefix = ".lock-"

  /// Makes the folder in the store at `home`. What was at its place and could not be used is moved to the path that
  /// `moved` gets.
  static func make(in home: String, moved: (String) -> Void = { _ in }) throws(VaultError) -> DraftFolder {
    let deadline = Deadline(after: 10_000)
    while true {
      do throws(FileFault) { return try DraftFolder(home, moved) } catch {
        // Another process may remove the empty parent folder at the same moment.
        guard error == .missing || error == .busy, FileIdentity(home) != nil else {
          throw VaultError(error, at: .store)
        }
        guard !deadline.hasPassed else { throw .busy(group: nil) }
        usleep(1_000)
      }
    }
  }

  private init(_ home: String, _ moved: (String) -> Void) throws(FileFault) {
    let store = try Folder(home, .visible(), followingLink: true)
    try store.makeFolder(DraftFolder.parentName)
    let parent: Folder
    do throws(FileFault) { parent = try store.folder(DraftFolder.parentName, .secret()) } catch {
      switch error {
      case .missing, .busy, .storage: throw error
      default: break
      }
      // Something else at this path, such as a file or a folder that is open to others, must not keep a member from
      // being removed. It is ours to move, because nobody else may write to the store's folder.
      guard let aside = NewName.moveAside("\(home)/\(DraftFolder.parentName)") else { throw error }
      moved(aside)
      throw .missing
    }
    // Until it is locked, another process would take the new folder for that of a killed one.
    try parent.lock(waiting: 10_000)
    let name = DraftFolder.prefix + String(UInt64.random(in: .min ... .max), radix: 16)
    guard Folder.makeNew(name, in: parent.file.descriptor) else { throw FileFault(errno: errno) }
    let folder = try parent.folder(name, .secret())
    try folder.lock(waiting: 0)
    DraftFolder.takeLeft(parent, into: folder)
    parent.unlock()
    // What was left may be large, and others need not wait until it is removed.
    for name in (try? folder.names(hidden: true)) ?? [] { DraftFolder.remove(name, in: folder) }
    self.home = home
    self.name = name
    self.parent = parent
    self.folder = folder
  }

  deinit {
    let path = "\(home)/\(DraftFolder.parentName)/\(name)"
    if let path = try? CanonicalPath.of(path) { ConnectionPool.forget(inside: path) }
    DraftFolder.remove(name, in: parent)
    // Removes the parent folder only if it is empty.
    unsafe rmdir("\(home)/\(DraftFolder.parentName)")
  }

  /// Moves the folders that killed processes left into that of this one, and removes their lock files.
  private static func takeLeft(_ parent: borrowing Folder, into own: borrowing Folder) {
    for name in (try? parent.names(hidden: true)) ?? [] {
      if name.hasPrefix(lockPrefix), let lock = try? parent.lockFile(name, waiting: 0) {
        if parent.holds(lock, name) { try? parent.remove(name) }
        lock.unlock()
      }
      guard name.hasPrefix(prefix), let old = try? parent.folder(name, .secret()),
        (try? old.lock(waiting: 0)) != nil
      else { continue }
      unsafe renameat(parent.file.descriptor, name, own.file.descriptor, name)
    }
  }

  /// What other users keep from being removed gets another name, so that it is not tried again and again.
  private static func remove(_ name: String, in parent: borrowing Folder) {
    do throws(FileFault) { try parent.removeTree(name) } catch {
      let kept = "left-" + String(UInt64.random(in: .min ... .max), radix: 16)
      unsafe renameat(parent.file.descriptor, name, parent.file.descriptor, kept)
    }
  }

  /// Calls `body` while no other process or thread puts new files in the place of those of `groups`.
  ///
  /// A group's own lock does not ensure that, because others who may write its files can keep it, and then it is
  /// replaced. Nobody but the owner can open this one.
  ///
  /// - Parameter groups: sorted, so that two callers do not wait for each other. For the same reason, everybody takes these
  ///   locks before that of the folder of groups.
  /// - Throws: ``VaultError/busy(group:)`` after ten seconds, and what `body` throws.
  func locking<Result>(
    _ groups: ArraySlice<AccessGroup.Name>, _ body: () throws(VaultError) -> Result
  ) throws(VaultError) -> Result {
    guard let group = groups.first else { return try body() }
    let name = "\(DraftFolder.lockPrefix)\(group)"
    let file = try lockFile(name, of: group)
    defer {
      if parent.holds(file, name) { try? parent.remove(name) }
      file.unlock()
    }
    return try locking(groups.dropFirst(), body)
  }

  private func lockFile(_ name: String, of group: AccessGroup.Name) throws(VaultError) -> OpenFile {
    while true {
      do throws(FileFault) {
        let file = try parent.lockFile(name, waiting: 10_000)
        // Whoever had the lock before has removed the file.
        if parent.holds(file, name) { return file }
      } catch {
        // Only this user could put something else there, which would keep the owner from removing anybody.
        let path = "\(home)/\(DraftFolder.parentName)/\(name)"
        if [.wrongKind, .link].contains(error), NewName.moveAside(path) != nil { continue }
        throw error == .busy ? .busy(group: group.description) : VaultError(error, at: .store)
      }
    }
  }

  /// The unused paths for replacing the files of `group`.
  func places(of group: AccessGroup.Name) -> DraftPlaces {
    DraftPlaces(draft: path(of: group), kept: keepingPath(of: group))
  }

  func path(of group: AccessGroup.Name) -> String { "\(home)/\(DraftFolder.parentName)/\(name)/\(group)" }

  func removeFiles(_ path: String) { DraftFolder.remove(CanonicalPath.split(path).name, in: parent) }

  /// All folders with files of `group` that were replaced.
  func kept(of group: AccessGroup.Name) -> [String] {
    let prefix = "\(group)-"
    // The name of another group may begin with the name of this one.
    let names = ((try? parent.names()) ?? []).filter { name in
      let time = name.dropFirst(prefix.count).prefix(UTCDate.text(0).count)
      return name.hasPrefix(prefix) && time.contains("T") && time.last == "Z"
    }
    return names.map { "\(home)/\(DraftFolder.parentName)/\($0)" }
  }

  /// Puts the files of `group` back at `target` if a killed process had only moved them away.
  func putBack(_ group: AccessGroup.Name, at target: String) {
    let kept = kept(of: group)
    let moved = kept.last { path in
      path.hasSuffix(DraftPlaces.movedMark) && kept.contains(String(path.dropLast(DraftPlaces.movedMark.count)))
    }
    guard let moved, (try? NewName.give(target, to: moved)) != nil else { return }
    for path in [target, moved] { try? Connection.synchronize(CanonicalPath.split(path).folder) }
  }

  /// An unused path for keeping the current files of `group`.
  func keepingPath(of group: AccessGroup.Name) -> String {
    let base = "\(group)-\(UTCDate.text(Int64(SystemClock.milliseconds())))"
    var name = base
    var number = 1
    let endings = ["", DraftPlaces.lockedMark, DraftPlaces.lockedMark + "+copy"]
    while endings.contains(where: { parent.contains(name + $0) }) {
      number += 1
      name = "\(base)-\(number)"
    }
    return "\(home)/\(DraftFolder.parentName)/\(name)"
  }
}

extension SecretStore {
  /// A new draft folder of this process, and a notice if something else was in its place.
  func draftFolder() throws(VaultError) -> DraftFolder {
    try DraftFolder.make(in: location.home) { notices.post(.setAsideMoved(to: $0)) }
  }

  /// Calls `body` with a new draft folder while no other process or thread of the owner puts new files in the place of
  /// those of `group`.
  func replacing<Result>(
    _ group: AccessGroup.Name, _ body: (borrowing DraftFolder) throws(VaultError) -> Result
  ) throws(VaultError) -> Result {
    let drafts = try draftFolder()
    func shape() -> ContainerShape? {
      try? ContainerPlace(folder: location.groupFolder(group.description)).containerShape()
    }
    func removeLeftFiles(telling tells: Bool) {
      // Replaced because somebody kept the lock of the group, and not read then, or not by a process that was killed. They
      // may have a state that the group lacks.
      let left = drafts.kept(of: group).filter { $0.place(of: DraftPlaces.lockedMark) != nil }
      guard !left.isEmpty else { return }
      let file = try? file(of: group)
      let superseded = file?.superseded(of: left, salvagingIn: drafts.path(of: group) + ".left") ?? []
      for path in superseded { drafts.removeFiles(path) }
      for path in left where tells && !superseded.contains(path) {
        notices.post(.filesLeft(group: group.description, path: path))
      }
    }
    return try drafts.locking([group]) { () throws(VaultError) in
      // A group that was removed stays away.
      let known = group == .registry ? nil : try? registry().entry(of: group)
      if !location.hasGroup(group), group == .registry || known.map({ isExpected(group, $0) }) == true {
        drafts.putBack(group, at: location.groupFolder(group.description))
      }
      let before = shape()
      // Files that were prepared for the present state can be recognized only before the change.
      removeLeftFiles(telling: false)
      defer {
        let after = shape()
        if let before, before != .closed, before.attainable == .closed, after == .closed {
          notices.post(.groupClosed(group: group.description))
        }
        // Another command may have found no shared group while this one's was closed.
        if before != .closed || after != .closed {
          try? lockingGroups { (groups) throws(VaultError) in try location.settleEntrance(groups) }
        }
        removeLeftFiles(telling: true)
      }
      return try body(drafts)
    }
  }
}
