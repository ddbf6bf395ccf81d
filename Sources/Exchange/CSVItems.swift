internal import Ground

/// Reads items from a table of names and values, or from the logins that a browser or password manager exported.
package enum CSVItems {
  /// - Throws: the first fault and its line. The message contains no text from the table.
  package static func items(of text: String) throws(ImportFault) -> ImportedItems {
    let rows = try CSVFile(text).rows
    guard let header = rows.first else { throw ImportFault("it holds no header") }
    let columns = try LoginColumns(header: header)
    let root = root(of: rows.dropFirst(), columns)
    var imported = ImportedItems()
    var entries: [Entry] = []
    var lost = [Int](repeating: 0, count: header.fields.count)
    for row in rows.dropFirst() {
      guard row.fields.count == header.fields.count else {
        throw ImportFault(
          "it has \(row.fields.count) fields, and the header \(header.fields.count)", at: "line \(row.line)")
      }
      for (column, text) in row.fields.enumerated() where columns.roles[column] == nil && !text.isEmpty {
        lost[column] += 1
      }
      let entry = try entry(of: row, columns, root: root)
      if entry.current.lostFields > 0 {
        imported.losses.append("\(entry.place): \(entry.current.lostFields) fields, of too many")
      }
      if columns.areLogins, entry.isEmpty {
        imported.losses.append("\(entry.place): it has only a name")
      } else {
        entries.append(entry)
      }
    }
    imported.items = distinct(entries, columns.areLogins, &imported.losses)
    for (column, count) in lost.enumerated() where count > 0 {
      let values = count == 1 ? "1 value" : "\(count) values"
      imported.losses.append("column \(column + 1) ('\(header.fields[column])'): \(values)")
    }
    return imported
  }

  /// The name of the whole database, with which every group of KeePassXC begins; nil if the groups have no such name.
  private static func root(of rows: ArraySlice<CSVFile.Row>, _ columns: LoginColumns) -> Substring? {
    guard columns.groupsHaveRoot, let column = columns.roles.firstIndex(of: .group) else { return nil }
    let roots = Set(rows.map { $0.fields.indices.contains(column) ? $0.fields[column].prefix { $0 != "/" } : "" })
    return roots.count == 1 ? roots.first : nil
  }

  /// Leaves out duplicate entries. Entries that share a name get the user's name added, and a number if that is not
  /// enough.
  private static func distinct(_ entries: [Entry], _ areLogins: Bool, _ losses: inout [String]) -> [ImportedItem] {
    var places: [String: [[UInt8]: String]] = [:]
    var kept: [Entry] = []
    for entry in entries {
      if let place = places[entry.name]?[entry.current.json] {
        losses.append("\(entry.place): it is the same as \(place)")
      } else {
        places[entry.name, default: [:]][entry.current.json] = entry.place
        kept.append(entry)
      }
    }
    var names = DistinctNames(places.keys)
    return zip(kept, Entry.names(of: kept, &names, keepsPlain: true)).map { entry, named in
      areLogins
        ? entry.item(named.name, named.alias)
        : ImportedItem(named.name, .string, Array(entry.current.text("password").utf8), at: entry.place)
    }
  }

  /// The entry of one row. A value counts as its password.
  private static func entry(
    of row: CSVFile.Row, _ columns: LoginColumns, root: Substring?
  ) throws(ImportFault) -> Entry {
    var login = Login()
    var (group, name) = ("", "")
    for (column, text) in row.fields.enumerated() {
      switch columns.roles[column] {
      case .group: group = text
      case .name: name = text
      case .value, .password: login.password = text
      case .username: login.username = text
      // LastPass writes this for a note.
      case .url: login.url = text == "http://sn" && columns.areOfLastPass ? "" : text
      case .notes: login.notes = text
      case .totp: login.totp = text
      case .fields: login.others.append(("fields", text))
      case .own: login.others.append((columns.names[column], text))
      case nil: break
      }
    }
    if name.isEmpty { name = Entry.host(of: login.url) }
    if name.isEmpty { name = login.username }
    let place = "line \(row.line)"
    guard !name.isEmpty else {
      throw ImportFault("the entry has no name, address or user name; give it a name", at: place)
    }
    if let root { group = String(group.dropFirst(root.count + 1)) }
    // LastPass writes a folder in a folder with `\`.
    if columns.areOfLastPass { group = group.exchanging("\\", for: "/") }
    return login.entry(group.isEmpty ? name : "\(group)/\(name)", at: place)
  }
}
