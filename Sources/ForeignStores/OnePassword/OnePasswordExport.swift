internal import Exchange
internal import Ground

/// Reads an export of 1Password 8: a `.1pux` file, which is a zip archive with `export.data` (JSON) and attached files.
struct OnePasswordExport {
  private var zip: ZipFile
  private var lost = LossCounts()
  private var number = 0

  private static let limit = 256 << 20

  /// The names of attached files, `files/ID__name`, by their ids.
  private var documents: [String: String] = [:]
  /// The names of files that no entry has attached.
  private var unused: Set<String>

  init(_ bytes: [UInt8]) throws(ImportFault) {
    zip = try ZipFile(bytes, limit: Self.limit)
    unused = Set(zip.names.filter { !$0.hasPrefix("export.") && !$0.hasSuffix("/") })
    for name in zip.names.sorted() where name.hasPrefix("files/") {
      guard let end = name.place(of: "__") else { continue }
      documents[String(name[name.index(name.startIndex, offsetBy: 6)..<end.lowerBound])] = name
    }
  }

  mutating func read(_ found: (EntryLine) throws(ImportFault) -> Void) throws(ImportFault) {
    guard let data = try zip.file("export.data") else {
      throw ImportFault("it is not an export of 1Password: it has no 'export.data'", .damaged)
    }
    let vaults = try (JSONValue.read(data)["accounts"]?.elements ?? []).flatMap { account in
      (account["vaults"]?.elements ?? []).map { (account: account["attrs"]?.text("accountName") ?? "", vault: $0) }
    }
    let names = vaults.map { $0.vault["attrs"]?.text("name") ?? "" }
    for (index, (account, vault)) in vaults.enumerated() {
      let name = names[index]
      // A single vault needs no folder. Vaults of several accounts may have the same name.
      let isAlone = names.count { $0 == name } == 1
      let folder = vaults.count == 1 ? "" : isAlone || account.isEmpty ? name : "\(account)/\(name)"
      for item in vault["items"]?.elements ?? [] {
        number += 1
        // Older exports wrap each item in an object.
        try found(.entry(entry(item["item"] ?? item, in: folder)))
      }
    }
    if !unused.isEmpty {
      try found(.loss(unused.count == 1 ? "1 file that no entry names" : "\(unused.count) files that no entry names"))
    }
    try lost.tell(found)
  }

  private mutating func entry(_ item: JSONValue, in folder: String) throws(ImportFault) -> Entry {
    let place = "item \(number)"
    let overview = item["overview"] ?? .null
    var files: [JSONValue] = []
    let version = version(of: item, overview, &files)
    var name = overview.text("title")
    if name.isEmpty { name = Entry.host(of: version.text("url")) }
    if name.isEmpty { name = place }
    var entry = Entry(folder.isEmpty ? name : "\(folder)/\(name)", at: place)
    entry.current = version
    entry.history = history(of: item, now: version)
    let tags = (overview["tags"]?.elements ?? []).compactMap(\.scalar)
    if !tags.isEmpty { entry.setAttribute("tags", tags.joined(separator: ";")) }
    if item.text("state") == "archived" { entry.attributes["archived"] = "true" }
    if let index = item.count("favIndex"), index > 0 { lost.add("marks of favourites") }
    if !item.text("createdAt").isEmpty { lost.add("dates of creation") }
    for file in files {
      let fileName = file.text("fileName")
      if let stored = documents[file.text("documentId")], let bytes = try zip.file(stored) {
        unused.remove(stored)
        entry.attachments.append(Entry.Attachment(fileName, bytes))
      } else {
        entry.losses.append("an attachment that is not in the export")
      }
    }
    return entry
  }

