internal import Sealing

/// The owner's list of groups and applications: a sealed, signed and witnessed group, `vault.owner`, whose only member
/// is the owner.
///
/// It distinguishes a group that never existed from one whose file was deleted, and keeps the issue numbers of
/// applications, and who was removed from a group. Items: `group/NAME`, `app/ID`, `removed/GROUP/ID` and
/// `issues/unnamed`.
struct Registry: Sendable {
  let group: AccessGroup

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
  private static let applicationPrefix = "app/"
  private static let unnamedIssuesName = "issues/unnamed"

  func groups() throws(VaultError) -> [AccessGroup.Name: Entry] {
    try entries(Registry.prefix) { (name) throws(VaultError) in
      guard let name = try? AccessGroup.Name(name) else { throw Registry.damaged }
      return (name, try entry(of: name))
    }
  }

  /// The entry for `name`; `nil` if the group never existed.
  func entry(of name: AccessGroup.Name) throws(VaultError) -> Entry? {
    try entry(Registry.prefix + name.description).map { (bytes) throws(VaultError) in try Entry(parsing: bytes) }
  }

  /// The bytes of an entry, which are not secret.
  func entry(_ name: String) throws(VaultError) -> [UInt8]? {
    do {
      return try unsafe group.get(name).withUnsafeBytes { unsafe Array($0) }
    } catch .notFound(.item) {
      return nil
    } catch .notFound(.group) {
      throw Registry.vanished
    }
  }

  /// Reads the entries whose names begin with `prefix`; `read` gets the rest of the name.
  private func entries<Key: Hashable, Value>(
    _ prefix: String, _ read: (String) throws(VaultError) -> (Key, Value?)
  ) throws(VaultError) -> [Key: Value] {
    let list: ItemList
    do { list = try group.list(prefix: prefix) } catch .notFound(.group) { throw Registry.vanished }
    var entries: [Key: Value] = [:]
    while let item = try list.next() {
      let (key, value) = try read(String(item.name.description.dropFirst(prefix.count)))
      entries[key] = value
    }
    return entries
  }

  /// The error for a registry that is gone. Every store has one, so even a machine that never saw it knows that.
  private static let vanished = VaultError.rolledBack(
    group: AccessGroup.Name.registry.description, found: 0, known: 1, reason: .vanished)

  /// The error for an entry that this program cannot have written.
  static let damaged = VaultError.damaged(
    group: AccessGroup.Name.registry.description, level: .registry, detail: "entry")

  /// Records `entry`, with another presence if one is given.
  func record(_ entry: Entry, as presence: Presence? = nil, of name: AccessGroup.Name) throws(VaultError) {
    var entry = entry
    entry.presence = presence ?? entry.presence
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
      let fields = try Fields<Tag>(bytes, limit: 1_024, unknown: VaultError.newerFormat(read: nil, write: nil))
      guard let groupID = fields[.groupID].flatMap({ GroupID($0) }), let created = try fields.number(.created),
        let presence = try fields.byte(.presence).flatMap(Registry.Presence.init(rawValue:))
      else { throw Registry.damaged }
      self.init(groupID: groupID, presence: presence, created: created)
    } catch {
      throw error as? VaultError ?? Registry.damaged
    }
  }
}

extension Registry {
  init(of identity: Identity, at location: StoreLocation, _ notices: NoticeBoard) throws(VaultError) {
    let name = AccessGroup.Name.registry
    let seed = try sealing(identity.registryMember())
    let file = AccessGroupFile(
      folder: location.groupFolder(name.description),
      context: GroupContext(
        groupName: name.description, ownerKey: identity.ownerKey, confirmOwner: identity.confirmOwner, seed: seed),
      witness: Witness(of: name.description, in: location.witnesses(of: identity.ownerKey)),
      now: { SystemClock.milliseconds() })
    self.init(group: AccessGroup(.init(name, .file(file), notices)))
  }

  func applications() throws(VaultError) -> [String: Application] {
    try entries(Registry.applicationPrefix) { (id) throws(VaultError) in (id, try application(id)) }
  }

  /// The entry for the application `id`; `nil` if there never was one.
  func application(_ id: String) throws(VaultError) -> Application? {
    try entry(Registry.applicationPrefix + id).map { (bytes) throws(VaultError) in try Application(id, parsing: bytes) }
  }

  /// The highest issue that an application which the registry does not name may have had: 0, unless the registry was made
  /// anew, or came back with a backup.
  func unnamedIssues() throws(VaultError) -> UInt32 { try issue(Registry.unnamedIssuesName) ?? 0 }

  private func issue(_ name: String) throws(VaultError) -> UInt32? { try entry(name).map(Registry.issue) }

  private static func issue(_ bytes: [UInt8]) throws(VaultError) -> UInt32 {
    guard bytes.count == 4 else { throw damaged }
    return bytes.word(at: 0)
  }

