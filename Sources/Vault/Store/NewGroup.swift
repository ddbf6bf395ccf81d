/// How a new access group shall be.
public struct NewGroup: Sendable {
  /// How many versions of an item stay, the present one included: 1...1,000.
  public var keep: Int
  /// What becomes of the group when its application is uninstalled.
  public var lifetime: GroupLifetime
  /// Whether the group opens beside this machine's state folder and nowhere else. It cannot be shared with a Unix group.
  public var isThisDeviceOnly: Bool
  /// The Unix group that may use the group's files; `nil` leaves them to the user who makes it.
  public var unixGroup: UnixGroup?

  public init(
    keep: Int = 10, lifetime: GroupLifetime = .survives, isThisDeviceOnly: Bool = false,
    unixGroup: UnixGroup? = nil
  ) {
    self.keep = keep
    self.lifetime = lifetime
    self.isThisDeviceOnly = isThisDeviceOnly
    self.unixGroup = unixGroup
  }
}
