import Synchronization
public import VaultFoundation

/// A store, as Apple's keychain services see it: generic and internet passwords in access groups.
///
/// Safe from any number of threads and processes. Each call throws `param` for an attribute that only the other class
/// has, and for an access group whose name no group can have.
///
/// A call that throws has changed nothing, unless `vaultd` answers the store's calls: then an update or a deletion of
/// several items may have changed some of them, and after `notAvailable` a change may have been made.
public final class Keychain: Sendable {
  private let store: SecretStore

  public init(_ store: SecretStore) { self.store = store }

  private static let standardStore = Mutex<Keychain?>(nil)

  /// The keychain that ``SecItemAdd(_:_:)`` and its siblings use: the one that was made the standard, else the store that
  /// this process's environment names, opened on the first use.
  ///
  /// - Throws: the status of the error of opening it; the next call tries again.
  public static func standard() throws(KeychainStatus) -> Keychain {
    try standardStore.withLock { (standard) throws(KeychainStatus) in
      if let standard { return standard }
      let new = Keychain(try status { () throws(VaultError) in try SecretStore.open() })
      standard = new
      return new
    }
  }

  /// Makes this the keychain that ``SecItemAdd(_:_:)`` and its siblings use.
  public func makeStandard() { Keychain.standardStore.withLock { $0 = self } }

  /// Adds an item.
  ///
  /// - Returns: the item as stored, or as given if it cannot be read back.
  /// - Throws: `duplicateItem` if there is an item with the same primary key, whichever process added it; `param` for an item
  ///   that cannot be stored; `missingEntitlement`, `readOnly`.
  @discardableResult
  public func add(_ item: KeychainItem) throws(KeychainStatus) -> KeychainItem {
    let group = try group(of: item)
    return try Keychain.status { () throws(VaultError) in
      let name = try item.name().description
      // The version is checked under the lock of the group's writers.
      let details = item.details(over: nil, isAdded: true)
      try group.set(name, to: item.secret(), kind: item.kind, details, ifVersion: 0)
      // It is stored, even if it cannot be read back because another process has removed it, or the group, since.
      guard let opened = try? group.open(name), let added = KeychainItem(opened, in: group, withData: true) else {
        return item
      }
      return added
    }
  }

  /// The items that have every attribute of `query`, sorted by their names.
  ///
  /// - Parameters:
  ///   - query: its class and attributes; its data is ignored.
  ///   - limit: the highest number of results.
  ///   - withData: whether to open the secrets.
  /// - Throws: `itemNotFound` if there is none; `missingEntitlement`.
  public func copyMatching(
    _ query: KeychainItem, limit: Int = 1, withData: Bool = false
  ) throws(KeychainStatus) -> [KeychainItem] {
    let group = try group(of: query)
    let found = try Keychain.status { () throws(VaultError) in
      var found: [KeychainItem] = []
      for match in try Keychain.items(matching: query, in: group) {
        guard found.count < limit else { break }
        let name = match.name.description
        // It may have been removed since.
        guard let opened = try Keychain.present({ () throws(VaultError) in try group.open(name) }),
          let item = KeychainItem(opened, in: group, withData: withData)
        else { continue }
        found.append(item)
      }
      return found
    }
    guard !found.isEmpty else { throw .itemNotFound }
    return found
  }

