/// Something that the user should know although the operation succeeded.
@nonexhaustive
public enum Notice: Sendable, Hashable {
  /// No state is kept outside the store, so a rollback of a group would not be noticed.
  case witnessUnavailable(reason: String)
  /// The witness of a group is damaged; writing to the group is refused until its state is accepted.
  case witnessInvalid(group: String)
  /// The group has advanced by more states than its chain keeps, so nothing shows that this state follows the last one
  /// seen.
  case gap(group: String, from: UInt64, to: UInt64)
  /// A group could not be read, so an answer about all groups does not include it.
  case groupLeftOut(group: String, reason: String)

  /// A group's new key dropped rows that nobody signed, which anyone who can write the file can add. Includes the names
  /// of those that could be opened.
  case unsignedLeftBehind(group: String, rows: UInt64, names: [String])
  /// A group's new key dropped signed items and older versions that could no longer be proved. Includes the names that
  /// are known.
  case unprovedDropped(group: String, items: UInt64, versions: UInt64, names: [String])
  /// A group's file was too damaged to be changed in place, or another process kept it locked, so it was replaced.
  case groupRemade(group: String, keptAside: String)
  /// The owner's act is done, but could not be added to the record of decisions.
  case unrecorded(reason: String)
  /// The chain of a group's states was lost: machines that have not seen the last state must accept it.
  case chainLost(group: String)
}
