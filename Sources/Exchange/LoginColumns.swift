/// What the columns of a table of passwords are, by their names in its first row.
///
/// One table of names serves them all: Chrome and its kin (name, url, username, password, note), Firefox (url, username,
/// password and times), Safari and Apple's Passwords (Title, URL, Username, Password, Notes, OTPAuth), KeePassXC (Group, Title,
/// Username, Password, URL, Notes, TOTP and times), Bitwarden (folder, name, notes, fields, login_uri, login_username,
/// login_password, login_totp), and tables that somebody made of `name` and `value`.
struct LoginColumns {
  enum Role: String {
    case group, name, value, password, username, url, notes, totp, fields
  }

  /// For each column what it is; `nil` for one that no item keeps.
  let roles: [Role?]
  /// Whether a group's name begins with that of the whole database, as KeePassXC writes it.
  let groupsHaveRoot: Bool

  private static let names: [String: Role] = [
    "group": .group, "folder": .group, "grouping": .group, "name": .name, "title": .name, "value": .value,
    "password": .password, "login_password": .password, "username": .username, "login_username": .username,
    "url": .url, "login_uri": .url, "notes": .notes, "note": .notes, "extra": .notes, "totp": .totp,
    "otpauth": .totp, "login_totp": .totp, "fields": .fields,
  ]

  /// - Throws: where it is not clear what would be imported. The header is not repeated: a file without one begins with a
  ///   password.
  init(header: CSVFile.Row) throws(ImportFault) {
    let names = header.fields.map { $0.lowercased() }
    var roles = names.map { Self.names[$0] }
    let place = "line \(header.line)"
    let found = roles.compactMap { $0 }
    guard Set(found).count == found.count else {
      throw ImportFault("two columns of the header mean the same", at: place)
    }
    guard found.contains(.value) || found.contains(.password) else {
      throw ImportFault("the header names no column 'password' or 'value'", at: place)
    }
    guard found.contains(.name) || found.contains(.url) else {
      throw ImportFault("the header names no column 'name', 'title' or 'url'", at: place)
    }
    // A table of values has no logins.
    if found.contains(.value) {
      roles = roles.map { $0.map { [.group, .name, .value].contains($0) } == true ? $0 : nil }
    }
    self.roles = roles
    groupsHaveRoot = names.contains("group") && names.contains("title")
  }

  /// Whether each row is a login; otherwise it is a name with a text.
  var areLogins: Bool {
    roles.contains { $0.map { [.username, .url, .notes, .totp, .fields].contains($0) } == true }
  }
}
