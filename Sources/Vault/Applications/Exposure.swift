/// A value that removed members could read.
public struct Exposure: Sendable, Equatable {
  /// The group's name.
  public let group: String
  public let item: Item.Name
  /// The item's current version.
  public let version: UInt64
  /// When that version was written.
  public let changed: Timestamp
  /// The newest version that they could read, if the value was changed since.
  public let readVersion: UInt64?
  /// The removed members that could read it.
  public let readers: [Item.Writer]
}

extension SecretStore {
  /// The values that removed members could read and that have not been changed since, by group and name.
  ///
  /// Change these values, because a removed member may have kept a copy; a changed value leaves the list.
  ///
  /// - Parameters:
  ///   - includesChanged: whether to list changed values, too, because one of several fields may be what it was.
  ///   - leftOut: called with a group's name and error if the group has no files or fails verification, so that the
  ///     result lacks it, or if a writer signed rows that are not valid items and these rows are missing.
  ///   - progress: called with each group's name.
  /// - Throws: ``VaultError/denied(_:)`` for anyone but the owner.
  public func exposure(
    includingChanged includesChanged: Bool = false, leftOut: (String, VaultError) -> Void = { _, _ in },
    progress: (String) -> Void = { _ in }
  ) throws(VaultError) -> [Exposure] {
    _ = try owner()
    func leaveOut(_ name: String, _ problem: VaultError) {
      notices.post(.groupLeftOut(group: name, reason: problem.message))
      leftOut(name, problem)
    }
    var found: [Exposure] = []
    // The store's own groups hold no values: bindings are not secret, and the record opens for the owner alone.
    for name in try itemGroupNames() {
      progress(name)
      let file = try group(name).file
      do {
        var exposed: [Exposure] = []
        let areValid = try file.eachExposure { item, readVersion, readers in
          guard let itemName = try? Item.Name(stored: item.attributes.name) else { return false }
          guard !readers.isEmpty, readVersion == nil || includesChanged else { return true }
          // What `vaultd` writes there has no value of its own, only numbers, times and attributes.
          guard !itemName.isCompanion || item.attributes.valueKind != SecretKind.json.rawValue else { return true }
          exposed.append(
            Exposure(
              group: name, item: itemName, version: item.row.version,
              changed: Timestamp(milliseconds: item.attributes.changed), readVersion: readVersion, readers: readers))
          return true
        }
        found += exposed.sorted { $0.item.description < $1.item.description }
        if !areValid { leftOut(name, .strangeRows(group: name)) }
      } catch {
        leaveOut(name, error.named(name))
      }
    }
    for (name, problem) in vanishedGroups() where (try? AccessGroup.Name(name))?.isReserved == false {
      leaveOut(name, problem)
    }
    return found
  }
}
