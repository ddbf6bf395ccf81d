internal import GroupFile

/// What a group tells about one item without opening its secret.
public struct Item: Sendable, Equatable {
  /// The item's name, in NFC.
  public let name: Name
  /// A text for people.
  public let label: String?
  /// Keys and values to find the item by; at most 64.
  public let attributes: [String: String]
  /// The version's number, from 1.
  public let version: UInt64
  /// The oldest version that is kept.
  public let oldestVersion: UInt64
  /// When the item was made, by its writer's clock.
  public let created: Timestamp
  /// When this version was written, by its writer's clock.
  public let changed: Timestamp
  /// When the value should no longer be used.
  public let expires: Timestamp?
  /// What the value is.
  public let kind: SecretKind
  /// The name of an archived value's type.
  public let typeName: String?
  /// Who wrote this version, as its writer stated it.
  public let writer: Writer
  /// Whether that is only a claim: the state that shows the version was signed by another member, who could have made it up.
  public let isWriterClaimed: Bool
  /// Whether this version says that the item was removed.
  public let isRemoved: Bool

  /// The member that wrote a version.
  public enum Writer: Sendable, Equatable {
    case owner
    case application(String, issue: UInt32)
  }
}

/// A moment in milliseconds since 1970-01-01 00:00 UTC.
public struct Timestamp: Sendable, Hashable, Comparable {
  public let milliseconds: UInt64

  public init(milliseconds: UInt64) { self.milliseconds = milliseconds }

  public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

  /// The present moment, by the system's clock.
  public static var now: Timestamp { Timestamp(milliseconds: SystemClock.milliseconds()) }
}

extension Item {
  /// - Parameter state: the verified state that shows the item.
  init(_ stored: StoredItem, in state: VerifiedState) throws(VaultError) {
    try self.init(stored.row, stored.attributes, signedBy: state.signer)
  }

  /// - Parameter signer: who signed the state that shows the item.
  init(_ row: Row, _ attributes: Attributes, signedBy signer: Attributes.Writer?) throws(VaultError) {
    name = try Item.name(attributes.name)
    label = attributes.label
    self.attributes = attributes.pairs
    version = row.version
    oldestVersion = row.oldest
    created = Timestamp(milliseconds: attributes.created)
    changed = Timestamp(milliseconds: attributes.changed)
    expires = attributes.expires.map(Timestamp.init(milliseconds:))
    kind = SecretKind(rawValue: attributes.valueKind)
    typeName = attributes.typeName
    writer = Writer(attributes.writer)
    isWriterClaimed = signer != attributes.writer
    isRemoved = row.state != .present
  }

  static let unnamable = VaultError.damaged(group: nil, level: "row", detail: "a name that no item can have")

  /// A stored name that nobody could ask for, or that would move the cursor of whoever lists it, is damage: only
  /// a writer's own program can have signed it.
  private static func name(_ stored: String) throws(VaultError) -> Name {
    if let name = Name(stored: stored) { return name }
    throw unnamable
  }
}