  /// Changes all items that have every attribute of `query`, in one transaction; one after the other through `vaultd`.
  ///
  /// A query without service and server finds only items that ``add(_:)`` has made, and no keyed archives.
  ///
  /// - Parameters:
  ///   - query: its class and attributes; its data is ignored.
  ///   - changes: what changes; its class and access group must be those of the query, or absent.
  /// - Throws: `itemNotFound` if there is none; `duplicateItem` if an item would get the primary key of another one; `param`;
  ///   `unimplemented` if a primary key would change through `vaultd`, before any item is changed.
  public func update(_ query: KeychainItem, to changes: KeychainItem) throws(KeychainStatus) {
    let group = try group(of: query)
    guard changes.itemClass == query.itemClass, changes.fitsItsClass else { throw .param }
    if let name = changes.accessGroup, try Keychain.groupName(name) != group.name { throw .param }
    try change(query, in: group) { (stored, old) throws(VaultError) in
      let new = old.changed(by: changes)
      let newName = try new.name().description
      var details = new.details(over: stored, isAdded: stored.isAdded)
      // Keeps the value's epoch, by which `vault exposure` knows the removed members that could read it.
      if changes.data == nil, newName == stored.name.description { return .change(details) }
      // An expiry belongs to a value, so a new value has none.
      if changes.data == nil, let expiry = stored.expires { details.expires = .to(expiry) }
      return .set(
        newName, new, changes.data == nil ? stored.kind : new.kind(after: stored.kind),
        typeName: changes.data == nil ? stored.typeName : nil, details)
    }
  }

  /// Removes all items that have every attribute of `query`, in one transaction; one after the other through `vaultd`.
  /// Their histories are kept.
  ///
  /// A query without service and server finds only items that ``add(_:)`` has made, and no keyed archives.
  ///
  /// - Throws: `itemNotFound` if there is none.
  public func delete(_ query: KeychainItem) throws(KeychainStatus) {
    let group = try group(of: query)
    try change(query, in: group) { (_, _) throws(VaultError) in .remove }
  }

  // MARK: What the calls need

  /// The group of an item to add or of a query.
  private func group(of item: KeychainItem) throws(KeychainStatus) -> AccessGroup {
    // An attribute that is overlooked would find or remove other items than were meant.
    guard item.fitsItsClass else { throw .param }
    let name = try item.accessGroup.map { (name) throws(KeychainStatus) in try Keychain.groupName(name).description }
    do { return try store.group(name ?? store.defaultGroupName) } catch { throw .missingEntitlement }
  }

  /// The group's name, in lower case: an Apple team's prefix has capital letters, and no group's name has any.
  ///
  /// So names that differ only in case mean the same group. That gives nobody access, because only members have it.
  private static func groupName(_ text: String) throws(KeychainStatus) -> AccessGroup.Name {
    // Only ASCII, because Unicode's mapping makes an ASCII letter of the Kelvin sign.
    let small = text.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    do { return try AccessGroup.Name(String(decoding: small, as: UTF8.self)) } catch { throw .param }
  }

  /// What an update or a deletion does to one item.
  private enum Step {
    case remove
    case change(Details)
    /// Sets the data of an item; if the name is another one, that item replaces this one.
    case set(String, KeychainItem, SecretKind, typeName: String?, Details)
  }

  private typealias Deciding = (_ stored: Item, _ item: KeychainItem) throws(VaultError) -> Step

  private func change(_ query: KeychainItem, in group: AccessGroup, _ decide: Deciding) throws(KeychainStatus) {
    let count = try Keychain.status { () throws(VaultError) in
      let found = try Keychain.items(matching: query, in: group, toChange: true)
      guard !found.isEmpty else { return 0 }
      return group.isThroughService
        ? try changeEach(of: found, matching: query, in: group, decide)
        : try changeTogether(found, matching: query, in: group, decide)
    }
    guard count > 0 else { throw .itemNotFound }
  }

