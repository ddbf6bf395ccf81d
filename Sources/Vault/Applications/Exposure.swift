internal import GroupFile

/// A value that a removed member could read, and that was not set anew since.
public struct Exposure: Sendable, Equatable {
  /// The group's name.
  public let group: String
  public let item: Item.Name
  /// The item's present version.
  public let version: UInt64
  /// When that version was written.
  public let changed: Timestamp
  /// Who could read it.
  public let readers: [Item.Writer]
}

extension SecretStore {
  /// The values that removed members could read and that are still unchanged, by group and name.
  ///
  /// Setting a value anew takes it off the list; that is what to do, because a removed member may have kept a copy.
  ///
  /// - Parameters:
  ///   - leftOut: called with the name of a group that does not verify, and what is wrong with it: the answer lacks it, or, where a
  ///     writer signed rows that no item can be, these rows.
  ///   - progress: called with each group's name.
  /// - Throws: ``VaultError/denied(_:)`` for anybody but the owner.
  public func exposure(
    leftOut: (String, VaultError) -> Void = { _, _ in }, progress: (String) -> Void = { _ in }
  ) throws(VaultError) -> [Exposure] {
    _ = try owner()
    var found: [Exposure] = []
    for name in try groupNames() {
      progress(name)
      let group = try group(name)
      do {
        let (values, isComplete) = try group.file.exposure { Item.Name(stored: $0) != nil }
        found += values.compactMap { Exposure($0, in: name) }
        if !isComplete { leftOut(name, .strangeRows(in: name)) }
      } catch {
        let problem = VaultError(error, group: name)
        notices.post(.groupLeftOut(group: name, reason: problem.message))
        leftOut(name, problem)
      }
    }
    return found
  }
}

extension Exposure {
  fileprivate init?(_ value: ExposedValue, in group: String) {
    guard let name = Item.Name(stored: value.name) else { return nil }
    self.init(
      group: group, item: name, version: value.version, changed: Timestamp(milliseconds: value.changed),
      readers: value.readers.map { .application($0.application, issue: $0.issue) })
  }
}