  private static func serialized(_ issue: UInt32) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(issue)
    return writer.bytes
  }

  /// The item that says up to which issue an application was removed from a group.
  private static func removal(of id: String, from group: String) -> String { "removed/\(group)/\(id)" }

  /// The group and the application of such an item; `nil` for other names.
  static func removal(_ name: String) -> (group: String, id: String)? {
    let parts = name.split(separator: "/").map(String.init)
    return parts.count == 3 && name == removal(of: parts[2], from: parts[1]) ? (parts[1], parts[2]) : nil
  }

  /// Whether the member was removed from the group and not let in again; `doubt` if the entry cannot be read.
  func hasRemoved(_ member: Member, from group: String, inDoubt doubt: Bool = false) -> Bool {
    member.kind == .application && hasRemoved(member.application, member.issue, from: group, inDoubt: doubt)
  }

  func hasRemoved(_ id: String, _ issue: UInt32, from group: String, inDoubt doubt: Bool = false) -> Bool {
    do { return try issue <= self.issue(Registry.removal(of: id, from: group)) ?? 0 } catch { return doubt }
  }

  /// The applications that were removed from the group of `entry`, each with the highest issue that was. An earlier group
  /// may have had the name.
  func removals(from group: String, _ entry: Entry) throws(VaultError) -> [String: UInt32] {
    let prefix = Registry.removal(of: "", from: group)
    let items = try self.group.items(prefix: prefix).filter { $0.changed.milliseconds >= entry.created }
    return items.map(\.name.description).reduce(into: [:]) { found, name in
      found[String(name.dropFirst(prefix.count))] = try? issue(name)
    }
  }

  /// The highest issue of each application that a roster names as removed only, unless that is recorded.
  func unrecordedRemovals(by roster: Roster) throws(VaultError) -> [String: UInt32] {
    var found = roster.removals
    for (id, issue) in found where hasRemoved(id, issue, from: roster.groupName) { found[id] = nil }
    return found
  }

  /// Changes up to which issues applications were removed from a group, in one transaction.
  ///
  /// - Parameter change: gets an application's id and number, 0 if it was never removed, and returns the new number.
  @discardableResult
  func changeRemovals(
    of ids: some Sequence<String>, from group: String, _ change: (String, UInt32) -> UInt32
  ) throws(VaultError) -> [String: UInt32] {
    let names = Dictionary(uniqueKeysWithValues: ids.map { ($0, Registry.removal(of: $0, from: group)) })
    func changes(_ id: String, _ number: UInt32?) -> Bool { change(id, number ?? 0) != number ?? 0 }
    let found = try names.map { (id, name) throws(VaultError) in changes(id, try issue(name)) }
    guard found.contains(true) else { return [:] }
    return try self.group.writing { (edit) throws(VaultError) in
      var former: [String: UInt32] = [:]
      for (id, name) in names {
        let number = try edit.bytes(of: name).map(Registry.issue) ?? 0
        guard changes(id, number) else { continue }
        former[id] = number
        try edit.set(Registry.serialized(change(id, number)), at: name)
      }
      return former
    }
  }

  /// Records who was removed from a group, according to a roster of it.
  func recordRemovals(by roster: Roster) throws(VaultError) {
    let removed = try unrecordedRemovals(by: roster)
    try changeRemovals(of: removed.keys, from: roster.groupName) { max($1, removed[$0] ?? 0) }
  }

  /// Raises the highest issue of every application, and notes that applications which the registry does not name may
  /// have had issues, for a registry that lacks what was written later. All of it is one transaction.
  ///
  /// - Parameters:
  ///   - rosters: those of the groups. All numbers are at least 1,024 above what they name.
  ///   - isRevoked: whether the groups show that a credential which the registry calls issued was revoked.
  @discardableResult
  func raiseIssues(
    above rosters: [Roster], revoking isRevoked: (Application) -> Bool = { _ in false }
  ) throws(VaultError) -> UInt32 {
    let (ids, found) = (try applications().keys, Applications.issues(in: rosters))
    let highest = max(try unnamedIssues(), found.values.map(\.issue).max() ?? 0)
    return try group.writing { (edit) throws(VaultError) in
      var unnamed = highest
      for id in ids {
        guard var application = try application(id, in: edit) else { throw .notFound(.item) }
        let known = max(application.highestIssue, found[id]?.issue ?? 0)
        unnamed = max(unnamed, known)
        application.highestIssue = try Applications.issue(Applications.lead, above: known)
        if isRevoked(application) { application.standing = .revoked }
        try edit.set(application.serialized(), at: Registry.applicationPrefix + id)
      }
      unnamed = try Applications.issue(Applications.lead, above: max(unnamed, 1))
      try edit.set(Registry.serialized(unnamed), at: Registry.unnamedIssuesName)
      return unnamed
    }
  }

  /// Whether the issues were not raised since the registry got its roster. Whoever gives it a new one raises them next, so
  /// that call was interrupted.
  func awaitsRaise() throws(VaultError) -> Bool {
    try group.reading { (transaction) throws(VaultError) in
      let roster = transaction.view.state.roster
      guard roster.revision > 1 else { return false }
      let raised = try transaction.stored(Registry.unnamedIssuesName)?.attributes.valueEpoch ?? 0
      return raised < roster.firstEpoch
    }
  }

  /// Records `application` unless another process has replaced or revoked it since `known` was read.
  ///
  /// - Throws: `contradiction(.superseded)`; nothing is changed then.
  func record(_ application: Application, since known: Application?) throws(VaultError) {
    try change(application.id) { (now) throws(VaultError) in
      guard known?.isUpToDate(with: now) ?? (now == nil) else { throw .contradiction(.superseded) }
      var changed = application
      changed.highestIssue = max(application.highestIssue, now?.highestIssue ?? 0)
      return changed
    }
  }

  /// Changes the entry of an application in one step.
  ///
  /// - Parameter change: gets the entry, or `nil` if there is none, while no other process can change it.
  @discardableResult
  func change(
    _ id: String, _ change: (Application?) throws(VaultError) -> Application
  ) throws(VaultError) -> Application {
    try group.writing { (edit) throws(VaultError) in
      let changed = try change(application(id, in: edit))
      try edit.set(changed.serialized(), at: Registry.applicationPrefix + id)
      return changed
    }
  }

  private func application(_ id: String, in edit: WriteTransaction) throws(VaultError) -> Application? {
    let bytes = try edit.bytes(of: Registry.applicationPrefix + id)
    return try bytes.map { (bytes) throws(VaultError) in try Application(id, parsing: bytes) }
  }
}
