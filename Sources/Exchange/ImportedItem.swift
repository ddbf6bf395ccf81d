/// One item that a file of another program gives, before anything is known of a store.
package struct ImportedItem: Sendable, Equatable {
  /// What the value is, by the name that the store has for it.
  package enum Kind: String, Sendable {
    case string, bytes, bool, int, double, date, url, uuid, json, archive
  }

  package var name: String
  package var kind: Kind
  package var value: [UInt8]
  /// The name of an archived value's type.
  package var typeName: String?
  /// A text for people; `nil` to leave what is there.
  package var label: String?
  package var attributes: [String: String] = [:]
  /// When the value expires, in milliseconds since 1970.
  package var expires: UInt64?
  /// Where in the file it stands: `line 3`.
  package var place: String

  package init(_ name: String, _ kind: Kind, _ value: [UInt8], at place: String) {
    self.name = name
    self.kind = kind
    self.value = value
    self.place = place
  }
}

/// What a file of another program gives: the items, and in words what of it they do not hold.
package struct ImportedItems: Sendable, Equatable {
  package var items: [ImportedItem] = []
  /// What is lost, each with its place and without a value: `line 3: …`.
  package var losses: [String] = []

  package init() {}
}

/// What is wrong with a file that is to be imported, and where. Its text is not repeated: it may hold a secret.
package struct ImportFault: Error, Sendable, Equatable {
  /// Where it is wrong: `line 3`; `nil` for the file as a whole.
  package let place: String?
  package let words: String
  /// Whether nothing is wrong but that it would be more than a limit allows.
  package let isOverLimit: Bool

  package init(_ words: String, at place: String? = nil, isOverLimit: Bool = false) {
    self.place = place
    self.words = words
    self.isOverLimit = isOverLimit
  }

  /// The place and what is wrong there.
  package var message: String { place.map { "\($0): \(words)" } ?? words }
}
