#if Daemon
  /// The clients that keep properties which they have read, and so are told when these change.
  struct BusReaders: Sendable {
    private struct Reader {
      let program: BusProgram
      /// The paths of items.
      var items: Set<String> = []
      /// The ids of collections.
      var collections: Set<String> = []
    }

    /// By their unique names.
    private var readers: [String: Reader] = [:]
    /// The most items whose changed properties one client is told.
    private static let itemLimit = 4_096

    /// Notes that the caller has read an item's properties.
    mutating func note(_ call: BusCall, item path: String) {
      var reader = readers[call.sender] ?? Reader(program: call.program)
      guard reader.items.count < Self.itemLimit || reader.items.contains(path) else { return }
      reader.items.insert(path)
      readers[call.sender] = reader
    }

    /// Notes that the caller has read all properties of a collection.
    mutating func note(_ call: BusCall, collection id: String) {
      readers[call.sender, default: Reader(program: call.program)].collections.insert(id)
    }

    mutating func forget(client: String) { readers[client] = nil }

    mutating func forget(item path: String) {
      for client in readers.keys { readers[client]?.items.remove(path) }
    }

    mutating func forget(collection id: String) {
      for client in readers.keys { readers[client]?.collections.remove(id) }
    }

    /// The clients that have read the properties of the item at `path`, and their programs.
    func ofItem(_ path: String) -> [(client: String, program: BusProgram)] {
      readers.filter { $0.value.items.contains(path) }.map { ($0.key, $0.value.program) }
    }

    /// The clients that have read all properties of the collection, and their programs.
    func ofCollection(_ id: String) -> [(client: String, program: BusProgram)] {
      readers.filter { $0.value.collections.contains(id) }.map { ($0.key, $0.value.program) }
    }

    /// The ids of a collection's items that a client has read, by the clients.
    func items(of collection: BusCollection) -> [(client: String, program: BusProgram, items: [String])] {
      readers.map { client, reader in
        let items = reader.items.compactMap { path -> String? in
          guard case .item(collection.id, let id)? = BusObject(path: path) else { return nil }
          return id
        }
        return (client, reader.program, items)
      }
    }
  }
#endif
