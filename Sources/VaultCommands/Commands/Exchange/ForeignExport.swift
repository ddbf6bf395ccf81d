internal import Exchange
import Glibc
internal import Vault

/// The items of a group as entries, for the formats that other password managers import.
struct ForeignExport {
  private var entries: [Entry] = []
  /// The parts of items that none of the formats can hold, described without any value.
  private(set) var losses: [String] = []
  /// Whether the written database is too large for an import.
  private(set) var exceedsImport = false

  /// The names of items with texts in place of which KeePass shows others.
  var placeholders: [String] { entries.filter(\.holdsPlaceholder).map(\.name) }

  /// - Parameters:
  ///   - items: the items.
  ///   - group: the group from which former versions are read.
  init(_ items: [Item], _ list: ItemList, in group: AccessGroup) throws {
    var positions: [String: Int] = [:]
    var attached: [(item: Item, bytes: [UInt8])] = []
    var plainValues = 0
    for item in items {
      let value = try list.open(item.name.description).secret.exportInsecurely()
      if item.kind == .bytes || item.kind == .archive {
        attached.append((item, value))
      } else {
        positions[item.name.description] = entries.count
        var entry = entry(of: item)
        var changes = Changes()
        let values = try formerValues(of: item, in: group, &changes) + [(item, value)]
        entry.current = Self.version(values, values.count - 1, &changes)
        let isPlain = changes.plainValues > 0
        if isPlain { plainValues += 1 }
        entry.history = (0..<values.count - 1).map { Self.version(values, $0, &changes) }
        if !Self.hasOwnTime(values, values.count - 1) { entry.attributes["modified"] = nil }
        entries.append(entry)
        if !isPlain, changes.plainValues > 0 {
          losses.append("'\(item.name)': the kind of former versions, which become a field of an entry")
        }
        losses += changes.losses.map { "'\(item.name)': \($0)" }
      }
    }
    for (item, bytes) in attached { attach(bytes, item, positions) }
    lose(
      plainValues, "the kind of 1 value, which becomes", "the kinds of # values, which become", "a field of an entry")
    let labels = entries.count { entry in entry.current.fields.contains { $0.name == "label" } }
    lose(labels, "1 label, which becomes", "# labels, which become", "a field of an entry")
    let empty = entries.count { $0.current.fields.isEmpty && $0.attachments.isEmpty }
    lose(empty, "1 empty value, whose entry has", "# empty values, whose entries have", "only a name")
  }

