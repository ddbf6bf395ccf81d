package import Sealing

/// One entry of a roster: who may read or write a group, and how its key is wrapped for him.
package struct Member: Sendable, Equatable {
  package enum Kind: UInt8, Sendable {
    /// The owner, by his personal member seed (in the owner's registry: by the registry seed).
    case owner = 0
    /// An application whose seed the owner derives.
    case application = 1
  }

  package enum Rights: UInt8, Sendable, Comparable {
    case read = 1
    case write = 2

    package static func < (left: Rights, right: Rights) -> Bool { left.rawValue < right.rawValue }
  }

  package var kind: Kind
  package var rights: Rights
  /// The issue number of an application's seed; 0 for the owner.
  package var issue: UInt32
  /// The application's id; empty for the owner.
  package var application: String
  /// The key that signs this member's manifests.
  package var signingKey: PublicKey
  /// Where this member's wrap stands: 16 bytes.
  package var slotID: [UInt8]
  /// `H("vault1.wrap.hash", slot id ‖ wrap)`.
  package var wrapDigest: Digest

  /// The member as the writer of a version.
  package var asWriter: Attributes.Writer {
    Attributes.Writer(kind: kind, issue: issue, application: application)
  }
}

/// A member that a roster no longer has, kept so that it can be told what he could read.
package struct RemovedMember: Sendable, Equatable {
  package var issue: UInt32
  package var application: String
  /// The last generation whose key he held.
  package var lastGeneration: UInt64
  /// The epoch at which he was removed.
  package var epoch: UInt64

  package init(issue: UInt32, application: String, lastGeneration: UInt64, epoch: UInt64) {
    self.issue = issue
    self.application = application
    self.lastGeneration = lastGeneration
    self.epoch = epoch
  }
}
