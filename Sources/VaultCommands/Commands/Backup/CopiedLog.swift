import Glibc
internal import Ground
internal import Vault

/// The log of a group in a copy of a store: `group.vault-wal`, which may hold the newest states.
///
/// A backup by `vault backup` has none, and lacks nothing. A store has one next to each group's file, which a copy can
/// leave out. The copy then opens in an older state, and nothing in the group's file shows that.
enum CopiedLog {
  /// The log is there, or the folder does not look like a copy of a store.
  case complete
  /// The log is not there, and its index says that it held changes that are not in the group's file.
  case missing
  /// The log is not there, and nothing says what it held.
  case unknown

  /// - Parameters:
  ///   - group: the group's folder in the copy.
  ///   - folder: the folder of the whole copy.
  init(of group: String, in folder: String) {
    func has(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }
    guard !has("\(group)/group.vault-wal") else {
      self = .complete
      return
    }
    guard let index = try? OpenFile("\(group)/group.vault-shm", O_RDONLY), let isAhead = CopiedLog.isAhead(index) else {
      // Only a store has locks.
      self = has("\(group)/lock") || has("\(folder)/identity/lock") ? .unknown : .complete
      return
    }
    self = isAhead ? .missing : .complete
  }

  /// Whether the log had changes that are not in the group's file, according to its index
  /// (https://www.sqlite.org/walformat.html); nil if that is not an index.
  private static func isAhead(_ index: borrowing OpenFile) -> Bool? {
    guard let bytes = index.bytes(100, at: 0), bytes[..<48] == bytes[48..<96] else { return nil }
    func number(at offset: Int) -> UInt32 { bytes[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) } }
    guard number(at: 0) == 3_007_000 else { return nil }
    return number(at: 16) > number(at: 96)
  }
}

extension StoreRestoration {
  /// Warns of groups that came back from a copy without their logs.
  func warnOfMissingLogs(in folder: String, _ session: Session) {
    for group in groups {
      guard case .restored = group.outcome else { continue }
      switch CopiedLog(of: "\(folder)/groups/\(group.name)", in: folder) {
      case .complete: break
      case .missing:
        session.warn(
          "'\(group.name)' came back without its newest changes: they were in group.vault-wal, which this copy of a store lacks; if you still have that file, put it next to group.vault in the copy, then: vault restore-backup DIR \(group.name) --replace"
        )
      case .unknown:
        session.warn(
          "the newest changes of '\(group.name)' may be missing: this copy of a store has no group.vault-wal, in which they are until they move to group.vault"
        )
      }
    }
  }
}
