internal import Ground

/// What an entry becomes in a KeePass database.
extension Entry {
  /// The names of KeePass for its own fields.
  private static let namesOfKeePass: Set<String> = ["Title", "UserName", "Password", "URL", "Notes", "otp"]

  /// The attributes without a `modified` that KeePass's own time, which counts seconds, gives back as it is written.
  package var attributesBesidesTime: [String: String] {
    let time = current.modified.map { UTCDate.text($0 / 1_000 * 1_000) }
    return attributes.filter { $0.key != "modified" || $0.value != time }
  }

  /// The attributes that become fields of a KeePass database, which itself has only tags and a time.
  package var fieldsOfAttributes: [Field] {
    attributesBesidesTime.filter { $0.key != "tags" || !$0.value.fitsXML }.sorted { $0.key < $1.key }
      .map { Field("attribute \($0.key)", $0.value) }
  }

  /// The names that other fields of one version have in a KeePass database. KeePassXC refuses a database with two equal
  /// names in an entry, so a name that is taken gets a number.
  package static func namesInKeePass(_ fields: [Field]) -> [String] {
    var names = DistinctNames(namesOfKeePass)
    return fields.map { names.name($0.name.fittingXML) }
  }

  /// The names of the fields of one version that an import from KeePass replaces by `totp`.
  package static func fieldsOfCodesInKeePass(_ fields: [Field]) -> [String] {
    let texts = Dictionary(zip(namesInKeePass(fields), fields.map(\.text))) { first, _ in first }
    // A source is written as `otp`, which an import prefers.
    let isWritten = texts["totp"].map { OneTimeSource.url(of: $0) != nil } == true
    guard !isWritten, let source = OneTimeSource.inKeePass(texts) else { return [] }
    return source.fields.filter { texts[$0] != nil }
  }

  /// Its names that XML cannot contain: its own and those of fields, attributes and attachments.
  package var namesUnfitForXML: Set<String> {
    let fields = ([current] + history).flatMap { $0.fields.map(\.name) }
    return Set(([name] + fields + attributes.keys + attachments.map(\.name)).filter { !$0.fitsXML })
  }

  /// Whether KeePass shows another text in place of a part of this one, such as `{USERNAME}`. Letters of any case do.
  package static func holdsPlaceholder(_ text: String) -> Bool {
    text.split(separator: "{", omittingEmptySubsequences: false).dropFirst().contains { part in
      guard let end = part.firstIndex(of: "}") else { return false }
      let name = part[..<end].uppercased()
      return placeholders.contains(name) || beginnings.contains { name.hasPrefix($0) }
    }
  }

  private static let placeholders: Set<String> = [
    "TITLE", "USERNAME", "PASSWORD", "NOTES", "URL", "TOTP", "HMACOTP", "TIMEOTP", "UUID", "GROUP", "GROUP_NOTES",
    "GROUP_PATH", "DB_DIR", "DB_NAME", "DB_BASENAME", "DB_EXT", "DB_PATH", "NEWPASSWORD", "ENV_DIRSEP", "APPDIR",
  ]
  private static let beginnings = [
    "S:", "REF:", "URL:", "DT_", "T-CONV:", "T-REPLACE-RX:", "C:", "CMD:", "PICKCHARS", "PICKFIELD", "NEWPASSWORD:",
  ]

  /// Whether KeePass shows its title or one of its texts differently, now or in a former version.
  package var holdsPlaceholder: Bool {
    let texts = ([current] + history).flatMap { $0.fields.map(\.text) } + fieldsOfAttributes.map(\.text)
    return ([name] + texts).contains(where: Self.holdsPlaceholder)
  }
}
