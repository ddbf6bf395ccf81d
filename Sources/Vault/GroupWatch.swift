internal import Glibc
internal import Sealing

/// A change of one item.
public struct ItemChange: Sendable, Equatable {
  public let name: Item.Name
  /// The current version; `nil` if the item was removed.
  public let version: UInt64?
}

/// Waits for changes of one group, whichever process makes them.
///
/// It compares proved states, so nothing is missed: not across an exchange of the group's files, and not while the
/// caller handles earlier changes. Several changes of one item may arrive as one, with the newest version.
public final class GroupWatch: Sendable {
  private let group: AccessGroup
  private let folder: String
  /// Reports writes to the folder; negative if the system allows this user no further one (usually 128).
  private let events: Int32
  /// A socket, which becomes readable when the watch is cancelled. A pipe could be inherited by a program that another
  /// thread starts meanwhile.
  private let cancelled: Int32
  private let known: Locked<Known>

  private struct Known {
    /// What the caller knows of the group.
    var group: GroupID?
    var generation: UInt64 = 0
    var tree: SeenTree?
    /// By their tokens, which depend on the key.
    var items: [Token: KnownItem] = [:]
    /// How long ago the files were last written to, as counted by the waits since then, in milliseconds.
    var quiet: Int32 = 0
    /// Whether writes to the folder are reported. If not, the group is looked at every second.
    var isReported = false
  }

  private struct KnownItem: Equatable {
    let name: Item.Name
    let version: UInt64
    /// An item can be made anew with a version that it had.
    let changed: UInt64
  }

  /// How often to look again for a group whose files may be being exchanged.
  private static let patience = 40
  /// How long to go on looking after the last write to the files, in milliseconds. A commit becomes visible only after
  /// the disk has confirmed the write, and no event reports that.
  private static let settling: Int32 = 30_000

  fileprivate init(_ group: AccessGroup) throws(VaultError) {
    self.group = group
    folder = try group.file.folder
    // A group whose files are gone is no unknown group.
    _ = try group.verifiedState()
    events = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
    cancelled = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard cancelled >= 0 else {
      if events >= 0 { close(events) }
      throw .storage(.tooManyFiles)
    }
    known = Locked(Known())
    // Watch before the first look, so that no change falls between the two.
    try watchFolder()
    _ = try look()
  }

  deinit { for descriptor in [events, cancelled] where descriptor >= 0 { close(descriptor) } }

  /// Waits until the group differs from what the previous call returned; at first, from what it was when the watch
  /// began.
  ///
  /// - Returns: the changes, sorted by name; `nil` after ``cancel()``.
  /// - Throws: ``VaultError/notFound(_:)`` if the group is removed; whatever a read of it throws.
  public func next() throws(VaultError) -> [ItemChange]? {
    var attempts = 0
    while true {
      do throws(VaultError) {
        try watchFolder()
        let changes = try look()
        if !changes.isEmpty { return changes }
        attempts = 0
        guard wait() else { return nil }
      } catch {
        // An exchange of the files can take several steps, and so can a removal of the group.
        guard GroupWatch.isPassing(error), attempts < GroupWatch.patience else { throw error }
        attempts += 1
        guard wait(atMost: 50) else { return nil }
      }
    }
  }

  private static func isPassing(_ error: VaultError) -> Bool {
    switch error {
    case .notFound(.group), .rolledBack(_, _, _, .broughtBack), .busy: true
    default: false
    }
  }

  /// Ends a call of ``next()`` in another thread, and all later ones.
  public func cancel() { shutdown(cancelled, Int32(SHUT_RD)) }

  /// Watches the folder that has the group's name now. Watching the same folder again changes nothing.
  private func watchFolder() throws(VaultError) {
    let mask = IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_MOVE_SELF | IN_DELETE_SELF
    for _ in 0..<GroupWatch.patience {
      let isReported = unsafe inotify_add_watch(events, folder, UInt32(mask)) >= 0
      let problem = errno
      known.withLock { $0.isReported = isReported }
      if isReported { return }
      switch problem {
      case ENOENT, ENOTDIR: throw .notFound(.group)
      // The owner may be replacing the files, and a read waits for that.
      case EACCES, EPERM: _ = try group.verifiedState()
      // A limit is reached, or a sandbox forbids it.
      default: return
      }
    }
    throw .denied(.permissions("the group's folder"))
  }

