internal import GroupFile

/// What to do with one detail of an item when a new version of it is written.
public enum Change<Value: Sendable & Equatable>: Sendable, Equatable {
  /// As in the version before.
  case keep
  case remove
  case to(Value)
}

/// What a new version of an item says besides its value.
public struct Details: Sendable, Equatable {
  /// A text for people, at most 65,535 bytes, without control characters.
  public var label: Change<String>
  /// Attributes to set, or with `nil` to remove; the others stay. At most 64 in the end.
  public var attributes: [String: String?]
  /// When the value should no longer be used. It belongs to the value: a new value without one does not expire.
  public var expires: Change<Timestamp>

  public init(
    label: Change<String> = .keep, attributes: [String: String?] = [:], expires: Change<Timestamp> = .keep
  ) {
    self.label = label
    self.attributes = attributes
    self.expires = expires
  }

  /// Refuses control characters, which would let a label move the cursor of whoever lists it.
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
  }

  /// The attributes of the next version after `old`, which may be a tombstone or absent.
  func applied(
    to old: StoredItem?, name: String, value: NewValue?, at time: UInt64
  ) -> Attributes {
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
