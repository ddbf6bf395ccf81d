package import Ground

/// One item from another program's file, before it is checked against a store.
package struct ImportedItem: Sendable, Equatable {
  /// The kind of value, by its name in the store.
  package enum Kind: String, Sendable {
    case string, bytes, bool, int, double, date, url, uuid, json, archive
  }

  package var name: String
  package var kind: Kind
  package var value: [UInt8]
  /// The name of an archived value's type.
  package var typeName: String?
  /// A text for people; `nil` to leave an existing one unchanged.
  package var label: String?
  package var attributes: [String: String] = [:]
  /// When the value expires, in milliseconds since 1970.
  package var expires: UInt64?
  /// The values before this one, the oldest first, which become older versions of the item.
  package var older: [Older] = []
  /// Its position in the file: `line 3`.
  package var place: String

  /// Whether the label and the attributes are all that the item has, so that an import removes those of a present item.
  package var isWhole = false
  /// The attributes that every item of the format may have. An import removes those that this one does not have.
  package var ownAttributes: Set<String> = []
  package var alias: Alias?

  /// The name of an entry with which the names of its items begin, and its other name: without the user's name if this
  /// one has it appended, and otherwise with it. An entry that is in the store under the other name keeps that.
  package struct Alias: Sendable, Equatable {
    package var name: String
    package var other: String

    package init(_ name: String, other: String) { (self.name, self.other) = (name, other) }
  }

  /// A former value of the same kind.
  package struct Older: Sendable, Equatable {
    package var value: [UInt8]
    package var attributes: [String: String]
  }

  package init(_ name: String, _ kind: Kind, _ value: [UInt8], at place: String) {
    self.name = name
    self.kind = kind
    self.value = value
    self.place = place
  }

  /// The item under the other name of its entry.
  package func aliased(_ other: String) -> ImportedItem {
    guard let alias, let rest = String(name.utf8.dropFirst(alias.name.utf8.count)) else { return self }
    var item = self
    item.name = other + rest
    return item
  }

  /// Puts a text before its names.
  package mutating func prepend(_ prefix: String) {
    name = prefix + name
    alias = alias.map { Alias(prefix + $0.name, other: prefix + $0.other) }
  }
}

/// The items from another program's file, and a description of everything that they do not hold.
package struct ImportedItems: Sendable, Equatable {
  package var items: [ImportedItem] = []
  /// What is lost, each with its position and without a value: `line 3: …`.
  package var losses: [String] = []
  /// The parts of the file that cannot be imported.
  package var refusals: [ImportFault] = []

  package init() {}
}

/// What is wrong with a file to import, and where. The file's text is not included, because it may contain a secret.
package struct ImportFault: Error, Sendable, Equatable {
  package enum Kind: String, Sendable {
    /// The file is not what it was said to be, or it is not clear what to import.
    case unclear
    case damaged, overLimit, wrongKey
    /// Another program keeps it locked.
    case locked
    /// A version or a kind of encryption that is not known here.
    case unsupported
  }

  /// The position of the fault: `line 3`; `nil` for the file as a whole.
  package let place: String?
  package let words: String
  package let kind: Kind

  package init(_ words: String, at place: String? = nil, _ kind: Kind = .unclear) {
    self.place = place
    self.words = words
    self.kind = kind
  }

  package init(_ words: String, at place: String? = nil, isOverLimit: Bool) {
    self.init(words, at: place, isOverLimit ? .overLimit : .unclear)
  }

  package init(_ fault: JSONValue.Fault) {
    switch fault {
    case .malformed(let line): self.init("this is not JSON", at: "line \(line)")
    case .tooManyValues(let line):
      self.init("it holds more than \(JSONValue.mostValues) values", at: "line \(line)", .overLimit)
    }
  }

  /// Whether the only fault is that the file exceeds a limit.
  package var isOverLimit: Bool { kind == .overLimit }
}

/// The formats that `vault-exchange` reads, with their names in `vault import --from`.
package enum ForeignFormat: String, CaseIterable, Sendable {
  /// A database of KeePass, version 3.1 or 4.
  case kdbx
  case keepassXML = "keepass-xml"
  /// Bitwarden's JSON, unencrypted or encrypted with a passphrase.
  case bitwarden
  /// An export of 1Password 8.
  case onePassword = "1pux"
  /// The output of `security dump-keychain -d` on a Mac.
  case keychain
  case yaml
  /// A YAML or JSON file of sops, encrypted for age.
  case sops

  /// The first bytes of every database of KeePass, whatever its version.
  package static let keePassMark: [UInt8] = [0x03, 0xD9, 0xA2, 0x9A]

  /// The attributes that its entries may have, besides the time of their last change.
  package var attributes: Set<String> {
    switch self {
    case .kdbx, .keepassXML: ["tags"]
    case .onePassword: ["tags", "archived"]
    case .bitwarden, .keychain, .yaml, .sops: []
    }
  }

  /// Whether a file of this format always needs a passphrase or a key file.
  package var isAlwaysLocked: Bool { self == .kdbx }
}