  /// Reads the rows of those leaves that have changed, or all rows under a new key.
  private func look() throws(VaultError) -> [ItemChange] {
    try known.withLock { (known) throws(VaultError) in
      let (before, found) = try group.reading { (view) throws(VaultError) in
        let state = view.state
        var found = Known(group: state.roster.groupID, generation: state.manifest.generation)
        let hasKey = (found.group, found.generation) == (known.group, known.generation)
        let opener = RowOpener(state: state, signer: state.signer, query: ItemQuery(), listsRemoved: false, text: nil)
        var before: [Token: KnownItem] = [:]
        var opened = OpenedRows()
        let tree = try view.compare(with: hasKey ? known.tree : nil, former: { before[$0] = known.items[$0] }) {
          (row) throws(VaultError) in
          try opener.add(row, to: &opened)
          opened.strange = []
          guard let item = opened.items.popLast() else { return }
          found.items[row.token] = KnownItem(
            name: item.name, version: item.version, changed: item.changed.milliseconds)
        }
        // A state that was already seen may grow too old; nothing of it is read again.
        if tree !== known.tree { try group.shared.requireRecent(state) }
        found.tree = tree
        return (hasKey ? before : known.items, found)
      }
      let old = Dictionary(before.values.map { ($0.name, $0) }) { $1 }
      let now = Dictionary(found.items.values.map { ($0.name, $0) }) { $1 }
      let changes = now.values.filter { old[$0.name] != $0 }.map { ItemChange(name: $0.name, version: $0.version) }
      let gone = old.keys.filter { now[$0] == nil }.map { ItemChange(name: $0, version: nil) }
      for token in before.keys { known.items[token] = nil }
      known.items.merge(found.items) { $1 }
      (known.group, known.generation, known.tree) = (found.group, found.generation, found.tree)
      return (changes + gone).sorted { $0.name.description < $1.name.description }
    }
  }

  /// Waits until it is time to look again: after a write to the files, and then more and more rarely for some time.
  func wait(atMost limit: Int32 = 1_000) -> Bool {
    let (quiet, isReported) = known.withLock { ($0.quiet, $0.isReported) }
    let milliseconds = quiet < GroupWatch.settling || !isReported ? min(max(quiet, 1), limit) : -1
    // One deadline for all events, because readers may cause many.
    let end = Deadline(after: Int(milliseconds))
    while true {
      // poll(2) passes over a negative descriptor.
      var requests = [events, cancelled].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      unsafe poll(&requests, 2, milliseconds < 0 ? -1 : end.millisecondsLeft)
      if requests[1].revents != 0 { return false }
      if drain() {
        known.withLock { $0.quiet = 0 }
        return true
      }
      if milliseconds >= 0, end.hasPassed {
        known.withLock { $0.quiet = min($0.quiet + milliseconds, GroupWatch.settling) }
        return true
      }
    }
  }

  /// Takes waiting events; if there are many, some are left for the next call.
  ///
  /// - Returns: whether one of them may be a change. Readers write to the index of the log and to the lock.
  private func drain() -> Bool {
    var isChange = false
    var buffer = [UInt8](repeating: 0, count: 16_384)
    let count = unsafe read(events, &buffer, buffer.count)
    var place = 0
    while place + 16 <= count {
      let length = Int(
        unsafe buffer.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: place + 12, as: UInt32.self) })
      let name = buffer[(place + 16)..<min(place + 16 + length, count)].prefix { $0 != 0 }
      if !["group.vault-shm", "lock"].contains(String(decoding: name, as: UTF8.self)) { isChange = true }
      place += 16 + length
    }
    return isChange
  }
}

extension AccessGroup {
  /// Starts to watch the group for changes.
  ///
  /// If the system reports no writes to the files, because of its limits for `inotify`, the group is looked at every
  /// second.
  ///
  /// - Throws: whatever a read of the group throws.
  public func watch() throws(VaultError) -> GroupWatch { try GroupWatch(self) }
}
