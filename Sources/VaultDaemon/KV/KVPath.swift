#if Daemon
  import Vault

  /// The name of an item as a path of HashiCorp's interface: components that are not empty, with slashes between them.
  struct KVPath: Equatable {
    let name: String

    /// The companion of the mount itself: its settings. No path of an item has an empty component, so no request can name
    /// a companion.
    static let mount = Item.Name.companionEnding

    /// What KV counts differently from the store's history of this item.
    var companion: String { name + Item.Name.companionEnding }

    /// - Throws: ``Refusal``.
    init(_ text: String) throws(Refusal) {
      guard !text.isEmpty, !text.split(separator: "/", omittingEmptySubsequences: false).contains("") else {
        throw .invalid("a path has no empty components")
      }
      do { name = try Item.Name(text).description } catch { throw .invalid(error.message) }
      guard companion.utf8.count <= 1_024 else { throw .invalid("a path has at most 1,020 bytes") }
    }

    /// The path that an item's name, or its companion's, stands for.
    ///
    /// - Returns: `nil` for a name that is no path.
    init?(itemName: String) {
      let ending = Item.Name.companionEnding
      let name = itemName.hasSuffix(ending) ? String(itemName.dropLast(ending.count)) : itemName
      guard let path = try? KVPath(name) else { return nil }
      self = path
    }

    /// The beginning of the names of items in a folder; empty for the whole mount.
    ///
    /// - Parameter text: with or without a slash at its end.
    static func folder(_ text: String) throws(Refusal) -> String {
      text.isEmpty ? "" : try KVPath(text.hasSuffix("/") ? String(text.dropLast()) : text).name + "/"
    }

    /// The entries of a folder that holds items of these names: items, and folders with a slash at their ends.
    static func entries(_ names: some Sequence<String>, in folder: String) -> [String] {
      var entries: Set<String> = []
      for name in names {
        guard let path = KVPath(itemName: name)?.name, path.hasPrefix(folder) else { continue }
        let rest = path.dropFirst(folder.count)
        let end = rest.firstIndex(of: "/").map { rest.index(after: $0) } ?? rest.endIndex
        entries.insert(String(rest[..<end]))
      }
      return entries.sorted()
    }
  }
#endif
