internal import Exchange
internal import Ground

/// Reads JSON exports of Bitwarden and Vaultwarden, unencrypted or encrypted with their own passphrase.
struct BitwardenExport {
  private let export: JSONValue
  private var lost = LossCounts()
  /// The names of folders and collections by their ids.
  private var folders: [String: String] = [:]

  /// - Throws: `wrongKey`, `damaged`, `overLimit`; `unsupported` for an export that only its account can open.
  init(_ bytes: [UInt8], passphrase: [UInt8]?) throws(ImportFault) {
    var export = try JSONValue.read(bytes)
    if export["encrypted"] == .bool(true) {
      export = try JSONValue.read(BitwardenSeal(export).opened(passphrase))
    }
    guard case .array? = export["items"] else {
      throw ImportFault("it is not an export of Bitwarden: it has no 'items'", .damaged)
    }
    self.export = export
    for list in ["folders", "collections"] {
      for folder in export[list]?.elements ?? [] { folders[folder.text("id")] = folder.text("name") }
    }
  }

  mutating func read(_ found: (EntryLine) throws(ImportFault) -> Void) throws(ImportFault) {
    for (index, item) in (export["items"]?.elements ?? []).enumerated() {
      if item.text("deletedDate").isEmpty {
        try found(.entry(entry(item, at: "item \(index + 1)")))
      } else {
        lost.add("entries in the trash")
      }
    }
    try lost.tell(found)
  }

  private mutating func entry(_ item: JSONValue, at place: String) -> Entry {
    let version = version(of: item)
    var name = item.text("name")
    if name.isEmpty { name = Entry.host(of: version.text("url")) }
    if name.isEmpty { name = place }
    let folder = folders[item.text("folderId")] ?? item["collectionIds"]?.elements.first?.scalar.flatMap { folders[$0] }
    if let folder, !folder.isEmpty { name = "\(folder)/\(name)" }
    var entry = Entry(name, at: place)
    entry.current = version
    entry.history = history(of: item, now: version)
    if item["favorite"] == .bool(true) { lost.add("marks of favourites") }
    if !item.text("creationDate").isEmpty { lost.add("dates of creation") }
    if !item.text("archivedDate").isEmpty { lost.add("dates of archiving") }
    if let count = item.count("reprompt"), count > 0 { lost.add("requests to ask for the passphrase again") }
    if let count = item["collectionIds"]?.elements.count, count > 1 { lost.add("further collections") }
    if item["attachments"]?.elements.isEmpty == false { lost.add("attachments, which are not in this export") }
    return entry
  }

  /// The members of an item that are read by name, or say nothing about its secret.
  private static let known: Set<String> = [
    "id", "organizationId", "folderId", "collectionIds", "type", "object", "name", "notes", "favorite", "reprompt",
    "login", "secureNote", "fields", "passwordHistory", "attachments", "revisionDate", "creationDate", "deletedDate",
    "archivedDate", "edit", "viewPassword", "permissions", "organizationUseTotp", "key",
  ]

  private mutating func version(of item: JSONValue) -> Entry.Version {
    var version = Entry.Version()
    version.modified = UTCDate.moment(item.text("revisionDate"))?.milliseconds
    if let login = item["login"] {
      version.add("username", login.text("username"))
      version.add("password", login.text("password"))
      for address in login["uris"]?.elements ?? [] {
        version.add("url", address.text("uri"))
        if address["match"]?.scalar != nil { lost.add("rules for matching addresses") }
      }
      version.add("totp", login.text("totp"))
      if login["fido2Credentials"]?.elements.isEmpty == false { lost.add("passkeys") }
    }
    version.add("notes", item.text("notes"))
    // Cards, persons, keys, and kinds that newer versions have.
    for part in item.members where !Self.known.contains(part.name) {
      if case .object(let members) = part.value {
        for member in members { version.add(member.name, member.value.fieldText) }
      } else if !part.value.fieldText.isEmpty {
        lost.add("parts of an unknown kind")
      }
    }
    for field in item["fields"]?.elements ?? [] {
      if field.count("type") == 3 {
        lost.add("fields that are links to others")
      } else {
        version.add(field.text("name"), field.text("value"))
      }
    }
    return version
  }

  /// Bitwarden keeps only former passwords, each with the time when the next one was set, and among them former texts
  /// of hidden fields as `NAME: TEXT`.
  private func history(of item: JSONValue, now: Entry.Version) -> [Entry.Version] {
    let hidden = (item["fields"]?.elements ?? []).filter { field in
      // A field whose name was taken has a number in the entry.
      field.count("type") == 1 && now.text(field.text("name")) == field.text("value")
    }.map { $0.text("name") }
    return (item["passwordHistory"]?.elements ?? []).map { former in
      let text = former.text("password")
      let modified = UTCDate.moment(former.text("lastUsedDate"))?.milliseconds
      guard let name = hidden.first(where: { !$0.isEmpty && text.hasPrefix("\($0): ") }) else {
        return now.with(password: text, modified: modified)
      }
      return now.with(name, String(text.dropFirst(name.count + 2)), modified: modified)
    }.sorted { ($0.modified ?? .min) < ($1.modified ?? .min) }
  }
}
