#if Daemon
  import Synchronization
  import VaultFoundation

  /// A collection of the bus: a group of the store, or items in memory. Its calls wait for disks and locks.
  final class BusCollection: Sendable {
    /// The group's name; `nil` for the collection in memory.
    let group: String?
    /// The last part of its path.
    let id: String
    private let state = Mutex(State())
    /// Held while a change is made or the group is read, and taken before ``state``: what is read then holds all changes of
    /// this process.
    private let writing = Mutex(())

    fileprivate struct State {
      var epoch: UInt64?
      var items = BusItems()
      /// The label that a program gave the collection.
      var label: String?
      /// The values of the collection in memory.
      var values: [String: [UInt8]] = [:]
      /// The bytes of the collection in memory, with names, labels and attributes.
      var byteCount = 0
    }

    static let memoryID = "session"
    /// The item whose label is the collection's, in the group. Lists leave it out as they do with HashiCorp's companions, and
    /// it is none of those, because none has a name that begins with slashes.
    static let labelName = "//secret-service//kv"
    /// In memory: items, and bytes of all of them together.
    fileprivate static let (memoryItems, memoryBytes) = (4_096, 16 << 20)

    /// - Parameters:
    ///   - group: `nil` for the collection in memory.
    ///   - name: what its path is named after; by default the group's name.
    init(group: String?, name: String? = nil) {
      self.group = group
      id = group.map { Self.id(of: name ?? $0) } ?? Self.memoryID
    }

    /// A name in a path, as gnome-keyring writes names.
    static func id(of name: String) -> String {
      var id = ""
      for byte in name.utf8 {
        let scalar = Unicode.Scalar(byte)
        let isPlain = scalar.properties.isAlphabetic && byte < 128 || (48...57).contains(byte)
        if isPlain {
          id.unicodeScalars.append(scalar)
        } else {
          id += "_" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
      }
      return id == memoryID ? "_73ession" : id
    }

    /// What a program writes; `nil` for what stays as it is.
    struct Content: Sendable {
      var label: String?
      var attributes: [String: String]?
      var secret: Value?

      struct Value: Sendable {
        let bytes: [UInt8]
        let contentType: String
      }
    }

    enum Change: Sendable {
      /// Creates an item, or replaces one with these attributes. The name is the one that was planned.
      case create(Content, replaces: Bool, as: String?)
      case change(String, Content)
      /// Removes an item; its history is kept.
      case remove(String)
    }

    /// Whether anybody has asked for its items.
    var isKnown: Bool { state.withLock { $0.epoch != nil } }

    /// The items, as of the last time that somebody asked for them.
    var knownItems: [BusItem] { state.withLock { Array($0.items.items.values) } }

    /// The ids of the items with these attributes, as of the last time that somebody asked for any.
    func known(_ wanted: [String: String]) -> [String] { state.withLock { $0.items.matching(wanted).map(\.id) } }

    /// An item, as of the last time that somebody asked for any.
    func known(_ id: String) -> BusItem? { state.withLock { $0.items.items[id] } }

    // MARK: Reading

    /// Reads the items, after what other processes have changed.
    ///
    /// - Returns: the result of `body`, and what others have changed since the last call.
    func read<Result>(
      _ store: SecretStore, _ body: (BusItems) throws -> Result
    ) throws -> (result: Result, changes: BusChanges) {
      let changes = try refresh(store)
      return (try state.withLock { try body($0.items) }, changes)
    }

    /// The value of an item.
    ///
    /// - Returns: `nil`, if it is not there any more.
    func value(of item: BusItem, in store: SecretStore) throws -> [UInt8]? {
      guard let group else { return state.withLock { $0.values[item.id] } }
      do { return try Self.bytes(of: item.name, in: store.group(group)) } catch VaultError.notFound { return nil }
    }

    private static func bytes(of name: String, in group: AccessGroup) throws -> [UInt8] {
      let secret = try group.get(name)
      return unsafe secret.withUnsafeBytes { unsafe Array($0) }
    }

    /// The label that a program gave the collection, as of now.
    func label(in store: SecretStore) throws -> (label: String?, changes: BusChanges) {
      let changes = try refresh(store)
      return (state.withLock { $0.label }, changes)
    }

    /// Reads the group again, if it has changed.
    @discardableResult
    func refresh(_ store: SecretStore) throws -> BusChanges {
      guard let group else { return BusChanges() }
      let opened = try store.group(group)
      let epoch = try opened.info().epoch
      if state.withLock({ $0.epoch == epoch }) { return BusChanges() }
      // A change of this process's own is in the items as soon as its writer lets go.
      return try writing.withLock { _ in try load(opened) }
    }

    private func load(_ group: AccessGroup) throws -> BusChanges {
      let info = try group.info()
      if state.withLock({ $0.epoch == info.epoch }) { return BusChanges() }
      // If the group changes meanwhile, the next call sees another number and reads again.
      let all = try group.listing().items
      let items = BusItems(all.lazy.filter { !$0.name.isCompanion }.map { BusItem($0, in: info.id) })
      let label = all.first { $0.name.description == Self.labelName }?.label
      return state.withLock { state in
        let changes = state.epoch == nil ? BusChanges() : BusChanges(from: state.items, to: items)
        (state.epoch, state.items, state.label) = (info.epoch, items, label)
        return changes
      }
    }

    // MARK: Writing

    /// The name that an item will have, which nobody else is given meanwhile.
    func plan(
      _ content: Content, replaces: Bool, in store: SecretStore
    ) throws -> (name: String, changes: BusChanges) {
      let changes = try refresh(store)
      let name = state.withLock { state in
        if replaces, let old = state.items.replaced(by: content.attributes ?? [:]) { return old.name }
        return state.items.freeName(BusItem.name(for: content.label ?? "", content.attributes ?? [:]))
      }
      return (name, changes)
    }

    /// Lets others have a name that was planned for an item which was not made.
    func release(_ name: String) { state.withLock { $0.items.release(name) } }

    /// Gives the collection a label, which an item of the group keeps.
    func setLabel(_ label: String, in store: SecretStore) throws -> BusChanges {
      guard let group else {
        state.withLock { $0.label = label }
        return BusChanges()
      }
      return try writing.withLock { _ in
        let opened = try store.group(group)
        let others = try load(opened)
        try opened.set(Self.labelName, to: label, Details(label: .to(label)))
        return others.followed(by: try load(opened))
      }
    }

    /// Makes a change.
    ///
    /// - Returns: the id of the item, and how the collection changed since the last call.
    /// - Throws: `noObject` for an item that is not there.
    func make(_ change: Change, in store: SecretStore) throws -> (id: String, changes: BusChanges) {
      guard let group else { return try state.withLock { try $0.make(change) } }
      return try writing.withLock { _ in
        let opened = try store.group(group)
        let others = try load(opened)
        let (name, old, content) = try state.withLock { try $0.target(of: change) }
        let item = try opened.transaction { edit in
          if let content { try edit.write(content, to: name, over: old) } else { edit.remove(name) }
          return content == nil ? nil : try edit.state.item(name)
        }
        let info = try opened.info()
        let id = BusItem.id(of: name, in: info.id)
        let isAlone = state.withLock { state in
          // A commit of a published group can hold others' changes, too.
          guard !info.isPublished, let epoch = state.epoch, info.epoch == epoch + 1 else { return false }
          state.epoch = info.epoch
          if let item { state.items.put(BusItem(item, in: info.id)) } else { state.items.remove(id) }
          return true
        }
        guard isAlone else { return (id, others.followed(by: try load(opened))) }
        let own =
          content == nil
          ? BusChanges(deleted: [id]) : old == nil ? BusChanges(created: [id]) : BusChanges(changed: [id])
        return (id, others.followed(by: own))
      }
    }
  }

  extension BusCollection.State {
    /// The bytes of an item in memory.
    private func byteCount(of item: BusItem) -> Int { item.byteCount + (values[item.id]?.count ?? 0) }

    /// The name of the item that a change is about, the item as it is, and what it will be; `nil` to remove it.
    fileprivate mutating func target(
      of change: BusCollection.Change
    ) throws(BusFailure) -> (name: String, old: BusItem?, content: BusCollection.Content?) {
      switch change {
      case .create(let content, let replaces, let planned):
        let attributes = content.attributes ?? [:]
        // Others may have made the item, or used the name, since it was planned and recorded.
        if replaces, let old = items.replaced(by: attributes) {
          guard planned == nil || planned == old.name else { throw .plannedOtherwise }
          return (old.name, old, content)
        }
        guard let planned else {
          return (items.freeName(BusItem.name(for: content.label ?? "", attributes)), nil, content)
        }
        guard !items.hasItem(named: planned) else { throw .plannedOtherwise }
        return (planned, nil, content)
      case .change(let id, let content):
        guard let old = items.items[id] else { throw .noObject }
        return (old.name, old, content)
      case .remove(let id):
        guard let old = items.items[id] else { throw .noObject }
        return (old.name, old, nil)
      }
    }

    /// Makes a change in memory.
    fileprivate mutating func make(
      _ change: BusCollection.Change
    ) throws(BusFailure) -> (id: String, changes: BusChanges) {
      let (name, old, content) = try target(of: change)
      guard let content else {
        let id = old?.id ?? ""
        byteCount -= old.map(byteCount(of:)) ?? 0
        items.remove(id)
        values[id] = nil
        return (id, BusChanges(deleted: [id]))
      }
      let item = BusItem(
        name: name, label: content.label ?? old?.label ?? name,
        attributes: content.attributes ?? old?.attributes ?? [:],
        contentType: content.secret?.contentType ?? old?.contentType ?? "text/plain", created: old?.created)
      let value = content.secret?.bytes ?? values[item.id] ?? []
      let size = byteCount - (old.map(byteCount(of:)) ?? 0) + item.byteCount + value.count
      guard old != nil || items.items.count < BusCollection.memoryItems, size <= BusCollection.memoryBytes,
        value.count <= GroupLimits.secretByteCount, item.attributes.count <= GroupLimits.attributeCount,
        item.byteCount <= GroupLimits.attributesByteCount
      else { throw .overLimit }
      items.put(item)
      values[item.id] = value
      byteCount = size
      return (item.id, old == nil ? BusChanges(created: [item.id]) : BusChanges(changed: [item.id]))
    }
  }

  extension Edit {
    /// Writes what a program set.
    fileprivate func write(_ content: BusCollection.Content, to name: String, over old: BusItem?) throws {
      var details = Details(label: content.label.map { .to(BusItem.withoutControls($0)) } ?? .keep)
      if let attributes = content.attributes {
        for key in old?.attributes.keys ?? [:].keys { details.attributes.updateValue(nil, forKey: key) }
        for (key, value) in attributes { details.attributes[key] = value }
      }
      guard let secret = content.secret else { return change(name, details) }
      let kind = BusItem.kind(of: secret.bytes, secret.contentType)
      let isUsual = secret.contentType == BusItem.contentType(of: kind)
      details.attributes.updateValue(isUsual ? nil : secret.contentType, forKey: BusItem.contentTypeKey)
      set(name, to: try Secret(secret.bytes), kind: kind, details)
    }
  }
#endif
