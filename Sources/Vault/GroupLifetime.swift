/// What happens to a group when its application is uninstalled: the owner declares it when he makes the group.
public enum GroupLifetime: String, Sendable, CaseIterable {
  /// The group stays with all its items, for the application's next installation.
  case survives
  /// The group is removed, unless another application is a member.
  case purged
}
