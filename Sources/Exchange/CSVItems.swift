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
      let entry = try Entry(row, columns, root: root)
      if columns.areLogins, entry.login.isEmpty {
        imported.losses.append("line \(row.line): it has only a name")
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
    var lines: [String: [[UInt8]: Int]] = [:]
    var kept: [Entry] = []
    for entry in entries {
      if let line = lines[entry.name]?[entry.login.json] {
        losses.append("line \(entry.line): it is the same as line \(line)")
      } else {
        lines[entry.name, default: [:]][entry.login.json] = entry.line
        kept.append(entry)
      }
    }
    var taken = Set(lines.keys)
    var numbers: [String: Int] = [:]
    return kept.map { entry in
      let isAlone = lines[entry.name]?.count == 1
      var name = entry.name
      if !isAlone {
        let user = entry.login.username
        let wish = user.isEmpty ? entry.name : "\(entry.name) (\(user))"
        var number = numbers[wish, default: 0] + 1
        name = number == 1 ? wish : "\(wish) (\(number))"
        // Only an entry without a user may keep the plain name, and only one of them.
        while number > 1 || wish != entry.name, !taken.insert(name).inserted {
          number += 1
          name = "\(wish) (\(number))"
        }
        numbers[wish] = number
      }
      let place = "line \(entry.line)"
      return areLogins
        ? entry.login.item(name, at: place)
        : ImportedItem(name, .string, Array(entry.login.password.utf8), at: place)
    }
  }

  /// The item of one row.
  private struct Entry {
    let line: Int
    var name = ""
    var login = Login()

    init(_ row: CSVFile.Row, _ columns: LoginColumns, root: Substring?) throws(ImportFault) {
      line = row.line
      var group = ""
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
        case .fields: if !text.isEmpty { login.others.append(("fields", text)) }
        case .own: login.others.append((columns.names[column], text))
        case nil: break
        }
      }
      if name.isEmpty { name = Exchange.Entry.host(of: login.url) }
      if name.isEmpty { name = login.username }
      guard !name.isEmpty else { throw ImportFault("it has neither a name nor an address", at: "line \(line)") }
      if let root { group = String(group.dropFirst(root.count + 1)) }
      // LastPass writes a folder in a folder with `\`.
      if columns.areOfLastPass { group = group.exchanging("\\", for: "/") }
      if !group.isEmpty { name = "\(group)/\(name)" }
    }
  }
}
