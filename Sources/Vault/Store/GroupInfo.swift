/// A group's metadata.
public struct GroupInfo: Sendable {
  public let name: String
  /// The group's permanent random identifier, in hexadecimal digits.
  public let id: String
  /// The number of its current state; every change adds 1.
  public let epoch: UInt64
  /// The number of its current key; every rotation adds 1.
  public let generation: UInt64
  /// The number of its current roster; every change of members adds 1.
  public let rosterRevision: UInt64
  /// The number of items, removed ones included.
  public let itemCount: UInt64
  /// The number of older versions.
  public let versionCount: UInt64
  /// How many versions of each item are kept, the current one included.
  public let keep: Int
  /// What happens to the group when its application is uninstalled.
  public let lifetime: GroupLifetime
  /// Whether the group can be opened only with this machine's device key.
  public let isThisDeviceOnly: Bool
  /// Whether a cluster orders its changes.
  public let isPublished: Bool
  /// The Unix group that may use its files; `nil` if only their owner may.
  public let unixGroup: UnixGroup?
  public let members: [Member]
  /// When the state was written, by the writer's clock.
  public let changed: Timestamp
}

extension AccessGroup {
  /// The group's metadata.
  public func info() throws(VaultError) -> GroupInfo {
    // First, because it says why a group has no files.
    let state = try verifiedState()
    let file = try file
    let shape = try inGroup(name.description, file.resolvedPlace().containerShape())
    notices.post(file.interruption(of: name.description))
    return GroupInfo(
      name: name.description, id: state.roster.groupID.hexadecimal, epoch: state.manifest.epoch,
      generation: state.manifest.generation, rosterRevision: state.roster.revision,
      itemCount: state.manifest.itemCount, versionCount: state.manifest.versionRowCount, keep: Int(state.roster.keep),
      lifetime: GroupLifetime(state.roster.flags), isThisDeviceOnly: state.roster.flags.contains(.thisDeviceOnly),
      isPublished: state.isPublished, unixGroup: shape.unixGroup, members: state.roster.members,
      changed: Timestamp(milliseconds: state.manifest.time))
  }
}

/// What happens to a group when its application is uninstalled; the owner decides it when creating the group.
public enum GroupLifetime: String, Sendable, CaseIterable {
  /// The group is kept with all its items, for the application's next installation.
  case survives
  /// The group is removed, unless another application is a member.
  case purged
}
