public import GroupFile

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
  public let who: Writer
  public let rights: MemberRights
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
    self.init(who: member.asWriter, rights: member.rights)
  }
}

/// What happens to a group when its application is uninstalled: the owner declares it when he makes the group.
public enum GroupLifetime: String, Sendable, CaseIterable {
  /// The group stays with all its items, for the application's next installation.
  case survives
  /// The group is removed, unless another application is a member.
  case purged
}

extension AccessGroup {
  /// A valid name of an access group: `[a-z0-9][a-z0-9._-]{0,127}`, without `..`.
  ///
  /// Other names are refused, not folded, because the name is a folder's name and part of what the owner signs.
  public struct Name: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// Checks `text`.
    ///
    /// - Throws: ``VaultError/invalid(_:)``.
    public init(_ text: String) throws(VaultError) {
      guard FolderName.isValid(text) else {
        throw .invalid(
          "a group's name has 1 to 128 of the characters a-z 0-9 . _ - and begins with a letter or digit, without '..'")
      }
      description = text
    }

    private init(trusted: String) { description = trusted }

    /// The group that `init` makes and that is meant where none is named.
    public static let `default` = Name(trusted: "default")
    /// The owner's registry of groups and applications; not for items.
    static let registry = Name(trusted: "vault.owner")

    /// Whether the name is kept for the store itself.
    var isReserved: Bool { description.hasPrefix("vault.") }
  }
}
