#if Daemon
  /// An interface of the bus: what calls are checked against, and what introspection shows.
  struct BusInterface: Sendable {
    /// Arguments are written as in the specification: `s algorithm, v input`.
    struct Method: Sendable {
      let name: String
      let input: [Argument]
      let output: [Argument]

      init(_ name: String, _ input: String = "", gives output: String = "") {
        (self.name, self.input, self.output) = (name, Argument.list(input), Argument.list(output))
      }

      var signature: String { input.map(\.type).joined() }
    }

    struct Argument: Sendable {
      let type: String
      let name: String

      static func list(_ text: String) -> [Argument] {
        text.split(separator: ",").compactMap { part in
          let words = part.split(separator: " ")
          return words.count == 2 ? Argument(type: String(words[0]), name: String(words[1])) : nil
        }
      }
    }

    struct Property: Sendable {
      let name: String
      let type: String
      var isWritable = false
    }

    let name: String
    var methods: [Method] = []
    var properties: [Property] = []
    var signals: [Method] = []

    static let service = BusInterface(
      name: "org.freedesktop.Secret.Service",
      methods: [
        Method("OpenSession", "s algorithm, v input", gives: "v output, o result"),
        Method("CreateCollection", "a{sv} properties, s alias", gives: "o collection, o prompt"),
        Method("SearchItems", "a{ss} attributes", gives: "ao unlocked, ao locked"),
        Method("Unlock", "ao objects", gives: "ao unlocked, o prompt"),
        Method("Lock", "ao objects", gives: "ao locked, o prompt"),
        Method("LockService"),
        Method("GetSecrets", "ao items, o session", gives: "a{o(oayays)} secrets"),
        Method("ReadAlias", "s name", gives: "o collection"),
        Method("SetAlias", "s name, o collection"),
      ],
      properties: [Property(name: "Collections", type: "ao")],
      signals: ["CollectionCreated", "CollectionDeleted", "CollectionChanged"].map { Method($0, "o collection") })

    static let collection = BusInterface(
      name: "org.freedesktop.Secret.Collection",
      methods: [
        Method("Delete", gives: "o prompt"),
        Method("SearchItems", "a{ss} attributes", gives: "ao results"),
        Method("CreateItem", "a{sv} properties, (oayays) secret, b replace", gives: "o item, o prompt"),
      ],
      properties: [
        Property(name: "Items", type: "ao"), Property(name: "Label", type: "s", isWritable: true),
        Property(name: "Locked", type: "b"), Property(name: "Created", type: "t"),
        Property(name: "Modified", type: "t"),
      ],
      signals: ["ItemCreated", "ItemDeleted", "ItemChanged"].map { Method($0, "o item") })

    static let item = BusInterface(
      name: "org.freedesktop.Secret.Item",
      methods: [
        Method("Delete", gives: "o prompt"),
        Method("GetSecret", "o session", gives: "(oayays) secret"),
        Method("SetSecret", "(oayays) secret"),
      ],
      properties: [
        Property(name: "Locked", type: "b"), Property(name: "Attributes", type: "a{ss}", isWritable: true),
        Property(name: "Label", type: "s", isWritable: true), Property(name: "Type", type: "s", isWritable: true),
        Property(name: "Created", type: "t"), Property(name: "Modified", type: "t"),
      ])

    static let session = BusInterface(name: "org.freedesktop.Secret.Session", methods: [Method("Close")])

    static let prompt = BusInterface(
      name: "org.freedesktop.Secret.Prompt", methods: [Method("Prompt", "s window_id"), Method("Dismiss")],
      signals: [Method("Completed", "b dismissed, v result")])

    /// What xdg-desktop-portal calls for sandboxed programs.
    static let portal = BusInterface(
      name: "org.freedesktop.impl.portal.Secret",
      methods: [
        Method(
          "RetrieveSecret", "o handle, s app_id, h fd, a{sv} options", gives: "u response, a{sv} results")
      ],
      properties: [Property(name: "version", type: "u")])

    static let properties = BusInterface(
      name: "org.freedesktop.DBus.Properties",
      methods: [
        Method("Get", "s interface, s property", gives: "v value"),
        Method("GetAll", "s interface", gives: "a{sv} properties"),
        Method("Set", "s interface, s property, v value"),
      ],
      signals: [Method("PropertiesChanged", "s interface, a{sv} changed, as invalidated")])

    static let introspection = BusInterface(
      name: "org.freedesktop.DBus.Introspectable", methods: [Method("Introspect", gives: "s xml")])

    /// sd-bus answers it.
    static let peer = BusInterface(
      name: "org.freedesktop.DBus.Peer", methods: [Method("Ping"), Method("GetMachineId", gives: "s id")])

    /// The introspection format of the D-Bus specification.
    static func document(of interfaces: [BusInterface], children: [String]) -> String {
      var lines = [
        "<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"",
        " \"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">", "<node>",
      ]
      for interface in interfaces {
        lines.append(" <interface name=\"\(interface.name)\">")
        for method in interface.methods {
          lines.append("  <method name=\"\(method.name)\">")
          lines += method.input.map { "   <arg type=\"\($0.type)\" name=\"\($0.name)\" direction=\"in\"/>" }
          lines += method.output.map { "   <arg type=\"\($0.type)\" name=\"\($0.name)\" direction=\"out\"/>" }
          lines.append("  </method>")
        }
        for property in interface.properties {
          let access = property.isWritable ? "readwrite" : "read"
          lines.append("  <property name=\"\(property.name)\" type=\"\(property.type)\" access=\"\(access)\"/>")
        }
        for signal in interface.signals {
          lines.append("  <signal name=\"\(signal.name)\">")
          lines += signal.input.map { "   <arg type=\"\($0.type)\" name=\"\($0.name)\"/>" }
          lines.append("  </signal>")
        }
        lines.append(" </interface>")
      }
      lines += children.map { " <node name=\"\($0)\"/>" }
      return (lines + ["</node>", ""]).joined(separator: "\n")
    }
  }

  /// An object of the service, by its path.
  enum BusObject: Sendable, Equatable {
    case service
    case collection(String)
    case alias(String)
    case item(collection: String, String)
    case session(String)
    case prompt(String)
    case portal
    /// A path that only leads to objects.
    case folder(String)

    static let root = "/org/freedesktop/secrets"
    private static let portalPath = "/org/freedesktop/portal/desktop"

    /// - Returns: `nil` for a path that no object can have.
    init?(path: String) {
      if path == Self.root {
        self = .service
        return
      }
      if path == Self.portalPath {
        self = .portal
        return
      }
      guard path.hasPrefix(Self.root + "/") else {
        guard path == "/" || Self.root.hasPrefix(path + "/") || Self.portalPath.hasPrefix(path + "/") else {
          return nil
        }
        self = .folder(path)
        return
      }
      let parts = path.dropFirst(Self.root.count + 1).split(separator: "/").map(String.init)
      switch (parts.first, parts.count) {
      case ("collection", 2): self = .collection(parts[1])
      case ("collection", 3): self = .item(collection: parts[1], parts[2])
      case ("aliases", 2): self = .alias(parts[1])
      case ("session", 2): self = .session(parts[1])
      case ("prompt", 2): self = .prompt(parts[1])
      case ("collection", 1), ("aliases", 1), ("session", 1), ("prompt", 1): self = .folder(path)
      default: return nil
      }
    }

    var path: String {
      switch self {
      case .service: Self.root
      case .collection(let id): "\(Self.root)/collection/\(id)"
      case .alias(let name): "\(Self.root)/aliases/\(name)"
      case .item(let collection, let id): "\(Self.root)/collection/\(collection)/\(id)"
      case .session(let id): "\(Self.root)/session/\(id)"
      case .prompt(let id): "\(Self.root)/prompt/\(id)"
      case .portal: Self.portalPath
      case .folder(let path): path
      }
    }

    /// The interface of its own; besides it, every object has those for properties and introspection.
    var interface: BusInterface? {
      switch self {
      case .service: .service
      case .collection, .alias: .collection
      case .item: .item
      case .session: .session
      case .prompt: .prompt
      case .portal: .portal
      case .folder: nil
      }
    }
  }
#endif
