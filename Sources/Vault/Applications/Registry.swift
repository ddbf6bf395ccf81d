internal import GroupFile
internal import Sealing

/// The owner's list of groups and applications: a sealed, signed and witnessed group, `vault.owner`, whose only member
/// is the owner.
///
/// It distinguishes a group that never existed from one whose file was deleted, and keeps the issue numbers of
/// applications. Items: `group/NAME` and `app/ID`.
struct Registry {
  let group: AccessGroup

  /// The registry of `identity`'s store.
  init(of identity: Identity, at location: StoreLocation, _ notices: NoticeBoard) throws(VaultError) {
    let name = AccessGroup.Name.registry
    let seed: MemberSeed
    do { seed = try identity.registryMember() } catch { throw .storage(.memory) }
    let witnesses = WitnessFolder(
      stateFolder: location.stateFolder(of: identity.ownerKey), ownerKey: identity.ownerKey)
    let file = AccessGroupFile(
      folder: location.groupFolder(name.description),
      context: GroupContext(groupName: name.description, ownerKey: identity.ownerKey, seed: seed),
      witness: Witness(of: name.description, in: witnesses), now: { SystemClock.milliseconds() })
    self.init(group: AccessGroup(name, file, notices))
  }

  init(group: AccessGroup) { self.group = group }

  /// The owner's record of one group.
  struct Entry: Equatable {
    var groupID: GroupID
    var presence: Presence
    /// When the group was created, in milliseconds since 1970-01-01 UTC.
    var created: UInt64
  }

  /// Whether the group's file should be there.
  enum Presence: UInt8 {
    case present = 1
    case absent = 2
    /// Being created or removed, so the file may exist or not; a killed process leaves this state.
    case changing = 3
  }

  private static let prefix = "group/"

  /// All groups that were ever registered, by name.
  func groups() throws(VaultError) -> [AccessGroup.Name: Entry] {
    var entries: [AccessGroup.Name: Entry] = [:]
    let list = try group.list(prefix: Registry.prefix)
    while let item = try list.next() {
      guard let name = try? AccessGroup.Name(String(item.name.description.dropFirst(Registry.prefix.count))) else {
        throw Registry.damaged
      }
      entries[name] = try entry(of: name)
    }
    return entries
  }

  /// The entry for `name`; `nil` if the group never existed.
  func entry(of name: AccessGroup.Name) throws(VaultError) -> Entry? {
    try entry(Registry.prefix + name.description).map { (bytes) throws(VaultError) in try Entry(parsing: bytes) }
  }

  /// The bytes of one entry, which are not secret.
  func entry(_ name: String) throws(VaultError) -> [UInt8]? {
    do {
      return try unsafe group.get(name).withUnsafeBytes { unsafe Array($0) }
    } catch .notFound(.item) {
      return nil
    }
  }

  /// The error for an entry that this program cannot have written.
  static let damaged = VaultError.damaged(
    group: AccessGroup.Name.registry.description, level: .registry, detail: "entry")

  /// Writes the entry for `name`.
  func record(_ entry: Entry, of name: AccessGroup.Name) throws(VaultError) {
    try group.set(Registry.prefix + name.description, to: entry.serialized())
  }
}

extension Registry.Entry {
  private enum Tag: UInt8 {
    case groupID = 1
    case presence, created
  }

  func serialized() -> [UInt8] {
    var fields = FieldWriter()
    fields.write(Tag.groupID.rawValue, groupID.bytes)
    fields.write(Tag.presence.rawValue, [presence.rawValue])
    fields.write(Tag.created.rawValue, created)
    return fields.bytes
  }

  init(parsing bytes: [UInt8]) throws(VaultError) {
    do {
      var reader = FieldReader(bytes, in: bytes.indices, limit: 1_024)
      var groupID: GroupID?
      var presence: Registry.Presence?
      var created: UInt64?
      while let (tag, field) = try reader.next() {
        switch Tag(rawValue: tag) {
        case .groupID: groupID = GroupID(field)
        case .presence: presence = field.count == 1 ? field.first.flatMap(Registry.Presence.init(rawValue:)) : nil
        case .created: created = try FieldReader.number(field)
        case nil: throw VaultError.newerFormat(read: nil, write: nil)
        }
      }
      guard let groupID, let presence, let created else {
        throw Registry.damaged
      }
      self.init(groupID: groupID, presence: presence, created: created)
    } catch let error as VaultError {
      throw error
    } catch {
      throw Registry.damaged
    }
  }
}

extension Registry {
  /// The registry's entry for one application; item `app/ID`.
  struct RegisteredApplication: Equatable {
    /// The number that the application's seed is derived with.
    var issue: UInt32
    /// The highest number that any of its seeds may have been derived with. After a restore it is above `issue`,
    /// because the lost machine may already have used the numbers in between.
    var highestIssue: UInt32
    var standing: Standing
    var lifetime: GroupLifetime
    /// Milliseconds since 1970-01-01 UTC.
    var created: UInt64
    /// When its last credential was written, in milliseconds since 1970-01-01 UTC; 0 if none was.
    var issued: UInt64 = 0

    /// Whether its credential was replaced while some group may still accept the old one.
    var wasReplaced: Bool { standing == .issuing && issued != 0 }

    enum Standing: UInt8 {
      case issued = 1
      /// Being issued; a killed process leaves this state, and so does a group that could not be changed.
      case issuing = 2
      case uninstalled = 3
      /// Uninstalled; every group refuses every credential of this issue.
      case revoked = 4
    }
  }

  private static let applicationPrefix = "app/"

  /// All applications that were ever registered, by id.
  func applications() throws(VaultError) -> [String: RegisteredApplication] {
    var found: [String: RegisteredApplication] = [:]
    let list = try group.list(prefix: Registry.applicationPrefix)
    while let item = try list.next() {
      let id = String(item.name.description.dropFirst(Registry.applicationPrefix.count))
      found[id] = try application(id)
    }
    return found
  }

  /// The entry for the application `id`; `nil` if there never was one.
  func application(_ id: String) throws(VaultError) -> RegisteredApplication? {
    try entry(Registry.applicationPrefix + id).map { (bytes) throws(VaultError) in
      try RegisteredApplication(parsing: bytes)
    }
  }

  /// Writes the entry for the application `id`.
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
        case nil: throw VaultError.newerFormat(read: nil, write: nil)
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
      case .issued: registered.issued == 0 ? .registered : .issued
      case .issuing: .interrupted
      case .uninstalled: .uninstalled
      case .revoked: .revoked
      }
    lifetime = registered.lifetime
    created = Timestamp(milliseconds: registered.created)
    issued = registered.issued == 0 ? nil : Timestamp(milliseconds: registered.issued)
  }
}
