#if Configuration
  import Configuration
  import Foundation
  import VaultFoundation

  /// All items of a group in one state, their values in guarded memory.
  struct GroupSnapshot: ConfigSnapshot {
    let providerName: String
    private let entries: [Item.Name: Entry]

    private final class Entry: Sendable {
      let opened: OpenedItem
      init(_ opened: consuming OpenedItem) { self.opened = opened }
    }

    init(of group: AccessGroup) async throws(VaultError) {
      providerName = "AccessGroupProvider[\(group.name)]"
      entries = try await group.inThread { group throws(VaultError) in try GroupSnapshot.entries(of: group) }
    }

    private static func entries(of group: AccessGroup) throws(VaultError) -> [Item.Name: Entry] {
      let list = try group.list()
      var entries: [Item.Name: Entry] = [:]
      while let item = try list.next() { entries[item.name] = Entry(try list.open(item.name.description)) }
      return entries
    }

    /// Whether a change of `group` is already in this state. An item can be made anew with a version that it had, so the
    /// time of its change is compared as well.
    func holds(_ change: ItemChange, of group: AccessGroup) async -> Bool {
      let known = entries[change.name]?.opened.item
      guard known?.version == change.version else { return false }
      guard let known else { return true }
      let item = try? await group.item(change.name.description)
      return item?.version == known.version && item?.changed == known.changed
    }

    func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
      guard let entry = key.itemName.flatMap({ entries[$0] }) else {
        return LookupResult(encodedKey: key.encoded, value: nil)
      }
      return LookupResult(
        encodedKey: key.encoded,
        value: ConfigValue(try ConfigContent(entry.opened.secret, entry.opened.item.kind, as: type), isSecret: true))
    }
  }

  extension AbsoluteConfigKey {
    /// The key in the form of an item's name.
    var encoded: String { components.joined(separator: "/") }

    /// The name of the key's item; nil if no item can have it.
    var itemName: Item.Name? {
      // Otherwise two keys could be the same item.
      guard components.allSatisfy({ !$0.isEmpty && !$0.contains("/") }) else { return nil }
      return try? Item.Name(encoded)
    }
  }

  extension ConfigContent {
    /// Reads a value as `type`.
    ///
    /// - Throws: ``VaultError/otherType(found:expected:)``.
    init(_ secret: borrowing Secret, _ kind: SecretKind, as type: ConfigType) throws(VaultError) {
      let mismatch = VaultError.otherType(found: kind.name, expected: type.rawValue)
      guard kind != .archive else { throw mismatch }
      guard let content = secret.content(as: type) else { throw mismatch }
      self = content
    }
  }

  extension Secret {
    fileprivate func content(as type: ConfigType) -> ConfigContent? {
      if type == .bytes { return .bytes(unsafe withUnsafeBytes { unsafe [UInt8]($0) }) }
      guard let text = exportInsecurelyAsString() else { return nil }
      return switch type {
      case .bytes: nil
      case .string: .string(text)
      case .int: Int(text).map(ConfigContent.int)
      case .double: Double(text).map(ConfigContent.double)
      case .bool: Bool(text).map(ConfigContent.bool)
      case .stringArray: elements(of: text).map(ConfigContent.stringArray)
      case .intArray: elements(of: text).map(ConfigContent.intArray)
      case .doubleArray: elements(of: text).map(ConfigContent.doubleArray)
      case .boolArray: elements(of: text).map(ConfigContent.boolArray)
      case .byteChunkArray: elements(of: text).map { (chunks: [Data]) in .byteChunkArray(chunks.map { [UInt8]($0) }) }
      }
    }

    /// The elements of a JSON array; nil for any other text.
    private func elements<Element: Decodable>(of text: String) -> [Element]? {
      try? JSONDecoder().decode([Element].self, from: Data(text.utf8))
    }
  }
#endif
