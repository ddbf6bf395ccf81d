@_spi(_Unicode) internal import Swift

/// The metadata of one item, which can be read without opening its secret.
public struct Item: Sendable {
  // One reference, because lists of items are collected, sorted and filtered.
  private let content: Content

  private final class Content: Sendable {
    let name: Name
    let attributes: Attributes
    let version: UInt64
    let oldestVersion: UInt64
    let isWriterClaimed: Bool
    let isRemoved: Bool

    init(
      _ name: Name, _ attributes: Attributes, version: UInt64, oldest: UInt64, isWriterClaimed: Bool, isRemoved: Bool
    ) {
      (self.name, self.attributes) = (name, attributes)
      (self.version, oldestVersion) = (version, oldest)
      (self.isWriterClaimed, self.isRemoved) = (isWriterClaimed, isRemoved)
    }
  }

  /// The item's name, in NFC.
  public var name: Name { content.name }
  /// A text for people.
  public var label: String? { content.attributes.label }
  /// Keys and values to find the item by; at most 64.
  public var attributes: [String: String] { content.attributes.pairs }
  /// The version's number, from 1.
  public var version: UInt64 { content.version }
  /// The number of the oldest version that is kept.
  public var oldestVersion: UInt64 { content.oldestVersion }
  /// When the item was created, by the writer's clock.
  public var created: Timestamp { Timestamp(milliseconds: content.attributes.created) }
  /// When this version was written, by the writer's clock.
  public var changed: Timestamp { Timestamp(milliseconds: content.attributes.changed) }
  /// When the value should no longer be used.
  public var expires: Timestamp? { content.attributes.expires.map(Timestamp.init(milliseconds:)) }
  package var hasExpired: Bool { expires.map { $0 <= .now } ?? false }
  /// The kind of the value.
  public var kind: SecretKind { SecretKind(rawValue: content.attributes.valueKind) }
  /// The name of an archived value's type.
  public var typeName: String? { content.attributes.typeName }
  /// The number of the state in which the value was first written. New details and a restoration keep it.
  package var valueEpoch: UInt64 { content.attributes.valueEpoch }
  /// The member who wrote this version, according to that member.
  public var writer: Writer { content.attributes.writer }
  /// Whether `writer` is only a claim: another member signed the state with this version, and could have invented it.
  public var isWriterClaimed: Bool { content.isWriterClaimed }
  /// Whether this version records the removal of the item.
  public var isRemoved: Bool { content.isRemoved }

  public typealias Writer = GroupFile.Writer
}

extension Item: Equatable {
  public static func == (left: Item, right: Item) -> Bool {
    left.name == right.name && left.label == right.label && left.attributes == right.attributes
      && (left.version, left.oldestVersion) == (right.version, right.oldestVersion)
      && (left.created, left.changed) == (right.created, right.changed) && left.expires == right.expires
      && (left.kind, left.typeName) == (right.kind, right.typeName) && left.writer == right.writer
      && (left.isWriterClaimed, left.isRemoved) == (right.isWriterClaimed, right.isRemoved)
  }
}

extension Timestamp {
  /// The current time, by the system's clock.
  public static var now: Timestamp { Timestamp(milliseconds: SystemClock.milliseconds()) }
}

extension Item {
  init(_ stored: StoredItem, in state: VerifiedState) throws(VaultError) {
    try self.init(stored.row, stored.attributes, signedBy: state.signer)
  }

  init(_ row: Row, _ attributes: Attributes, signedBy signer: Writer?) throws(VaultError) {
    content = Content(
      try Name(stored: attributes.name), attributes, version: row.version, oldest: row.oldest,
      isWriterClaimed: signer != attributes.writer, isRemoved: row.state != .present)
  }

  /// Writes everything that `vaultd` tells its callers about the item.
  func writeToService(_ writer: inout ByteWriter) {
    // Attributes that were read from a file fit into their encoding.
    writer.writeCounted32((try? content.attributes.encoded()) ?? [])
    writer.write(version)
    writer.write(oldestVersion)
    writer.write(UInt8((isWriterClaimed ? 1 : 0) | (isRemoved ? 2 : 0)))
  }

  init(fromService reader: inout ByteReader) throws {
    let attributes = try Attributes(decoding: reader.readCounted32(limit: GroupLimits.attributesByteCount + 1_024))
    let (version, oldest) = (try reader.read(UInt64.self), try reader.read(UInt64.self))
    let flags = try reader.read(UInt8.self)
    content = Content(
      try Name(stored: attributes.name), attributes, version: version, oldest: oldest, isWriterClaimed: flags & 1 != 0,
      isRemoved: flags & 2 != 0)
  }

