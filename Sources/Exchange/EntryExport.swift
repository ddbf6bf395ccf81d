internal import Ground

/// Writes entries in formats that other password managers import.
package struct EntryExport {
  private let entries: [Entry]
  /// The losses in this format, each with the name of its entry and without a value.
  package private(set) var losses: [String] = []

  package init(_ entries: [Entry]) { self.entries = entries }

  // MARK: A table

  private static let columns = ["url", "username", "password", "notes", "totp"]

  /// A comma-separated table (RFC 4180) with a row for each entry.
  package mutating func table() -> [UInt8] {
    var text = (["name"] + Self.columns).joined(separator: ",") + "\r\n"
    for entry in entries {
      let cells = [entry.name] + Self.columns.map { Self.text($0, of: entry.current) }
      text += cells.map(Self.cell).joined(separator: ",") + "\r\n"
      var lost: [String] = []
      let others = entry.current.fields.count { !Self.columns.contains($0.name) }
      if others > 0 { lost.append(others == 1 ? "1 field" : "\(others) fields") }
      lost += Self.lostAlways(entry)
      if !entry.history.isEmpty { lost.append("former versions") }
      lose(lost, of: entry)
    }
    return Array(text.utf8)
  }

  private static func cell(_ text: String) -> String {
    // KeePassXC takes a row that begins with # for a comment.
    text.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) || [" ", "#"].contains(text.first) || text.last == " "
      ? "\"\(text.exchanging("\"", for: "\"\""))\"" : text
  }

  /// A field's text, as both formats have it.
  private static func text(_ name: String, of version: Entry.Version) -> String {
    name == "totp" ? OneTimeSource.inBitwarden(version.text(name)) : version.text(name)
  }

  /// The parts that neither format can contain.
  private static func lostAlways(_ entry: Entry) -> [String] {
    var lost: [String] = []
    let code = text("totp", of: entry.current)
    if code != entry.current.text("totp") {
      lost.append("the form of 'totp', which becomes \(code.hasPrefix("steam://") ? "steam://" : "a URL")")
    }
    if !entry.attributes.isEmpty { lost.append("attributes") }
    if entry.expires != nil { lost.append("its expiry") }
    return lost
  }

  /// Lists what neither the entry nor its attachments keep. An attachment is an item of its own.
  private mutating func lose(_ parts: [String], of entry: Entry) {
    if !parts.isEmpty { losses.append("'\(entry.name)': \(parts.joined(separator: ", "))") }
    for attachment in entry.attachments {
      let name = entry.current.fields.isEmpty ? entry.name : "\(entry.name)/\(attachment.name)"
      losses.append("'\(name)': its bytes")
    }
  }

  // MARK: Bitwarden

  /// The unencrypted JSON that Bitwarden imports.
  package mutating func bitwarden() -> [UInt8] {
    var folders: [String: Int] = [:]
    for entry in entries {
      if let folder = Self.parts(of: entry.name).folder, folders[folder] == nil { folders[folder] = folders.count }
    }
    var json = Array("{\n  \"encrypted\": false,\n  \"folders\": [".utf8)
    for (index, folder) in folders.sorted(by: { $0.value < $1.value }).enumerated() {
      json += "\(index > 0 ? "," : "")\n    ".utf8
      let id = Self.identifier(folder.value)
      json += JSONValue.object(of: [("id", .string(id)), ("name", .string(folder.key))]).json
    }
    json += "\n  ],\n  \"items\": [".utf8
    for (index, entry) in entries.enumerated() {
      json += "\(index > 0 ? "," : "")\n    ".utf8
      json += item(entry, folders).json
      lose(Self.lostAlways(entry) + Self.lostVersions(entry) + Self.tooLong(entry), of: entry)
    }
    return json + Array("\n  ]\n}\n".utf8)
  }

  private static let members: Set<String> = ["username", "password", "totp", "notes"]

  private func item(_ entry: Entry, _ folders: [String: Int]) -> JSONValue {
    let (folder, title) = Self.parts(of: entry.name)
    let version = entry.current
    let urls = Self.urls(of: version)
    let isLogin = Self.isLogin(version)
    var members: [(String, JSONValue)] = [
      ("folderId", folder.flatMap { folders[$0] }.map { .string(Self.identifier($0)) } ?? .null),
      ("type", .number(isLogin ? "1" : "2")), ("name", .string(title)),
      ("notes", version.text("notes").isEmpty ? .null : .string(version.text("notes"))), ("favorite", .bool(false)),
      (
        "fields",
        .array(
          version.fields.filter { !Self.members.contains($0.name) && !urls.contains($0) }.map { field in
            .object(of: [("name", .string(field.name)), ("value", .string(field.text)), ("type", .number("1"))])
          })
      ),
    ]
    if isLogin {
      let former = entry.history.filter { !$0.text("password").isEmpty }.reversed().map { former in
        JSONValue.object(of: [
          ("lastUsedDate", .string(UTCDate.text(former.modified ?? 0))), ("password", .string(former.text("password"))),
        ])
      }
      members.append(("passwordHistory", .array(former)))
      func text(_ name: String) -> JSONValue {
        version.text(name).isEmpty ? .null : .string(Self.text(name, of: version))
      }
      let addresses = urls.map { JSONValue.object(of: [("match", .null), ("uri", .string($0.text))]) }
      members.append(
        (
          "login",
          .object(of: [
            ("uris", .array(addresses)), ("username", text("username")), ("password", text("password")),
            ("totp", text("totp")),
          ])
        ))
    } else {
      members.append(("secureNote", .object(of: [("type", .number("0"))])))
    }
    return .object(of: members)
  }

  private static func isLogin(_ version: Entry.Version) -> Bool {
    version.fields.contains { ["url", "username", "password", "totp"].contains($0.name) }
  }

  /// The maximum sizes in bytes that Bitwarden's server accepts: its limits are 1,000, 5,000 and 10,000 characters of
  /// encrypted text.
  private static let (nameLimit, textLimit, notesLimit) = (687, 3_695, 7_439)

  /// The parts for which Bitwarden's server rejects the whole file.
  private static func tooLong(_ entry: Entry) -> [String] {
    func limit(_ field: Entry.Field) -> Int {
      switch field.name {
      case "username", "totp": nameLimit
      case "notes", "url": notesLimit
      default: textLimit
      }
    }
    var names = entry.current.fields.filter { $0.text.utf8.count > limit($0) || $0.name.utf8.count > nameLimit }
      .map { "'\($0.name)'" }
    let (folder, title) = parts(of: entry.name)
    if [folder ?? "", title].contains(where: { $0.utf8.count > nameLimit }) { names.append("its name") }
    if entry.history.contains(where: { $0.text("password").utf8.count > textLimit }) {
      names.append("a former password")
    }
    return names.map { "\($0), which is too long for Bitwarden's server: it refuses the whole file" }
  }

  /// What Bitwarden loses of former versions: everything but the passwords of a login.
  private static func lostVersions(_ entry: Entry) -> [String] {
    let hasPasswords = isLogin(entry.current)
    let now = Set(entry.current.fields)
    let isKept = entry.history.map { former in
      let fields = Set(former.fields)
      guard fields != now else { return true }
      return hasPasswords && !former.text("password").isEmpty
        && fields.symmetricDifference(now).allSatisfy { $0.name == "password" }
    }
    guard isKept.contains(false) else { return [] }
    let keepsPasswords = hasPasswords && entry.history.contains { !$0.text("password").isEmpty }
    return [keepsPasswords ? "former versions, except their passwords" : "former versions"]
  }

  /// `url`, `url (2)` and so on, as an import names a login's addresses. Other names would not come back.
  private static func urls(of version: Entry.Version) -> [Entry.Field] {
    version.fields.reduce(into: []) { urls, field in
      if field.name == (urls.isEmpty ? "url" : "url (\(urls.count + 1))") { urls.append(field) }
    }
  }

  private static func parts(of name: String) -> (folder: String?, title: String) {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count > 1, !parts.contains(where: \.isEmpty), let title = parts.last else { return (nil, name) }
    return (parts.dropLast().joined(separator: "/"), String(title))
  }

  /// Bitwarden requires UUIDs that differ.
  private static func identifier(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return "00000000-0000-4000-8000-" + String(repeating: "0", count: max(0, 12 - digits.count)) + digits
  }
}
