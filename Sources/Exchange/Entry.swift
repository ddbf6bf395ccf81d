internal import Ground

/// A record of another store with all of its content, before it becomes items.
package struct Entry: Sendable, Equatable {
  /// A named text, which becomes a field of the entry's item.
  package struct Field: Sendable, Hashable {
    package var name: String
    package var text: String

    package init(_ name: String, _ text: String) {
      self.name = name
      self.text = text
    }

    /// Whether both have the same bytes. (Swift takes "é" in its two Unicode forms for equal, but two such passwords
    /// differ.)
    package static func == (left: Field, right: Field) -> Bool {
      left.name.utf8.elementsEqual(right.name.utf8) && left.text.utf8.elementsEqual(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
      hasher.combine(Array(name.utf8))
      hasher.combine(Array(text.utf8))
    }
  }

  /// The entry's content at one time.
  package struct Version: Sendable, Equatable {
    /// The maximum number of fields that are kept. No program makes this many.
    package static let mostFields = 1_000

    package private(set) var fields: [Field] = []
    /// The number of fields above ``mostFields``.
    package internal(set) var lostFields = 0
    /// When it was written, in milliseconds since 1970.
    package var modified: Int64?
    private var names = DistinctNames()

    package init() {}

    package static func == (left: Version, right: Version) -> Bool {
      left.fields == right.fields && left.lostFields == right.lostFields && left.modified == right.modified
    }

    /// Adds a field that is not empty. If its name is taken, a number is appended.
    package mutating func add(_ name: String, _ text: String) {
      guard !text.isEmpty else { return }
      guard fields.count < Self.mostFields else {
        lostFields += 1
        return
      }
      fields.append(Field(names.name(name.isEmpty ? "field" : name), text))
    }

    package func text(_ name: String) -> String { fields.first { $0.name == name }?.text ?? "" }

    /// A JSON object with a member for each field.
    var json: [UInt8] {
      var object = JSONObject()
      for field in fields { object.add(field.name, field.text.utf8) }
      return object.bytes
    }

    var attributes: [String: String] { modified.map { ["modified": UTCDate.text($0)] } ?? [:] }
  }

  /// A file of the entry, equal to others as a ``Field`` is.
  package struct Attachment: Sendable, Hashable {
    package var name: String
    package var bytes: [UInt8]

    package init(_ name: String, _ bytes: [UInt8]) {
      self.name = name
      self.bytes = bytes
    }

    package static func == (left: Attachment, right: Attachment) -> Bool {
      left.name.utf8.elementsEqual(right.name.utf8) && left.bytes == right.bytes
    }

    package func hash(into hasher: inout Hasher) {
      hasher.combine(Array(name.utf8))
      hasher.combine(bytes)
    }
  }

  /// Its folders and its title: `web/GitHub`.
  package var name: String
  /// Its position in the file: `entry 3`.
  package var place: String
  package var current = Version()
  /// Its former contents, oldest first.
  package var history: [Version] = []
  package var attachments: [Attachment] = []
  package var attributes: [String: String] = [:]
  /// When it expires, in milliseconds since 1970.
  package var expires: UInt64?
  /// Its losses, without values.
  package var losses: [String] = []
  /// Its parts that no item can hold, without values. Unlike a loss, they end an import with `--strict`.
  package var refusals: [String] = []

  package init(_ name: String, at place: String) {
    self.name = name
    self.place = place
  }

  package var isEmpty: Bool { !hasFields && attachments.isEmpty }

  /// Whether it has a field now or had one.
  fileprivate var hasFields: Bool { !current.fields.isEmpty || history.contains { !$0.fields.isEmpty } }
}

extension ImportedItems {
  /// The items made from entries. If entries share a name, the user's name is appended, and a number if that is not
  /// enough. An attachment becomes an item below its entry.
  package init(entries: [Entry], losses: [String]) {
    self.init()
    self.losses = losses
    // The places of the entries by name and content.
    var seen: [String: [Entry.Content: String]] = [:]
    var kept: [Entry] = []
    for var entry in entries {
      entry.name = Self.cleaned(entry.name)
      self.losses += entry.losses.map { "\(entry.place): \($0)" }
      let lostFields = entry.history.reduce(entry.current.lostFields) { $0 + $1.lostFields }
      if lostFields > 0 { self.losses.append("\(entry.place): \(lostFields) fields, of too many") }
      refusals += entry.refusals.map { ImportFault($0, at: entry.place, .overLimit) }
      if entry.isEmpty {
        guard entry.refusals.isEmpty else { continue }
        self.losses.append("\(entry.place): it has only a name")
      } else if let place = seen[entry.name]?[entry.content] {
        self.losses.append("\(entry.place): it is the same as \(place)")
      } else {
        seen[entry.name, default: [:]][entry.content] = entry.place
        kept.append(entry)
      }
    }
    var names = DistinctNames(seen.keys)
    for (entry, (name, alias)) in zip(kept, Entry.names(of: kept, &names, keepsPlain: false)) {
      if entry.hasFields { items.append(entry.item(name, alias)) }
      for attachment in entry.attachments {
        let file = attachment.name.isEmpty ? "attachment" : Self.cleaned(attachment.name)
        let place = "\(entry.place), an attachment"
        var item = ImportedItem(names.name("\(name)/\(file)"), .bytes, attachment.bytes, at: place)
        item.alias = alias
        // No other item can hold what is said of an entry without fields.
        if !entry.hasFields {
          item.attributes = entry.attributes.merging(entry.current.attributes) { $1 }
          item.expires = entry.expires
        }
        items.append(item)
      }
    }
  }

  /// A name without control characters, which an item's name must not contain.
  private static func cleaned(_ name: String) -> String {
    guard name.unicodeScalars.contains(where: \.isControl) else { return name }
    var cleaned = String.UnicodeScalarView()
    for scalar in name.unicodeScalars { cleaned.append(scalar.isControl ? " " : scalar) }
    return String(cleaned)
  }
}

/// Finds an unused name.
struct DistinctNames {
  private var taken: Set<String> = []
  private var numbers: [String: Int] = [:]

  init() {}

  init(_ taken: some Sequence<String>) { self.taken = Set(taken) }

  mutating func name(_ base: String, user: String = "") -> String {
    let wish = user.isEmpty ? base : "\(base) (\(user))"
    var number = numbers[wish, default: 0] + 1
    var name = number == 1 ? wish : "\(wish) (\(number))"
    while !taken.insert(name).inserted {
      number += 1
      name = "\(wish) (\(number))"
    }
    numbers[wish] = number
    return name
  }
}

extension Entry {
  /// The content by which two entries with the same name are equal.
  fileprivate struct Content: Hashable {
    let fields: [Field]
    let older: [[Field]]
    let attachments: [Attachment]
    let attributes: Set<Field>
    let expires: UInt64?
  }

  fileprivate var content: Content {
    Content(
      fields: current.fields, older: history.map(\.fields), attachments: attachments,
      attributes: Set(attributes.map { Field($0.key, $0.value) }), expires: expires)
  }

  /// Different names for entries that may share one: the user's name is appended, and a number if that is not enough.
  /// The numbers do not depend on the order of the file, so that an import can be repeated when that has changed.
  ///
  /// - Parameters:
  ///   - names: the names that are taken, among them those of all entries.
  ///   - keepsPlain: whether one of several entries may keep their name, if it has no user.
  static func names(
    of entries: [Entry], _ names: inout DistinctNames, keepsPlain: Bool
  ) -> [(name: String, alias: ImportedItem.Alias?)] {
    var counts: [String: Int] = [:]
    for entry in entries { counts[entry.name, default: 0] += 1 }
    var named = entries.map { entry in
      let user = entry.current.text("username")
      return (entry.name, user.isEmpty ? nil : ImportedItem.Alias(entry.name, other: "\(entry.name) (\(user))"))
    }
    let namesakes = entries.indices.filter { counts[entries[$0].name] != 1 }.map { ($0, entries[$0].rank) }
    var plain: Set<String> = []
    for (index, _) in namesakes.sorted(by: { $0.1.lexicographicallyPrecedes($1.1) { $0.lexicographicallyPrecedes($1) } }
    ) {
      let (entry, user) = (entries[index], entries[index].current.text("username"))
      if keepsPlain, user.isEmpty, plain.insert(entry.name).inserted { continue }
      let name = names.name(entry.name, user: user)
      named[index] = (name, user.isEmpty ? nil : ImportedItem.Alias(name, other: entry.name))
    }
    return named
  }

  /// What orders entries of one name. What changes seldom comes first, such as the address.
  private var rank: [[UInt8]] {
    func json(_ fields: [Field]) -> [UInt8] {
      var object = JSONObject()
      for field in fields { object.add(field.name, field.text.utf8) }
      return object.bytes
    }
    let attributes = attributes.sorted { $0.key < $1.key }.map { Field($0.key, $0.value) }
    let others = current.fields.filter { $0.name != "url" && $0.name != "password" }
    return [Array(current.text("url").utf8), json(attributes), json(others), Array(current.text("password").utf8)]
      + history.map(\.json) + attachments.flatMap { [Array($0.name.utf8), $0.bytes] }
  }

  /// The item that holds the fields. Its label is the user's name, so that lists show it.
  func item(_ name: String, _ alias: ImportedItem.Alias? = nil) -> ImportedItem {
    var item = ImportedItem(name, .json, current.json, at: place)
    item.alias = alias
    let user = current.text("username")
    if !user.isEmpty, user.utf8.count <= 1_024, !user.unicodeScalars.contains(where: \.isControl) { item.label = user }
    item.attributes = attributes.merging(current.attributes) { $1 }
    item.expires = expires
    // A version may differ from the next one only in parts that no item keeps.
    let next = history.dropFirst() + [current]
    for (version, next) in zip(history, next) where version.fields != next.fields {
      item.older.append(ImportedItem.Older(value: version.json, attributes: version.attributes))
    }
    return item
  }
}

extension Entry {
  /// `example.com:8080` for `https://example.com:8080/login`; the whole text if it has no host.
  package static func host(of url: String) -> String {
    guard let scheme = url.place(of: "://") else { return url }
    let host = url[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    return host.isEmpty ? url : String(host.split(separator: "@").last ?? host)
  }

  /// Sets an attribute if it can be one; otherwise the text becomes a field.
  package mutating func setAttribute(_ name: String, _ text: String) {
    if text.utf8.count <= 1_024, !text.unicodeScalars.contains(where: \.isControl) {
      attributes[name] = text
    } else {
      current.add(name, text)
    }
  }
}

extension Unicode.Scalar {
  /// Whether XML 1.0 can contain it (§2.2).
  package var fitsXML: Bool {
    value >= 0x20 && value != 0xFFFE && value != 0xFFFF || [0x09, 0x0A, 0x0D].contains(value)
  }
}

extension String {
  package var fitsXML: Bool { unicodeScalars.allSatisfy(\.fitsXML) }

  /// The text with U+FFFD for each character that XML cannot contain.
  package var fittingXML: String {
    var fitting = UnicodeScalarView()
    for scalar in unicodeScalars { fitting.append(scalar.fitsXML ? scalar : "\u{FFFD}") }
    return String(fitting)
  }
}