  /// Changes all items that still match, or none, and returns how many.
  private func changeTogether(
    _ found: [Item], matching query: KeychainItem, in group: AccessGroup, _ decide: Deciding
  ) throws(VaultError) -> Int {
    do {
      return try group.transaction { edit in
        var count = 0
        for name in found.map(\.name.description) {
          // Another process may have changed or removed it in the meantime.
          guard let opened = try Keychain.present({ () throws(VaultError) in try edit.open(name) }),
            query.mayChange(opened.item), let item = KeychainItem(opened, in: group, withData: true),
            item.matches(query)
          else { continue }
          switch try decide(opened.item, item) {
          case .remove: edit.remove(name)
          case .change(let details): edit.change(name, details)
          case .set(let newName, let new, let kind, let typeName, let details):
            if newName != name { edit.remove(name) }
            edit.set(
              newName, to: try new.secret(), kind: kind, typeName: typeName, details,
              ifVersion: newName == name ? nil : 0)
          }
          count += 1
        }
        return count
      }
    } catch {
      throw (error as? VaultError) ?? .unexpected("an error of another type")
    }
  }

  /// Changes one item after the other with the calls that `vaultd` has, and returns how many still matched.
  private func changeEach(
    of found: [Item], matching query: KeychainItem, in group: AccessGroup, _ decide: Deciding
  ) throws(VaultError) -> Int {
    // A rename would take two calls, and after the first one there would be two items. Whether there is one depends only
    // on names, which stay, so no later step is a rename either.
    for stored in found {
      if let item = KeychainItem(stored, in: group), case .set(let newName, _, _, _, _) = try decide(stored, item),
        newName != stored.name.description
      {
        throw .denied(.throughService)
      }
    }
    var count = 0
    for stored in found where try changeOne(stored, matching: query, in: group, decide) { count += 1 }
    return count
  }

  /// How often an item is read again because somebody else changed it after it was read.
  private static let attemptLimit = 100

  /// Changes an item as it was read, or as it is by now.
  ///
  /// - Returns: false if it no longer matches.
  private func changeOne(
    _ found: Item, matching query: KeychainItem, in group: AccessGroup, _ decide: Deciding
  ) throws(VaultError) -> Bool {
    let name = found.name.description
    var stored = found
    for _ in 0..<Keychain.attemptLimit {
      // Its data is not needed, so it is not opened, and nobody is recorded to have read it.
      guard query.mayChange(stored), let item = KeychainItem(stored, in: group), item.matches(query) else {
        return false
      }
      let step = try decide(stored, item)
      do throws(VaultError) {
        return try Keychain.present { () throws(VaultError) in
          switch step {
          case .remove: try group.remove(name, ifVersion: stored.version)
          case .change(let details): try group.change(name, details, ifVersion: stored.version)
          case .set(_, let new, let kind, let typeName, let details):
            try group.set(
              name, to: try new.secret(), kind: kind, typeName: typeName, details, ifVersion: stored.version)
          }
        } != nil
      } catch .conflict {
        let current = try Keychain.present { () throws(VaultError) in try group.item(name) }
        guard let current else { return false }
        stored = current
      }
    }
    throw .busy(group: group.name.description)
  }

  /// The matching items, sorted by their names.
  ///
  /// - Parameter toChange: whether only those that a change with this query may touch.
  private static func items(
    matching query: KeychainItem, in group: AccessGroup, toChange: Bool = false
  ) throws(VaultError) -> [Item] {
    // A generic password with service and account has one name: that is looked up, and its absence proved.
    if query.itemClass == .genericPassword, query.service != nil, query.account != nil {
      let name = try query.name().description
      guard let item = try present({ () throws(VaultError) in try group.item(name) }),
        KeychainItem(item, in: group)?.matches(query) == true
      else { return [] }
      return [item]
    }
    return try group.items().filter {
      KeychainItem($0, in: group)?.matches(query) == true && (!toChange || query.mayChange($0))
    }
  }

  /// The result of `read`; nil if there is no such item.
  private static func present<Result: ~Copyable>(
    _ read: () throws(VaultError) -> Result
  ) throws(VaultError) -> Result? {
    do { return try read() } catch {
      guard error == .notFound(.item) else { throw error }
      return nil
    }
  }

  private static func status<Result>(_ body: () throws(VaultError) -> Result) throws(KeychainStatus) -> Result {
    do { return try body() } catch { throw KeychainStatus(error) }
  }
}