  /// Adds a loss of `count` items, which is written in place of `#`.
  private mutating func lose(_ count: Int, _ one: String, _ several: String, _ how: String) {
    guard count > 0 else { return }
    losses.append("\(count == 1 ? one : several.exchanging("#", for: "\(count)")) \(how)")
  }

  /// A KeePass database of the entries.
  mutating func database(_ passphrase: WipedBytes) throws -> WipedBytes {
    let attributes = entries.count { !$0.attributesBesidesTime.isEmpty }
    lose(attributes, "the attributes of 1 item, which become", "the attributes of # items, which become", "fields")
    for entry in entries {
      let versions = [entry.current.fields + entry.fieldsOfAttributes] + entry.history.map(\.fields)
      let changed = versions.flatMap { fields in
        zip(fields.map(\.name.fittingXML), Entry.namesInKeePass(fields)).filter { $0.0 != $0.1 }
      }
      for name in Set(changed.map { "the name '\($0)', which becomes '\($1)'" }).sorted() {
        losses.append("'\(entry.name)': \(name)")
      }
      let codes = versions.joined().filter { $0.name == "totp" }.map(\.text)
      if codes.contains(where: { ![nil, $0].contains(OneTimeSource.url(of: $0)) }) {
        losses.append("'\(entry.name)': the form of 'totp', which becomes a URL")
      }
      let seeds = Set(versions.flatMap(Entry.fieldsOfCodesInKeePass))
      if !seeds.isEmpty {
        let (fields, become) = seeds.count == 1 ? ("field", "becomes") : ("fields", "become")
        losses.append("'\(entry.name)': the \(fields) \(Self.list(seeds)), which \(become) 'totp'")
      }
    }
    for entry in entries where entry.current.fields.isEmpty {
      for attachment in entry.attachments {
        losses.append("'\(entry.name)': its name, which becomes '\(entry.name)/\(attachment.name)'")
      }
    }
    let fractions = entries.count { $0.expires.map { $0 % 1_000 != 0 } == true }
    lose(fractions, "1 expiry, which is", "# expiries, which are", "cut to whole seconds")
    let names = entries.reduce(0) { $0 + $1.namesUnfitForXML.count }
    lose(
      names, "the control characters in 1 name, which become", "the control characters in # names, which become",
      "\u{FFFD}")
    let lines = try WipedBytes(capacity: ExchangeProgram.limit)
    for entry in entries {
      let line = EntryLine.entry(entry).json + [0x0A]
      guard line.count <= lines.capacity - lines.count else {
        throw Failure(.overLimit, "the values take more than \(ExchangeProgram.limit >> 20) MiB")
      }
      unsafe line.withUnsafeBytes { unsafe lines.append($0) }
    }
    let input = try unsafe lines.withUnsafeBytes { (bytes) throws(Failure) in try unsafe MemoryFile.input(bytes) }
    defer { close(input) }
    let (end, bytes) = try ExchangeProgram.run(["write", "kdbx"], input: input, passphrase: passphrase)
    exceedsImport = end == .exited(2)
    guard exceedsImport || end == .exited(0) else {
      throw Failure(.unexpected, "vault-exchange did not write the database")
    }
    return bytes
  }

  /// The entries as a table or as Bitwarden's JSON.
  mutating func text(_ write: (inout EntryExport) -> [UInt8]) -> [UInt8] {
    var export = EntryExport(entries)
    let text = write(&export)
    losses += export.losses
    return text
  }

  // MARK: Entries

  private func entry(of item: Item) -> Entry {
    var entry = Entry(item.name.description, at: "'\(item.name)'")
    entry.attributes = item.attributes
    entry.expires = item.expires?.milliseconds
    return entry
  }

  /// The members of a JSON object that fields cannot hold, in any version of an item.
  private struct Changes {
    /// The number of values that are no object.
    var plainValues = 0
    /// The names of members that become texts, such as numbers.
    var retyped: Set<String> = []
    /// The names of members with an empty text, which become no field.
    var empty: Set<String> = []
    /// The names of members that a later one replaces.
    var repeated: Set<String> = []
    /// The names that no field has, with those that they become.
    var renamed: Set<String> = []
    var excess = 0
    /// The number of former versions that are bytes or an archive.
    var binaryVersions = 0

    var losses: [String] {
      var losses: [String] = []
      if !retyped.isEmpty { losses.append("the kind of \(ForeignExport.list(retyped)), which becomes text") }
      if !empty.isEmpty { losses.append("\(ForeignExport.list(empty)), which is empty") }
      if !repeated.isEmpty { losses.append("an earlier value of \(ForeignExport.list(repeated))") }
      losses += renamed.sorted()
      if excess > 0 { losses.append("\(excess) fields, of too many") }
      if binaryVersions > 0 {
        let versions = binaryVersions == 1 ? "1 former version that is" : "\(binaryVersions) former versions that are"
        losses.append("\(versions) bytes or an archive")
      }
      return losses
    }
  }

  private static func list(_ names: Set<String>) -> String {
    names.sorted().map { "'\($0)'" }.joined(separator: ", ")
  }

  /// A value of an item, now or formerly.
  private typealias Value = (item: Item, bytes: [UInt8])

  /// The fields of a value: the members of a JSON object, or the whole value as a password. If a name occurs more than
  /// once, the last member counts, as for a reference.
  private static func version(_ values: [Value], _ index: Int, _ changes: inout Changes) -> Entry.Version {
    let (item, value) = values[index]
    var version = Entry.Version()
    version.modified = hasOwnTime(values, index) ? modified(item) : Int64(clamping: item.changed.milliseconds)
    let text = String(decoding: value, as: UTF8.self)
    if item.kind == .json, let parsed = try? JSONValue(parsing: text), case .object(let members) = parsed {
      let last = Dictionary(zip(members.map { Array($0.name.utf8) }, members.indices)) { $1 }
      let code = nameOfCodes(in: parsed)
      for (index, member) in members.enumerated() {
        guard last[Array(member.name.utf8)] == index else {
          changes.repeated.insert(member.name)
          continue
        }
        if member.value.text == nil { changes.retyped.insert(member.name) }
        if member.value.text == "" { changes.empty.insert(member.name) }
        let count = version.fields.count
        version.add(
          member.name == code ? "totp" : member.name,
          member.value.text ?? String(decoding: member.value.json, as: UTF8.self))
        if version.fields.count > count, let name = version.fields.last?.name,
          !name.utf8.elementsEqual(member.name.utf8)
        {
          changes.renamed.insert("the name '\(member.name)', which becomes '\(name)'")
        }
      }
    } else {
      changes.plainValues += 1
      version.add(item.kind == .url ? "url" : "password", text)
    }
    if let label = item.label, !label.utf8.elementsEqual(version.text("username").utf8) { version.add("label", label) }
    changes.excess += version.lostFields
    return version
  }

  /// The name of the member from which `vault totp` makes codes, if the other programs know it by another name.
  private static func nameOfCodes(in object: JSONValue) -> String? {
    guard object["totp"] == nil, let name = ["otpauth", "otp"].first(where: { object[$0] != nil }) else { return nil }
    return object[name]?.text.map { (try? OneTimeSource($0)) != nil } == true ? name : nil
  }

  private static func modified(_ item: Item) -> Int64 {
    item.attributes["modified"].flatMap { UTCDate.moment($0)?.milliseconds }
      ?? Int64(clamping: item.changed.milliseconds)
  }

  /// Whether the attribute `modified` speaks of this value. It stays when a later command sets another value.
  private static func hasOwnTime(_ values: [Value], _ index: Int) -> Bool {
    let (item, bytes) = values[index]
    let first = values[...index].lastIndex { $0.item.attributes["modified"] != item.attributes["modified"] } ?? -1
    let origin = values[first + 1]
    // An import sets several values at once, which may have the same time in its file.
    return origin.bytes == bytes || origin.item.changed == item.changed
  }

  /// The values before the present one, oldest first.
  private func formerValues(of item: Item, in group: AccessGroup, _ changes: inout Changes) throws -> [Value] {
    guard item.version > item.oldestVersion else { return [] }
    let name = item.name.description
    var values: [Value] = []
    for former in try group.history(name).reversed() where former.version < item.version && !former.isRemoved {
      guard former.kind != .bytes, former.kind != .archive else {
        changes.binaryVersions += 1
        continue
      }
      values.append((former, try group.get(name, version: former.version).exportInsecurely()))
    }
    return values
  }

  /// Adds bytes as an attachment of the entry named by the part before the last `/`. If there is none, they get their
  /// own entry.
  private mutating func attach(_ bytes: [UInt8], _ item: Item, _ positions: [String: Int]) {
    let name = item.name.description
    if item.kind == .archive { losses.append("'\(name)': the name of its type") }
    if item.version > item.oldestVersion { losses.append("'\(name)': former versions") }
    if item.label != nil { losses.append("'\(name)': its label") }
    let slash = name.lastIndex(of: "/")
    let file = slash.map { String(name[name.index(after: $0)...]) } ?? name
    if let slash, !file.isEmpty, let position = positions[String(name[..<slash])] {
      if !item.attributes.isEmpty { losses.append("'\(name)': its attributes") }
      if item.expires != nil { losses.append("'\(name)': its expiry") }
      entries[position].attachments.append(Entry.Attachment(file, bytes))
    } else {
      var entry = entry(of: item)
      entry.current.modified = Self.modified(item)
      entry.attachments = [Entry.Attachment(file.isEmpty ? name : file, bytes)]
      entries.append(entry)
    }
  }
}
