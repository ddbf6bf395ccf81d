#if Daemon
  import Vault

  /// The name of an item as a path of HashiCorp's interface: non-empty components separated by slashes.
  struct KVPath: Equatable {
    let name: String

    /// The name of the mount's own companion, which holds its settings. A path of a request has no empty component, so
    /// no request can name a companion.
    static let mount = Item.Name.companionEnding

    /// The name of the companion item, which holds what KV counts differently from the store's history.
    var companion: String { name + Item.Name.companionEnding }

    /// - Throws: ``Refusal``.
    init(_ text: String) throws(Refusal) {
      guard !text.isEmpty, !text.split(separator: "/", omittingEmptySubsequences: false).contains("") else {
        throw .invalid("a path must not have empty components")
      }
      do { name = try Item.Name(text).description } catch { throw .invalid(error.message) }
      guard companion.utf8.count <= 1_024 else { throw .invalid("a path may have at most 1,020 bytes") }
    }

    /// The path of an item with this name, or of the item that this companion belongs to.
    ///
    /// - Returns: `nil` for a name that is not a path.
    init?(itemName: String) {
      let ending = Item.Name.companionEnding
      let name = itemName.hasSuffix(ending) ? String(itemName.dropLast(ending.count)) : itemName
      guard let path = try? KVPath(name) else { return nil }
      self = path
    }

    /// The prefix of the names of all items in a folder; empty for the whole mount.
    ///
    /// - Parameter text: with or without a slash at the end.
    static func folder(_ text: String) throws(Refusal) -> String {
      text.isEmpty ? "" : try KVPath(text.hasSuffix("/") ? String(text.dropLast()) : text).name + "/"
    }

    /// The entry of a folder that stands for an item of this name: the item, or a folder with a slash at the end.
    ///
    /// - Returns: `nil` for an item outside the folder.
    static func entry(of name: String, in folder: String) -> String? {
      guard let path = KVPath(itemName: name)?.name, path.hasPrefix(folder) else { return nil }
      let rest = path.dropFirst(folder.count)
      let end = rest.firstIndex(of: "/").map { rest.index(after: $0) } ?? rest.endIndex
      return String(rest[..<end])
    }
  }
#endif
