internal import GroupFile
internal import Sealing

extension SecretStore {
  /// Looks at a group, and looks again where the first look may have met a group that was just being made or removed.
  ///
  /// A group's file, its witness and its entry in the registry cannot change at the same moment. Whoever makes or removes a
  /// group holds the lock of the folder of groups until all three agree, so what the second look finds under that lock is true.
  ///
  /// - Parameter look: may be called twice.
  /// - Returns: what `look` returned; `nil` for a group that was removed meanwhile.
  /// - Throws: what `look` throws; ``VaultError/busy(group:)`` where the lock is held for too long.
  func settled<Result>(
    _ name: String, _ look: () throws(VaultError) -> Result
  ) throws(VaultError) -> Result? {
    testOnlyWillLook(at: name)
    do {
      return try look()
    } catch {
      guard error.canPass else { throw error }
    }
    testOnlyWillLook(at: name)
    do throws(VaultError) {
      return try keepingGroups(look)
    } catch {
      guard case .notFound(.group) = error else { throw error }
      return nil
    }
  }

  func testOnlyWillLook(at name: String) { testOnlyBeforeLook.withLock { $0 }?(name) }

  /// Runs `body` while nobody makes, shares or removes a group. An application that may not open the folder of groups runs
  /// it nevertheless.
  func keepingGroups<Result>(_ body: () throws(VaultError) -> Result) throws(VaultError) -> Result {
    if !access.isOwners, (try? location.groupNames()) == nil { return try body() }
    let groups = try location.lockedGroups()
    defer { groups.file.unlock() }
    return try body()
  }
}

extension VaultError {
  /// Whether a group that is just being made or removed can look like this.
  fileprivate var canPass: Bool {
    switch self {
    case .notFound(.group), .rolledBack, .damaged(_, "witness", _), .damaged(_, "container", _): true
    case .denied(.permissions): true
    default: self == VaultError(.moved, group: "")
    }
  }
}
