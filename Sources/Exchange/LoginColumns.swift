internal import Ground

/// The meaning of the columns of a password table, by their names in its first row.
///
/// One table of names covers Chrome and browsers based on it (name, url, username, password, note), Firefox (url,
/// username, password and times), Safari and Apple's Passwords (Title, URL, Username, Password, Notes, OTPAuth),
/// KeePassXC (Group, Title, Username, Password, URL, Notes, TOTP and times), Bitwarden (folder, name, notes, fields,
/// login_uri, login_username, login_password, login_totp), 1Password (Title, Url, Username, Password, OTPAuth, Tags,
/// Notes), LastPass (url, username, password, totp, extra, name, grouping), Dashlane (username2, title, note, category,
/// otpUrl), NordPass (additional_urls, cardnumber and the other parts of cards and persons), and hand-made tables of
/// `name` and `value`.
struct LoginColumns {
  enum Role: String {
    case group, name, value, password, username, url, notes, totp, fields
    /// A member of the login, named like the column.
    case own
  }

  /// The role of each column; `nil` for a column that is not imported.
  let roles: [Role?]
  /// Whether the table has the columns of KeePassXC, whose group names all begin with the name of the whole database.
  let groupsHaveRoot: Bool
  /// Whether the table has the columns of LastPass.
  let areOfLastPass: Bool
  /// The names of the columns.
  let names: [String]

  private static let names: [String: Role] = [
    "group": .group, "folder": .group, "grouping": .group, "name": .name, "title": .name, "value": .value,
    "password": .password, "login_password": .password, "username": .username, "login_username": .username,
    "url": .url, "login_uri": .url, "notes": .notes, "note": .notes, "extra": .notes, "totp": .totp,
    "otpauth": .totp, "login_totp": .totp, "otpurl": .totp, "otpsecret": .totp, "category": .group, "fields": .fields,
    "username2": .own, "username3": .own, "additional_urls": .own, "cardholdername": .own, "cardnumber": .own,
    "cvc": .own, "pin": .own, "expirydate": .own, "zipcode": .own, "full_name": .own, "phone_number": .own,
    "email": .own, "address1": .own, "address2": .own, "city": .own, "country": .own, "state": .own,
    "custom_fields": .own, "tags": .own,
  ]

  /// - Throws: if it is not clear what to import. The header is not included in the message, because the first line of
  ///   a file without a header may contain a password.
  init(header: CSVFile.Row) throws(ImportFault) {
    let names = header.fields.map { $0.lowercased() }
    var roles = names.map { Self.names[$0] }
    let place = "line \(header.line)"
    let found = roles.compactMap { $0 == .own ? nil : $0 }
    guard Set(found).count == found.count else {
      throw ImportFault("two columns of the header mean the same", at: place)
    }
    guard found.contains(.value) || found.contains(.password) else {
      throw ImportFault("the header names no column 'password' or 'value'", at: place)
    }
    guard found.contains(.name) || found.contains(.url) else {
      throw ImportFault("the header names no column 'name', 'title' or 'url'", at: place)
    }
    // A table of values contains no logins.
    if found.contains(.value) {
      roles = roles.map { $0.map { [.group, .name, .value].contains($0) } == true ? $0 : nil }
    }
    self.roles = roles
    self.names = names
    areOfLastPass = names.contains("grouping")
    // Other tables have a group and a title, too, but not the times and icons of KeePassXC.
    groupsHaveRoot =
      names.contains("group") && names.contains("title")
      && names.contains { ["icon", "last modified", "created"].contains($0) }
  }

  /// Whether each row is a login; otherwise it is a name and a value.
  var areLogins: Bool {
    roles.contains { $0.map { [.username, .url, .notes, .totp, .fields, .own].contains($0) } == true }
  }
}

/// A password manager's record of one account. As an item it is a JSON object with a member for each non-empty text, so
/// `vault://group/name#username` refers to one of them.
struct Login {
  var username = ""
  var password = ""
  var url = ""
  var notes = ""
  /// The source of one-time codes: an `otpauth://` URL, or its secret alone.
  var totp = ""
  /// Members with other names.
  var others: [(String, String)] = []

  /// The entry with these texts. A second one of the same name gets a number.
  func entry(_ name: String, at place: String) -> Entry {
    let texts = [("username", username), ("password", password), ("url", url), ("notes", notes), ("totp", totp)]
    var entry = Entry(name, at: place)
    for (name, text) in texts + others { entry.current.add(name, text) }
    return entry
  }
}

extension Unicode.Scalar {
  /// Whether it is not allowed in a label.
  var isControl: Bool { properties.generalCategory == .control || value == 0x2028 || value == 0x2029 }
}
