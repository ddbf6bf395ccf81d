/// What putting a backup back came to.
public struct StoreRestoration: Sendable {
  /// Each group of the backup, sorted by name; the owner's registry is among them.
  public let groups: [Group]
  /// Groups that the owner's registry names and the backup does not hold, such as those that are bound to a device.
  public let missing: [String]

  /// What became of one group.
  public struct Group: Sendable {
    public let name: String
    public let outcome: Outcome
  }

  /// What became of a group.
  @nonexhaustive
  public enum Outcome: Sendable {
    /// The backup's state is in place. Where this machine, or another, has seen a newer one, they refuse it as rolled back
    /// until the group is accepted.
    case restored(Restored)
    /// The same state was there already, or one that an earlier call made of it.
    case unchanged
    /// Of the owner's registry: the store's own is in order, and so is the one that counts.
    case kept
    /// The group is as it was.
    case failed(VaultError)
  }

  /// A group that was restored.
  public struct Restored: Sendable {
    /// Present items.
    public let items: UInt64
    /// The number of the state that is in place now.
    public let epoch: UInt64
    /// Where the files are that were in its place before; `nil` if there were none.
    public let keptAside: String?
    /// Whether it got a new roster and a new key, because nothing here says what was seen of it before.
    public let isRenewed: Bool
    /// Who can open it, the owner included.
    public let members: [GroupMember]
  }
}
