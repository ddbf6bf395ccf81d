#if Daemon
  internal import CSystemd
  import Exchange
  import Foundation
  import VaultFoundation

  /// What another program answers as Secret Service, for `vault import --from secret-service`.
  @safe struct RunningSecrets: ~Copyable {
    private let bus: OpaquePointer
    /// The unique name of the program that answers.
    private let owner: String
    private static let properties = "org.freedesktop.DBus.Properties"

    /// - Throws: ``BusFailure`` if there is no session bus, ``BusError`` if nobody answers on it.
    init() throws {
      var opened: OpaquePointer?
      guard unsafe sd_bus_open_user(&opened) >= 0, let bus = unsafe opened else {
        throw BusFailure.failed(
          "there is no session bus; run this in the desktop's session, as its user, or name its bus: DBUS_SESSION_BUS_ADDRESS"
        )
      }
      let owner: String
      do throws(BusError) {
        // The bus may have to start it.
        _ = try? unsafe BusMessage.answerOfBus(to: "StartServiceByName", [.text(SecretsDoor.name), .word(0)], on: bus)
        var answer = unsafe try BusMessage.answerOfBus(to: "GetNameOwner", [.text(SecretsDoor.name)], on: bus)
        guard case .text(let name)? = (try? answer.values())?.first else { throw BusError(code: EBADMSG) }
        owner = name
      } catch {
        unsafe sd_bus_flush_close_unref(bus)
        throw error
      }
      guard unsafe !Self.isVaultd(owner, on: bus) else {
        unsafe sd_bus_flush_close_unref(bus)
        throw BusFailure.failed("vaultd itself answers the Secret Service, and its items are in the store already")
      }
      self.owner = owner
      unsafe self.bus = unsafe bus
    }

    /// Whether the items of a connection would be imported from where they go.
    private static func isVaultd(_ owner: String, on bus: OpaquePointer) -> Bool {
      var answer = unsafe try? BusMessage.answerOfBus(to: "GetConnectionUnixProcessID", [.text(owner)], on: bus)
      guard case .number(let number)? = (try? answer?.values())?.first, let process = Int32(exactly: number),
        let name = BusProgram(process: process, user: nil).peer.executable?.split(separator: "/").last
      else { return false }
      return name == "vaultd" || name == "vaultd (deleted)"
    }

    deinit { unsafe sd_bus_flush_close_unref(bus) }

    /// All items, in the form that `vault export --to json` has; in `unread` the labels of those that cannot be read, and
    /// in `notKept` what no item holds.
    ///
    /// - Throws: ``BusError``, ``BusFailure`` if nobody answers as the specification says.
    func export() throws -> (json: [UInt8], count: Int, unread: Int) {
      let opened = try call(.service, "OpenSession", [.text(BusSession.plain), .variant(.text(""))])
      guard case .path(let session)? = opened.last else { throw Self.strange }
      guard case .variant(.paths(let collections))? = try property("Collections", of: .service).first else {
        throw Self.strange
      }
      try unlock(collections)
      var (names, items, unread): (BusItems, [JSONValue], [JSONValue]) = (BusItems(), [], [])
      var (dated, filled) = (0, 0)
      for collection in collections where !collection.hasSuffix("/" + BusCollection.memoryID) {
        guard let object = BusObject(path: collection),
          case .variant(.paths(let paths))? = try property("Items", of: object).first
        else { throw Self.strange }
        if !paths.isEmpty { filled += 1 }
        for path in Self.inOrder(paths) {
          // One that is locked, or that is removed meanwhile, does not keep the others.
          let properties = try? properties(of: path)
          guard let properties, let item = try? item(path, properties, session, &names) else {
            unread.append(.string(properties.flatMap { Self.label(in: $0) } ?? path))
            continue
          }
          items.append(item)
          if Self.hasDate(properties) { dated += 1 }
        }
      }
      var members: [(String, JSONValue)] = [("items", .array(items))]
      if !unread.isEmpty { members.append(("unread", .array(unread))) }
      var lost: [JSONValue] = []
      if dated > 0 {
        lost.append(.string("dates of creation and of the last change (\(dated == 1 ? "1 item" : "\(dated) items"))"))
      }
      if filled > 1 { lost.append(.string("in which of \(filled) collections an item was")) }
      if !lost.isEmpty { members.append(("notKept", .array(lost))) }
      return (JSONValue.members(members).json, items.count, unread.count)
    }

    /// The paths of items in the order of their numbers, so that a new item takes the name of no older one.
    static func inOrder(_ paths: [String]) -> [String] {
      paths.sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
    }

    private static func hasDate(_ properties: [String: BusValue]) -> Bool {
      ["Created", "Modified"].contains { name in
        if case .number(let time)? = properties[name] { time > 0 } else { false }
      }
    }

    private func properties(of path: String) throws -> [String: BusValue] {
      guard let object = BusObject(path: path),
        case .properties(let properties)? = try call(
          object, "GetAll", of: Self.properties, [.text(BusInterface.item.name)]
        ).first
      else { throw Self.strange }
      return properties
    }

    /// The label; `nil` if it is empty.
    private static func label(in properties: [String: BusValue]) -> String? {
      guard case .text(let text)? = properties["Label"], !text.isEmpty else { return nil }
      return BusItem.withoutControls(text)
    }

    private func item(
      _ path: String, _ properties: [String: BusValue], _ session: String, _ names: inout BusItems
    ) throws -> JSONValue {
      guard let object = BusObject(path: path),
        let secret = try call(object, "GetSecret", [.path(session)]).first.flatMap(BusSecret.init)
      else { throw Self.strange }
      var (label, attributes): (String, [String: String]) = (Self.label(in: properties) ?? "", [:])
      if case .attributes(let pairs)? = properties["Attributes"] { attributes = pairs }
      let name = names.freeName(BusItem.name(for: label, attributes))
      let type = secret.contentType.isEmpty ? "text/plain" : BusItem.withoutControls(secret.contentType)
      names.put(BusItem(name: name, label: label, attributes: [:], contentType: type, created: nil))
      let kind = BusItem.kind(of: secret.value, type)
      if type != BusItem.contentType(of: kind) { attributes[BusItem.contentTypeKey] = type }
      let value: (String, JSONValue) =
        kind == .string
        ? ("value", .string(String(decoding: secret.value, as: UTF8.self)))
        : ("valueBase64", .string(Data(secret.value).base64EncodedString()))
      return .members([
        ("name", .string(name)), ("kind", .string(kind.name)), value, ("label", .string(label)),
        (
          "attributes",
          .members(attributes.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.string($0.value)) })
        ),
      ])
    }

    /// Has the other program unlock what is locked; it asks its own question.
    private func unlock(_ collections: [String]) throws {
      guard case .path(let prompt)? = try call(.service, "Unlock", [.paths(collections)]).last, prompt != "/",
        let object = BusObject(path: prompt)
      else { return }
      let rule = "type='signal',sender='\(owner)',path='\(prompt)',member='Completed'"
      _ = unsafe try BusMessage.answerOfBus(to: "AddMatch", [.text(rule)], on: bus)
      _ = try call(object, "Prompt", [.text("")])
      for _ in 0..<120 {
        var received: OpaquePointer?
        let code = unsafe sd_bus_process(bus, &received)
        try BusError.check(code)
        if let received = unsafe received {
          let message = unsafe BusMessage(received)
          if message.isSignal, message.sender == owner, message.path == prompt { return }
        } else if code == 0 {
          _ = unsafe sd_bus_wait(bus, 1_000_000)
        }
      }
    }

    private func property(_ name: String, of object: BusObject) throws -> [BusValue] {
      try call(object, "Get", of: Self.properties, [.text(object.interface?.name ?? ""), .text(name)])
    }

    private func call(
      _ object: BusObject, _ member: String, of interface: String? = nil, _ values: [BusValue]
    ) throws -> [BusValue] {
      var answer = unsafe try BusMessage.answer(
        of: owner, to: member, of: interface ?? object.interface?.name ?? "", at: object.path, values, on: bus)
      return try answer.values()
    }

    private static let strange = BusFailure.failed("the Secret Service does not answer as specified")
  }
#endif
