import Sealing

/// The limits of one group file (format article, "Limits"). Each is checked before memory is taken.
package enum GroupLimits {
  /// A value's largest size: 1 MiB.
  package static let secretByteCount = 1 << 20
  /// All encoded attributes of one item: 64 KiB.
  package static let attributesByteCount = 64 << 10
  /// An item's name, in bytes of its NFC form.
  package static let nameByteCount = 1_024
  /// An item of this version cannot be changed any more: the next would be no counter.
  package static let lastVersion = ByteReader.counterLimit - 1
  /// Pairs in one item's attributes.
  package static let attributeCount = 64
  /// A sealed secret up to this size stands in its row; a longer one in a blob of its own.
  package static let inlineSecretByteCount = 512
  /// Manifests that the chain keeps.
  package static let chainLength: UInt64 = 4_096
  /// Versions a group may keep of one item, the current one included.
  package static let keptVersions: ClosedRange<UInt16> = 1...1_000
  /// How far an application's states may be above the roster's first: more than anybody writes in earnest, and so little that
  /// one who writes on purpose leaves the owner room for thousands of new rosters.
  package static let epochsPerRoster: UInt64 = 1 << 40
  /// Members of one group.
  package static let memberCount = 4_096
  /// Entries about removed members.
  package static let removedCount = 4_096
  /// A stored roster's largest size.
  package static let rosterByteCount = 1 << 20
}
