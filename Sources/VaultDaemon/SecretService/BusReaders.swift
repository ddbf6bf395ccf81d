#if Daemon
  /// The clients that keep properties which they have read, and so are told when these change.
  struct BusReaders: Sendable {
    /// An item that a client has read.
    struct ReadItem: Sendable {
      let id: String
      /// Whether the client asked for more than whether the item is locked.
      let showsContent: Bool
    }

    private struct Reader {
      /// The first call with which it read: the name and the program are those of all its calls.
      let call: BusCall
      /// The paths of items, and whether the client asked for more than whether they are locked.
      var items: [String: Bool] = [:]
      /// The ids of collections.
      var collections: Set<String> = []
    }

    /// By their unique names.
    private var readers: [String: Reader] = [:]
    /// The most items whose changed properties one client is told.
    private static let itemLimit = 4_096

    /// Notes that the caller has read an item's properties.
    mutating func note(_ call: BusCall, item path: String, showsContent: Bool) {
      var reader = readers[call.sender] ?? Reader(call: call)
      guard reader.items.count < Self.itemLimit || reader.items[path] != nil else { return }
      reader.items[path] = showsContent || reader.items[path] ?? false
      readers[call.sender] = reader
    }

    /// Notes that the caller has read all properties of a collection.
    mutating func note(_ call: BusCall, collection id: String) {
      readers[call.sender, default: Reader(call: call)].collections.insert(id)
    }

    mutating func forget(client: String) { readers[client] = nil }

    mutating func forget(item path: String) {
      for client in readers.keys { readers[client]?.items[path] = nil }
    }

    mutating func forget(collection id: String) {
      for client in readers.keys { readers[client]?.collections.remove(id) }
    }

    /// A call of each client that has read all properties of the collection.
    func ofCollection(_ id: String) -> [BusCall] {
      readers.values.filter { $0.collections.contains(id) }.map(\.call)
    }

    /// A call of each client, and the collection's items that it has read.
    func items(of collection: BusCollection) -> [(call: BusCall, items: [ReadItem])] {
      readers.values.map { reader in
        let items = reader.items.compactMap { path, showsContent -> ReadItem? in
          guard case .item(collection.id, let id)? = BusObject(path: path) else { return nil }
          return ReadItem(id: id, showsContent: showsContent)
        }
        return (reader.call, items)
      }
    }
  }
#endif