  private mutating func version(of item: JSONValue, _ overview: JSONValue, _ files: inout [JSONValue]) -> Entry.Version
  {
    let details = item["details"] ?? .null
    var version = Entry.Version()
    version.modified = item.count("updatedAt").flatMap(Self.milliseconds)
    let login = details["loginFields"]?.elements ?? []
    for designation in ["username", "password"] {
      for field in login where field.text("designation") == designation {
        version.add(designation, field.text("value"))
      }
    }
    version.add("password", details.text("password"))
    let addresses = overview["urls"]?.elements ?? []
    if addresses.contains(where: { !$0.text("label").isEmpty }) { lost.add("labels of addresses") }
    let urls = addresses.map { $0.text("url") }
    for url in urls.isEmpty ? [overview.text("url")] : urls { version.add("url", url) }
    version.add("notes", details.text("notesPlain"))
    for field in login where !["username", "password"].contains(field.text("designation")) {
      version.add(field.text("name").isEmpty ? field.text("id") : field.text("name"), field.text("value"))
    }
    for section in details["sections"]?.elements ?? [] {
      for field in section["fields"]?.elements ?? [] { add(field, of: section.text("title"), to: &version, &files) }
    }
    if let file = details["documentAttributes"], case .object = file { files.append(file) }
    return version
  }

  /// Adds a field of a section, under both titles if another field has the same one. Its value is an object whose only
  /// member names the kind.
  private mutating func add(
    _ field: JSONValue, of section: String, to version: inout Entry.Version, _ files: inout [JSONValue]
  ) {
    var title = field.text("title").isEmpty ? field.text("id") : field.text("title")
    if !section.isEmpty, version.fields.contains(where: { $0.name == title }) { title = "\(section) \(title)" }
    let values = field["value"]?.members ?? []
    if values.dropFirst().contains(where: { !$0.value.fieldText.isEmpty }) { lost.add("further values of fields") }
    guard let value = values.first else { return }
    switch (value.name, value.value) {
    case (_, .null): break
    case ("totp", let code): version.add(version.text("totp").isEmpty ? "totp" : title, code.scalar ?? "")
    case ("file", let file): files.append(file)
    case ("reference", _): lost.add("references to other entries")
    case ("date", .number(let seconds)):
      // A date far from the present is kept as its number.
      let moment = Int64(seconds).flatMap { $0.magnitude < 1 << 37 ? UTCDate.text($0 * 1_000) : nil }
      version.add(title, moment.map { String($0.prefix(10)) } ?? seconds)
    case ("sshKey", let key):
      version.add(title, key.text("privateKey"))
      let others = key.members.filter { !["privateKey", "metadata"].contains($0.name) }
      for member in others + (key["metadata"]?.members ?? []) {
        version.add("\(title) \(member.name)", member.value.fieldText)
      }
    case ("email", .object(let members)):
      for member in members {
        version.add(member.name == "email_address" ? title : "\(title) \(member.name)", member.value.fieldText)
      }
    case (_, .object(let members)):
      for member in members { version.add("\(title) \(member.name)", member.value.fieldText) }
    case (_, let value): version.add(title, value.fieldText)
    }
  }

  private func history(of item: JSONValue, now: Entry.Version) -> [Entry.Version] {
    let former = item["details"]?["passwordHistory"]?.elements ?? []
    return former.compactMap { former in
      guard !former.text("value").isEmpty else { return nil }
      return now.with(password: former.text("value"), modified: former.count("time").flatMap(Self.milliseconds))
    }.sorted { ($0.modified ?? .min) < ($1.modified ?? .min) }
  }

  private static func milliseconds(_ seconds: Int) -> Int64? { seconds < 1 << 37 ? Int64(seconds) * 1_000 : nil }
}

extension Entry.Version {
  /// The same with a former password, because the history of many stores has only that.
  func with(password: String, modified: Int64?) -> Entry.Version { with("password", password, modified: modified) }

  /// The same with a former text of one field.
  func with(_ name: String, _ text: String, modified: Int64?) -> Entry.Version {
    var version = Entry.Version()
    version.modified = modified
    for field in fields { version.add(field.name, field.name == name ? text : field.text) }
    if self.text(name).isEmpty { version.add(name, text) }
    return version
  }
}
