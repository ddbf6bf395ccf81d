/// What the owner knows of an application that he gave a credential to.
public struct Application: Sendable, Equatable {
  /// Its id, such as `com.example.notes`: the name of its private group too.
  public let id: String
  /// How often it was issued a new identity: 1 at first, +1 whenever a credential was replaced.
  public let issue: UInt32
  public let standing: Standing
  /// What its private group was declared to do when it is uninstalled.
  public let lifetime: GroupLifetime
  /// When it was issued first.
  public let created: Timestamp
  /// When its last credential was written; `nil` if none ever was.
  public let issued: Timestamp?

  /// How the application stands with the owner.
  @nonexhaustive
  public enum Standing: String, Sendable {
    /// Its newest credential opens its groups.
    case issued
    /// Issuing it was interrupted, or could not reach every group; the same command finishes it.
    case interrupted
    /// It is gone from the machine; its credential can be issued again.
    case uninstalled
    /// It is gone, and no credential of it opens anything.
    case revoked
  }
}

/// A group that an application is a member of.
public struct ApplicationGroup: Sendable, Equatable {
  /// The group's name.
  public let name: String
  public let rights: GroupMember.Rights
  /// What the group was declared to do when its application is uninstalled.
  public let lifetime: GroupLifetime
}

/// A group that a change of all groups could not be made in.
public struct UnchangedGroup: Sendable, Equatable {
  /// The group's name.
  public let name: String
  /// What is wrong with it.
  public let problem: VaultError
}

/// What issuing a credential came to.
public struct IssuedCredential: Sendable, Equatable {
  /// What the application gets to read in the groups that it was granted.
  public let admissions: [Admission]
  /// Groups that do not know the new credential, and may know the old one: the credential is written, and the same call
  /// finishes the rest when they are in order. Sorted by name.
  public let unchanged: [UnchangedGroup]
}

/// What somebody who is let into a group gets to read at once.
public struct Admission: Sendable, Equatable {
  /// The group's name.
  public let group: String
  public let rights: GroupMember.Rights
  /// Items, removed ones included.
  public let itemCount: UInt64
  /// Older versions that are kept: a new reader gets them too.
  public let versionCount: UInt64
}
