internal import GroupFile

/// What a group says about itself.
public struct GroupInfo: Sendable {
  public let name: String
  /// The random name of the group, for ever, in hexadecimal digits.
  public let id: String
  /// The number of its state, +1 per change.
  public let epoch: UInt64
  /// The number of its key, +1 per rotation.
  public let generation: UInt64
  /// The number of its roster, +1 per change of members.
  public let rosterRevision: UInt64
  /// Its items, removed ones included.
  public let itemCount: UInt64
  /// Older versions.
  public let versionCount: UInt64
  /// How many versions of an item stay, the present one included.
  public let keep: Int
  /// What becomes of it when its application is uninstalled.
  public let lifetime: GroupLifetime
  /// Whether it opens beside this machine's device key and nowhere else.
  public let isThisDeviceOnly: Bool
  /// The Unix group that may use its files; `nil` if they are their user's alone.
  public let unixGroup: UnixGroup?
  public let members: [GroupMember]
  /// When the state was written, by its writer's clock.
  public let changed: Timestamp
}

/// A member of a group.
public struct GroupMember: Sendable, Equatable {
  public let who: Item.Writer
  public let rights: Rights

  /// What a member may do.
  public enum Rights: String, Sendable {
    case read
    case write
  }
}

extension AccessGroup {
  /// What the group says about itself.
  public func info() throws(VaultError) -> GroupInfo {
    let shape: ContainerShape
    do { shape = try file.containerShape() } catch { throw VaultError(error, group: name.description) }
    let state = try reading { (transaction) throws(GroupFileError) in transaction.view.state }
    return GroupInfo(
      name: name.description, id: state.roster.groupID.hexadecimal, epoch: state.manifest.epoch,
      generation: state.manifest.generation, rosterRevision: state.roster.revision,
      itemCount: state.manifest.itemCount, versionCount: state.manifest.versionRowCount, keep: Int(state.roster.keep),
      lifetime: GroupLifetime(state.roster.flags),
      isThisDeviceOnly: state.roster.flags.contains(.thisDeviceOnly), unixGroup: UnixGroup(shape),
      members: state.roster.members.map(GroupMember.init),
      changed: Timestamp(milliseconds: state.manifest.time))
  }
}

extension GroupMember {
  init(_ member: Member) {
    self.init(who: Item.Writer(member.asWriter), rights: Rights(member.rights))
  }
}

extension Item.Writer {
  init(_ writer: Attributes.Writer) {
    self =
      switch writer.kind {
      case .owner: .owner
      case .application: .application(writer.application, issue: writer.issue)
      }
  }
}
