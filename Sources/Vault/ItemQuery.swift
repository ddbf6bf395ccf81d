/// Which items of a group a list returns; by default all of them.
public struct ItemQuery: Sendable, Equatable {
  /// Only items whose names begin with this; compared in NFC, byte by byte.
  public var prefix: String
  /// Only items that have all these attributes. A value that ends with `*` also stands for every value that begins with
  /// the text before the asterisk.
  public var attributes: [String: String]
  /// Only items with this text in their name, label or attributes, ignoring case.
  public var text: String? {
    didSet { lowercased = text?.lowercased() }
  }
  /// Only items that expire at this moment or earlier.
  public var expiresBy: Timestamp?
  /// Whether items that the service keeps beside others are left out.
  package var skipsCompanions = false
  private var lowercased: String?

  public init(
    prefix: String = "", attributes: [String: String] = [:], text: String? = nil, expiresBy: Timestamp? = nil
  ) {
    (self.prefix, self.attributes, self.text, self.expiresBy) = (prefix, attributes, text, expiresBy)
    lowercased = text?.lowercased()
  }

  /// Whether an item, whose name begins with the prefix, fulfils the rest of the query.
  package func accepts(_ item: Item) -> Bool {
    guard !skipsCompanions || !item.name.isCompanion, hasAttributes(item),
      expiresBy.map({ item.expires ?? Timestamp(milliseconds: .max) <= $0 }) ?? true
    else { return false }
    guard let lowercased else { return true }
    let texts = [item.name.description, item.label ?? ""] + item.attributes.flatMap { [$0.key, $0.value] }
    return texts.contains { $0.lowercased().holds(lowercased) }
  }

  package func hasAttributes(_ item: Item) -> Bool {
    attributes.allSatisfy { key, wanted in
      guard let value = item.attributes[key] else { return false }
      if value == wanted { return true }
      // Bytes are compared, because a mark after the beginning would join its last character.
      return wanted.utf8.last == UInt8(ascii: "*") && value.utf8.starts(with: wanted.utf8.dropLast())
    }
  }
}