  // Foundation's normalization would link all of Foundation: half of the executable's size and startup time.

  /// A valid name of an item: 1 to 1,024 bytes of UTF-8 in NFC, without control characters.
  ///
  /// `/` has a meaning for people only. Two spellings that are canonically equivalent in Unicode are one name.
  public struct Name: Sendable, Hashable, CustomStringConvertible {
    /// The name in NFC.
    public let description: String

    /// Checks and normalizes `text`.
    ///
    /// - Throws: ``VaultError/invalid(_:)``, ``VaultError/overLimit(_:)``.
    public init(_ text: String) throws(VaultError) {
      if Name.isPlain(text) {
        description = text
        return
      }
      // The shorter form has at least a third of the bytes.
      guard text.utf8.count <= 3 * 1_024 else { throw .overLimit("1,024 bytes in an item's name") }
      var scalars = String.UnicodeScalarView()
      scalars.append(contentsOf: text._nfc)
      let normal = String(scalars)
      guard !normal.isEmpty else { throw .invalid("an item's name must not be empty") }
      guard normal.utf8.count <= 1_024 else { throw .overLimit("1,024 bytes in an item's name") }
      for scalar in normal.unicodeScalars {
        guard !Name.isControl(scalar) else { throw .invalid("an item's name must not hold control characters") }
        guard Name.isStable(scalar) else {
          throw .invalid("an item's name holds a character that Unicode 15.0 does not know")
        }
      }
      description = normal
    }

    /// The end of the names of items that the service keeps beside others.
    package static let companionEnding = "//kv"

    package var isCompanion: Bool { unsafe description.utf8Span.span.withUnsafeBytes { unsafe Name.isCompanion($0) } }

    static func isCompanion(_ name: UnsafeRawBufferPointer) -> Bool {
      // A list asks this of each item, and the last byte is enough for most.
      guard unsafe name.last == companionEnding.utf8.last else { return false }
      return unsafe name.suffix(companionEnding.utf8.count).elementsEqual(companionEnding.utf8)
    }

    /// Checks a stored name, as ``init(stored:)``.
    ///
    /// - Throws: as ``init(stored:)``.
    static func check(_ name: UnsafeRawBufferPointer) throws(VaultError) {
      if unsafe !isPlain(name) { _ = unsafe try Name(stored: String(decoding: name, as: UTF8.self)) }
    }

    /// Checks a stored name, which must already be in NFC, the form that a lookup uses.
    ///
    /// - Throws: `damaged` if it is not valid. Only a modified program of a writer can have signed such a name.
    init(stored text: String) throws(VaultError) {
      if Name.isPlain(text) {
        description = text
      } else {
        // Compare bytes, because `==` treats all equivalent spellings as equal.
        guard let name = try? Name(text), name.description.utf8.elementsEqual(text.utf8) else {
          throw .damaged(.row, "a name that no item can have")
        }
        self = name
      }
    }

    /// Whether it is printable ASCII, as nearly every name is: such a name is in NFC and otherwise valid.
    private static func isPlain(_ name: UnsafeRawBufferPointer) -> Bool {
      unsafe (1...1_024).contains(name.count) && name.isPrintableASCII
    }

    private static func isPlain(_ text: String) -> Bool {
      unsafe text.utf8Span.span.withUnsafeBytes { unsafe isPlain($0) }
    }

    static func isControl(_ scalar: Unicode.Scalar) -> Bool {
      UTF8Text.isControl(scalar) || scalar.value == 0x2028 || scalar.value == 0x2029
    }

    /// The NFC of characters that are assigned later may change, and with it the place of the item.
    private static func isStable(_ scalar: Unicode.Scalar) -> Bool {
      // Noncharacters have an age although no version assigns them.
      guard let age = scalar.properties.age, scalar.properties.generalCategory != .unassigned else { return false }
      return age.major <= 15 && (age.major < 15 || age.minor == 0)
    }
  }
}

/// How one detail of an item changes in a new version.
public enum Change<Value: Sendable & Equatable>: Sendable, Equatable {
  /// As in the previous version.
  case keep
  case remove
  case to(Value)
}

/// The details of a new version of an item: everything but its value.
public struct Details: Sendable, Equatable {
  /// A text for people, at most 65,535 bytes, without control characters.
  public var label: Change<String>
  /// Attributes to set, or to remove if the value is nil; the others are kept. At most 64 in the result. Assigning nil to
  /// a key only takes it out of this dictionary: `updateValue(nil, forKey: key)` removes the attribute.
  public var attributes: [String: String?]
  /// When the value should no longer be used. A get still returns it then. A new value expires only if this is set.
  public var expires: Change<Timestamp>

