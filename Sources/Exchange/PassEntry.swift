internal import Ground

/// An entry of pass, the standard Unix password manager: the password on the first line, followed by other data.
package enum PassEntry {
  /// The item of one entry. A single line is a text item. Several lines are a login, in which the first `login:`,
  /// `user:` or `username:` line, the first `url:` line and the first line with a source of codes, `otpauth://` or
  /// `totp:`, have their own members, and all other lines are notes. A document, such as a private key or JSON, is
  /// kept as it is, and an entry that is not UTF-8, such as a picture, as bytes.
  ///
  /// - Parameters:
  ///   - name: the entry's path in the store, without `.gpg`.
  ///   - content: the content of its file.
  ///   - keepsFields: whether a line `name: value` before the first other line is a field, as gopass writes it. If its
  ///     name is taken, or it has no value, it is kept in the notes.
  package static func item(_ name: String, _ content: [UInt8], keepsFields: Bool = false) -> ImportedItem {
    let place = "'\(name)'"
    guard let text = String(validating: content, as: UTF8.self) else {
      return ImportedItem(name, .bytes, content, at: place)
    }
    var lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }.map(String.init)
    while lines.count > 1, lines.last?.isEmpty == true { lines.removeLast() }
    guard lines.count > 1 else { return ImportedItem(name, .string, Array(lines[0].utf8), at: place) }
    guard !isDocument(text) else { return ImportedItem(name, .string, content, at: place) }
    var login = Login()
    // pass-otp creates entries whose first line is an `otpauth://` URL.
    if !take(lines[0], codesOnly: true, into: &login) { login.password = lines[0] }
    var notes: [String] = []
    var isAmongFields = keepsFields
    for line in lines.dropFirst() where !take(line, codesOnly: false, into: &login) {
      let field = isAmongFields ? field(line) : nil
      if let field, !field.1.isEmpty, !names.contains(field.0), !login.others.contains(where: { $0.0 == field.0 }) {
        login.others.append(field)
      } else {
        isAmongFields = field != nil
        notes.append(line)
      }
    }
    login.notes = notes.joined(separator: "\n")
    return login.entry(name, at: place).item(name)
  }

  /// Whether a text of several lines is one of PEM's or OpenPGP's, or JSON.
  private static func isDocument(_ text: String) -> Bool {
    if text.hasPrefix("-----BEGIN ") { return true }
    guard let first = text.first(where: { !$0.isWhitespace }), first == "{" || first == "[" else { return false }
    return (try? JSONValue(parsing: text)) != nil
  }

  /// The names that a login itself uses.
  private static let names: Set = ["username", "password", "url", "notes", "totp"]

  /// The field of a line such as `PIN: 1234`; nil for other lines.
  private static func field(_ line: String) -> (String, String)? {
    guard let colon = line.place(of: ": ") else { return nil }
    let name = String(line[..<colon.lowerBound])
    guard (1...64).contains(name.utf8.count), !name.contains(" ") else { return nil }
    return (name, String(line[colon.upperBound...]))
  }

  /// - Returns: false if the line has no member of its own, or the member is already set.
  private static func take(_ line: String, codesOnly: Bool, into login: inout Login) -> Bool {
    if line.lowercased().hasPrefix("otpauth://"), login.totp.isEmpty {
      login.totp = line
      return true
    }
    guard !codesOnly, let colon = line.firstIndex(of: ":") else { return false }
    let text = String(line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" })
    guard !text.isEmpty else { return false }
    switch line[..<colon].lowercased() {
    case "login", "user", "username":
      guard login.username.isEmpty else { return false }
      login.username = text
    case "url":
      guard login.url.isEmpty else { return false }
      login.url = text
    case "totp":
      guard login.totp.isEmpty, (try? OneTimeSource(text)) != nil else { return false }
      login.totp = text
    default: return false
    }
    return true
  }
}
