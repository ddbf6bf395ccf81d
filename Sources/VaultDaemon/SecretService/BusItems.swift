#if Daemon
  import Ground
  import Sealing
  import VaultFoundation

  /// An item as programs see it on the bus.
  struct BusItem: Sendable, Equatable {
    /// The last part of its path. It says nothing about the item, because paths are in signals that everybody hears.
    let id: String
    let name: String
    let label: String
    /// Without the service's own.
    let attributes: [String: String]
    let contentType: String
    let created: Timestamp
    let modified: Timestamp

    /// The attribute that keeps a content type which the kind of the value does not say.
    static let contentTypeKey = "secret-service:content-type"

    init(_ item: Item, in group: String) {
      name = item.name.description
      id = Self.id(of: name, in: group)
      label = item.label ?? name
      var attributes = item.attributes
      let kept = attributes.removeValue(forKey: Self.contentTypeKey)
      contentType = kept ?? Self.contentType(of: item.kind)
      self.attributes = attributes
      (created, modified) = (item.created, item.changed)
    }

    /// An item in memory.
    init(name: String, label: String, attributes: [String: String], contentType: String, created: Timestamp?) {
      (self.name, self.label, self.attributes, self.contentType) = (name, label, attributes, contentType)
      modified = .now
      self.created = created ?? modified
      id = Self.id(of: name, in: "")
    }

    /// The bytes of all but its value.
    var byteCount: Int {
      attributes.reduce(name.utf8.count + label.utf8.count + contentType.utf8.count) {
        $0 + $1.key.utf8.count + $1.value.utf8.count
      }
    }

    /// The same while the daemon runs. Without its key nobody can find out whether an id belongs to a name.
    static func id(of name: String, in group: String) -> String {
      "i" + SHA256.digest(key + Array("\(group)\0\(name)".utf8)).prefix(16).hexadecimal
    }

    private static let key = Randomness.bytes(32)

    static func contentType(of kind: SecretKind) -> String {
      kind == .bytes || kind == .archive ? "application/octet-stream" : "text/plain"
    }

    /// The kind of a value that a program sets.
    static func kind(of value: [UInt8], _ contentType: String) -> SecretKind {
      contentType.hasPrefix("text/") && String(validating: value, as: UTF8.self) != nil ? .string : .bytes
    }

    /// A label that the store takes: no control characters, which could move a terminal's cursor, and one line.
    static func withoutControls(_ text: String) -> String {
      let refused: Set<Unicode.GeneralCategory> = [.control, .lineSeparator, .paragraphSeparator]
      return String(
        String.UnicodeScalarView(text.unicodeScalars.map { refused.contains($0.properties.generalCategory) ? " " : $0 })
      )
    }

    /// A text that a program chose, as a question shows it: a longer one would push the rest of the question out of
    /// sight, and marks of the writing's direction would change how it reads.
    static func inQuestion(_ text: String, limit: Int) -> String {
      let shown = withoutControls(text).unicodeScalars.filter { $0.properties.generalCategory != .format }
      let start = String(String.UnicodeScalarView(shown.prefix(limit)))
      return shown.count > limit ? start + "…" : start
    }

    /// The beginning of the name of a new item, which `vault list` shows: the label, or else what the attributes say.
    static func name(for label: String, _ attributes: [String: String]) -> String {
      let pairs = attributes.sorted { $0.key < $1.key }.filter { !$0.key.hasPrefix("xdg:") && !$0.value.isEmpty }
      for text in [label, pairs.map { "\($0.key)=\($0.value)" }.joined(separator: " "), attributes["xdg:schema"] ?? ""]
      {
        // Slashes make folders, and an empty folder's name would hide the item from HashiCorp's interface.
        var start = withoutControls(text).prefix(100)
        // A number has room behind the name.
        while start.utf8.count > 1_000 { start.removeLast() }
        let parts = start.split(separator: "/").map { part in
          part.split(separator: " ").joined(separator: " ")
        }
        if let name = try? Item.Name(parts.filter { !$0.isEmpty }.joined(separator: "/")) { return name.description }
      }
      return "secret"
    }
  }

  /// The items of one collection, found by path and by attributes.
  struct BusItems: Sendable {
    /// Bytes, because Swift takes texts for equal that a program wrote in different ways.
    private struct Pair: Hashable {
      private let key: [UInt8]
      private let value: [UInt8]

      init(key: String, value: String) { (self.key, self.value) = (Array(key.utf8), Array(value.utf8)) }
    }

    private(set) var items: [String: BusItem] = [:]
    private var ids: [Pair: Set<String>] = [:]
    /// Names that are taken: `true` by an item, `false` by one that is being made.
    private var names: [String: Bool] = [:]
    /// The number to try next for names that are taken.
    private var numbers: [String: Int] = [:]

    init() {}

    init(_ items: some Sequence<BusItem>) { for item in items { put(item) } }

    mutating func put(_ item: BusItem) {
      if let old = items[item.id] { drop(old) }
      items[item.id] = item
      names[item.name] = true
      for (key, value) in item.attributes { ids[Pair(key: key, value: value), default: []].insert(item.id) }
    }

    mutating func remove(_ id: String) {
      if let old = items.removeValue(forKey: id) { drop(old) }
    }

    private mutating func drop(_ item: BusItem) {
      names[item.name] = nil
      for (key, value) in item.attributes {
        let pair = Pair(key: key, value: value)
        ids[pair]?.remove(item.id)
        if ids[pair]?.isEmpty ?? false { ids[pair] = nil }
      }
    }

    /// The items that have all these attributes, the newest first.
    func matching(_ wanted: [String: String]) -> [BusItem] {
      let sets = wanted.map { ids[Pair(key: $0.key, value: $0.value)] ?? [] }
      guard let smallest = sets.min(by: { $0.count < $1.count }) else { return sorted(Array(items.values)) }
      return sorted(smallest.filter { id in sets.allSatisfy { $0.contains(id) } }.compactMap { items[$0] })
    }

    /// The item that a program replaces: the one with just these attributes, else the newest that has them all. Without
    /// attributes there is none, because every item would do.
    func replaced(by wanted: [String: String]) -> BusItem? {
      guard !wanted.isEmpty else { return nil }
      let found = matching(wanted)
      return found.first { $0.attributes.count == wanted.count } ?? found.first
    }

    private func sorted(_ items: [BusItem]) -> [BusItem] {
      items.sorted { ($1.modified, $0.id) < ($0.modified, $1.id) }
    }

    func hasItem(named name: String) -> Bool { names[name] == true }

    /// Lets others have a name that was given to an item which was not made.
    mutating func release(_ name: String) {
      if names[name] == false { names[name] = nil }
    }

    /// A name that no item has, and that is given to nobody else.
    mutating func freeName(_ wanted: String) -> String {
      var name = wanted
      if names[wanted] != nil {
        var number = numbers[wanted] ?? 2
        while names["\(wanted) \(number)"] != nil { number += 1 }
        numbers[wanted] = number + 1
        name = "\(wanted) \(number)"
      }
      names[name] = false
      return name
    }
  }

  /// How the items of a collection changed.
  struct BusChanges: Sendable {
    var created: [String] = []
    var changed: [String] = []
    var deleted: [String] = []

    var isEmpty: Bool { created.isEmpty && changed.isEmpty && deleted.isEmpty }

    init(created: [String] = [], changed: [String] = [], deleted: [String] = []) {
      (self.created, self.changed, self.deleted) = (created, changed, deleted)
    }

    func followed(by later: BusChanges) -> BusChanges {
      BusChanges(
        created: created + later.created, changed: changed + later.changed, deleted: deleted + later.deleted)
    }

    init(from old: BusItems, to new: BusItems) {
      for (id, item) in new.items {
        guard let before = old.items[id] else {
          created.append(id)
          continue
        }
        if before != item { changed.append(id) }
      }
      deleted = old.items.keys.filter { new.items[$0] == nil }
    }
  }
#endif