  public init(label: Change<String> = .keep, attributes: [String: String?] = [:], expires: Change<Timestamp> = .keep) {
    (self.label, self.attributes, self.expires) = (label, attributes, expires)
  }

  /// Refuses control characters, with which a label could move a terminal's cursor.
  func validate() throws(VaultError) {
    if case .to(let text) = label { try Details.refuseControls(in: text, "a label") }
    for (key, value) in attributes {
      guard !key.isEmpty else { throw .invalid("an attribute's key must not be empty") }
      try Details.refuseControls(in: key, "an attribute's key")
      if let value { try Details.refuseControls(in: value, "an attribute's value") }
    }
    if case .to(let time) = expires, time.milliseconds >= 1 << 53 { throw .invalid("the expiry is too far away") }
  }

  private static func refuseControls(in text: String, _ subject: String) throws(VaultError) {
    guard !text.unicodeScalars.contains(where: Item.Name.isControl) else {
      throw .invalid("\(subject) must not hold control characters")
    }
    guard text.hasShortMarkRuns else { throw .overLimit("255 combining characters in a row") }
  }

  /// The attributes of the next version after `old`, which may be a tombstone or absent.
  func applied(to old: StoredItem?, name: String, value: NewValue?, at time: UInt64) -> Attributes {
    let present = old.flatMap { $0.isPresent ? $0.attributes : nil }
    var next = Attributes(
      name: name, label: present?.label, pairs: present?.pairs ?? [:], created: present?.created ?? time, changed: time,
      expires: value == nil ? present?.expires : nil, valueKind: value?.kind.rawValue ?? present?.valueKind ?? 0,
      typeName: value == nil ? present?.typeName : value?.typeName, valueEpoch: present?.valueEpoch ?? 0)
    switch label {
    case .keep: break
    case .remove: next.label = nil
    case .to(let text): next.label = text
    }
    for (key, value) in attributes { next.pairs[key] = value }
    switch expires {
    case .keep: break
    case .remove: next.expires = nil
    case .to(let time): next.expires = time.milliseconds
    }
    return next
  }
}

/// Reads of one state of a group, which agree with each other: the state that a reader sees, or the one that a
/// transaction has made so far.
///
/// For one thread at a time. That of a transaction is valid until its end.
package struct OneState {
  private let reading: any ItemReading
  private let group: String

  init(_ reading: any ItemReading, group: String) { (self.reading, self.group) = (reading, group) }

  /// The current version of `name`, which may be its removal; `nil` if there never was such an item.
  package func item(_ name: String) throws(VaultError) -> Item? {
    let name = try Item.Name(name).description
    guard let stored = try inGroup(group, reading.stored(name)) else { return nil }
    return try Item(stored, in: reading.view.state)
  }

  /// All kept versions of `name`, newest first, removals included; empty if there never was such an item.
  package func history(_ name: String) throws(VaultError) -> [Item] {
    let name = try Item.Name(name).description
    var versions: [StoredItem] = []
    do throws(VaultError) { versions = try inGroup(group, reading.history(name)) } catch .notFound(.item) {}
    return try versions.map { (version) throws(VaultError) in try Item(version, in: reading.view.state) }
  }

  /// Opens the secret of `name`, and returns it with the item's metadata.
  ///
  /// - Throws: ``VaultError/notFound(_:)``.
  package func open(_ name: String, version: UInt64? = nil) throws(VaultError) -> OpenedItem {
    let name = try Item.Name(name).description
    let (stored, secret) = try inGroup(group, reading.opened(name, version: version))
    return OpenedItem(item: try Item(stored, in: reading.view.state), secret: Secret(secret))
  }
}

extension AccessGroup {
  /// The newest state; of files that others may write, it is read without their locks, and their index is not mapped.
  func verifiedState() throws(VaultError) -> VerifiedState {
    let file = try file
    let view = try inGroup(name.description, file.beginReadingAlone())
    notices.post(view.notices)
    return view.state
  }

  /// A view of the newest state, for several reads.
  func beginReading() throws(VaultError) -> Snapshot {
    let file = try file
    let transaction = try inGroup(name.description, file.beginReading())
    try inGroup(name.description, shared.requireRecent(transaction.state))
    notices.post(transaction.notices)
    return transaction
  }

  /// The current state, for several reads. It is released with the last use of the result.
  package func state() throws(VaultError) -> OneState {
    let transaction = try observed(.read) { () throws(VaultError) in try beginReading() }
    return OneState(transaction, group: name.description)
  }
}
