internal import GroupFile
internal import Sealing

extension Registry {
  /// What the owner's registry says of one application; item `app/ID`.
  struct RegisteredApplication: Equatable {
    /// The number that its seed is derived with.
    var issue: UInt32
    /// The highest number that any of its seeds may have been derived with: above `issue` after a restore, because the lost
    /// machine may have given out the next ones already.
    var highestIssue: UInt32
    var standing: Standing
    var lifetime: GroupLifetime
    /// Milliseconds since 1970-01-01 UTC.
    var created: UInt64
    /// When its last credential was written; 0 if none ever was. Same unit.
    var issued: UInt64 = 0

    /// Whether its credential was replaced, and a group may still know the old one.
    var wasReplaced: Bool { standing == .issuing && issued != 0 }

    enum Standing: UInt8 {
      case issued = 1
      /// Being issued: what a killed process leaves, and a group that could not be changed.
      case issuing = 2
      case uninstalled = 3
      /// Uninstalled, and every credential of this issue is refused everywhere.
      case revoked = 4
    }
  }

  private static let applicationPrefix = "app/"

  /// All applications that ever were, by id.
  func applications() throws(VaultError) -> [String: RegisteredApplication] {
    var found: [String: RegisteredApplication] = [:]
    let list = try group.list(prefix: Registry.applicationPrefix)
    while let item = try list.next() {
      let id = String(item.name.description.dropFirst(Registry.applicationPrefix.count))
      found[id] = try application(id)
    }
    return found
  }

  /// What is known of the application `id`; `nil` if there never was one.
  func application(_ id: String) throws(VaultError) -> RegisteredApplication? {
    try entry(Registry.applicationPrefix + id).map { (bytes) throws(VaultError) in
      try RegisteredApplication(parsing: bytes)
    }
  }

  /// Writes what is known of the application `id`.
  func record(_ application: RegisteredApplication, of id: String) throws(VaultError) {
    try group.set(Registry.applicationPrefix + id, to: application.serialized())
  }
}

extension Registry.RegisteredApplication {
  private enum Tag: UInt8 {
    case issue = 1
    case standing, lifetime, created, issued, highestIssue
  }

  func serialized() -> [UInt8] {
    var fields = FieldWriter()
    fields.write(Tag.issue.rawValue, UInt64(issue))
    fields.write(Tag.standing.rawValue, [standing.rawValue])
    fields.write(Tag.lifetime.rawValue, [lifetime == .survives ? 1 : 2])
    fields.write(Tag.created.rawValue, created)
    fields.write(Tag.issued.rawValue, issued)
    if highestIssue != issue { fields.write(Tag.highestIssue.rawValue, UInt64(highestIssue)) }
    return fields.bytes
  }

  init(parsing bytes: [UInt8]) throws(VaultError) {
    do {
      var reader = FieldReader(bytes, in: bytes.indices, limit: 1_024)
      var issue: UInt32?
      var standing: Standing?
      var lifetime: GroupLifetime?
      var created: UInt64?
      var issued: UInt64?
      var highestIssue: UInt32?
      while let (tag, field) = try reader.next() {
        switch Tag(rawValue: tag) {
        case .issue: issue = UInt32(exactly: try FieldReader.number(field))
        case .standing: standing = field.count == 1 ? field.first.flatMap(Standing.init(rawValue:)) : nil
        case .lifetime: lifetime = field.elementsEqual([1]) ? .survives : field.elementsEqual([2]) ? .purged : nil
        case .created: created = try FieldReader.number(field)
        case .issued: issued = try FieldReader.number(field)
        case .highestIssue:
          highestIssue = UInt32(exactly: try FieldReader.number(field))
          guard let highestIssue, let issue, highestIssue > issue else { throw Registry.damaged }
        case nil: throw VaultError.newerFormat(read: 2, write: 2)
        }
      }
      guard let issue, issue > 0, let standing, let lifetime, let created, let issued else { throw Registry.damaged }
      self.init(
        issue: issue, highestIssue: highestIssue ?? issue, standing: standing, lifetime: lifetime, created: created,
        issued: issued)
    } catch let error as VaultError {
      throw error
    } catch {
      throw Registry.damaged
    }
  }
}

extension Application {
  init(_ id: String, _ registered: Registry.RegisteredApplication) {
    self.id = id
    issue = registered.issue
    standing =
      switch registered.standing {
      case .issued: .issued
      case .issuing: .interrupted
      case .uninstalled: .uninstalled
      case .revoked: .revoked
      }
    lifetime = registered.lifetime
    created = Timestamp(milliseconds: registered.created)
    issued = registered.issued == 0 ? nil : Timestamp(milliseconds: registered.issued)
  }
}
