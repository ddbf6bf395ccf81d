#if Daemon
  import Authenticators
  import Glibc
  import Hummingbird
  import Logging
  import NIOCore
  import Synchronization
  import VaultFoundation

  /// An SSH agent (draft-miller-ssh-agent): lists the keys in the groups that the caller may read, and signs with them.
  /// No private key leaves the process.
  final class SSHAgent: Sendable {
    private let seal: Seal
    private let asking: Asking
    private let logger: Logger
    /// The groups of which the log says that they cannot be read.
    private let unread = Mutex<Set<String>>([])

    init(seal: Seal, asking: Asking, logger: Logger) { (self.seal, self.asking, self.logger) = (seal, asking, logger) }

    /// Message numbers.
    private enum Message {
      static let failure: UInt8 = 5
      static let identities: (UInt8, UInt8) = (11, 12)
      static let sign: (UInt8, UInt8) = (13, 14)
    }

    /// The most keys that one answer lists, and its most bytes: OpenSSH takes 2,048 and 256 KiB.
    private static let (keyLimit, byteLimit) = (1_024, 256 << 10)

    /// The answer to one message, after its record is durable.
    func answer(_ message: ByteBuffer, _ peer: Peer) async -> ByteBuffer {
      await Blocking.$caller.withValue(peer.key) { await answered(message, peer) }
    }

    private func answered(_ message: ByteBuffer, _ peer: Peer) async -> ByteBuffer {
      var message = message
      do {
        guard let opened = seal.current else { throw Refusal.sealed }
        let visit = try await opened.visit(Connection(peer: peer), token: nil)
        switch message.readInteger(as: UInt8.self) {
        case Message.identities.0: return try await identities(visit)
        case Message.sign.0:
          guard let key = message.readCounted(), let data = message.readCounted() else { throw Refusal.notFound }
          let flags = message.readInteger(as: UInt32.self) ?? 0
          return try await signature(of: data, by: key, flags: flags, visit)
        default: throw Refusal.unknownMethod
        }
      } catch {
        return ByteBuffer(integer: Message.failure)
      }
    }

    struct Found: Sendable {
      let group: String
      let item: String
      let key: [UInt8]
      let expires: Timestamp?
      /// Whether a person must agree to each signature.
      let isAsked: Bool
    }

    /// The keys in one state of a group.
    struct Keys: Sendable {
      let state: GroupInfo
      let found: [Found]
    }

    private func keys(of application: String, _ opened: OpenedStore) throws -> [Found] {
      try opened.access.groups(of: application).flatMap { group in keys(in: group.info, opened) }
        .filter { key in key.expires.map { $0 > .now } ?? true }
    }

    /// The keys in a group, which is listed only if it has changed. An item that is damaged must not keep the keys of the
    /// others from being used.
    private func keys(in group: GroupInfo, _ opened: OpenedStore) -> [Found] {
      // The state was just verified. Each change has an epoch of its own, and a later time than the change of that epoch in
      // a state that the owner gave up for an older one.
      if let known = opened.keys.withLock({ $0[group.name] }), known.state.id == group.id,
        known.state.epoch == group.epoch, known.state.changed == group.changed
      {
        return known.found
      }
      let listing = try? opened.store.group(group.name).listing()
      let found = (listing?.items ?? []).compactMap { item -> Found? in
        guard let text = item.attributes[SSHKey.attribute], let key = SSHKey.publicBlob(of: text) else { return nil }
        let isAsked = item.attributes[SSHKey.confirmAttribute] != nil
        return Found(
          group: group.name, item: item.name.description, key: key, expires: item.expires, isAsked: isAsked)
      }
      if listing?.strange.isEmpty == true {
        opened.keys.withLock { $0[group.name] = Keys(state: group, found: found) }
      } else if unread.withLock({ $0.insert(group.name).inserted }) {
        logger.error("SSH keys may be missing, because a group is damaged", metadata: ["group": "\(group.name)"])
      }
      return found
    }

    private func identities(_ visit: Visit) async throws -> ByteBuffer {
      guard let application = visit.application else {
        try await visit.record(.list, .denied, detail: "ssh")
        throw Refusal.unknownCaller
      }
      let keys = try await Blocking.read { try self.keys(of: application, visit.opened) }
      try await visit.record(.list, detail: "ssh")
      var (list, count) = (ByteBuffer(), 0)
      for key in keys {
        let byteCount = 8 + key.key.count + key.item.utf8.count
        // A client that cannot read one of the keys takes none of them.
        guard SSHKey.isTaken(key.key), count < Self.keyLimit, 5 + list.readableBytes + byteCount <= Self.byteLimit
        else {
          logger.notice(
            "an SSH key is left out of the list: OpenSSH does not accept it, or not that many keys",
            metadata: ["group": "\(key.group)", "item": "\(key.item)"])
          continue
        }
        count += 1
        list.writeCounted(key.key)
        list.writeCounted(Array(key.item.utf8))
      }
      var answer = ByteBuffer(integer: Message.identities.1)
      answer.writeInteger(UInt32(count))
      answer.writeBuffer(&list)
      return answer
    }

    private func signature(
      of data: [UInt8], by key: [UInt8], flags: UInt32, _ visit: Visit
    ) async throws -> ByteBuffer {
      let access = visit.opened.access
      let (found, isAsked) = try await Blocking.read {
        let named = try visit.application.map { try self.keys(of: $0, visit.opened).filter { $0.key == key } } ?? []
        // The attribute is only the writer's claim, so the key itself is checked. A second item with the same key must
        // not remove the confirmation.
        return (named.first { Self.holdsKey($0, access) }, named.contains(where: \.isAsked))
      }
      guard let found else {
        try await visit.record(.sign, visit.application == nil ? .denied : .init(.notFound), detail: "ssh")
        throw Refusal.notFound
      }
      if isAsked {
        let peer = visit.connection.peer
        let name = peer.executable ?? "an unknown program"
        let program = BusItem.inQuestion(name, limit: 200)
        let question = "Let \(program) use the SSH key '\(BusItem.inQuestion(found.item, limit: 200))'?"
        guard await asking.confirm(question, for: peer.key, program: name), !Task.isCancelled else {
          try await visit.record(.sign, group: found.group, item: found.item, .denied, detail: "not confirmed")
          throw Refusal.denied
        }
        // Meanwhile, the daemon may have been sealed, the application unbound, or the key expired.
        let now = try? await visit.opened.visit(visit.connection, token: nil)
        let keys = try await Blocking.read { try visit.application.map { try self.keys(of: $0, visit.opened) } ?? [] }
        guard seal.current === visit.opened, now?.application == visit.application,
          keys.contains(where: { $0.group == found.group && $0.item == found.item && $0.key == key })
        else {
          try await visit.record(.sign, group: found.group, item: found.item, .denied, detail: "confirmed too late")
          throw Refusal.denied
        }
      }
      let signature = Mutex<[UInt8]>([])
      _ = try await visit.perform(
        Operation(action: .sign, group: found.group, item: found.item) { group in
          let made = try Self.signature(of: data, with: try group.open(found.item).secret, by: key, flags: flags)
          signature.withLock { $0 = made }
          return .nothing
        })
      var answer = ByteBuffer(integer: Message.sign.1)
      answer.writeCounted(signature.withLock { $0 })
      return answer
    }

    private static func holdsKey(_ found: Found, _ access: Access) -> Bool {
      (try? key(in: access.store.group(found.group).open(found.item).secret).publicBlob) == found.key
    }

    private static func key(in secret: borrowing Secret) throws -> SSHKey {
      var file = unsafe secret.withUnsafeBytes { unsafe Array($0) }
      defer { unsafe explicit_bzero(&file, file.count) }
      return try SSHKey(parsing: file)
    }

    private static func signature(
      of data: [UInt8], with secret: borrowing Secret, by key: [UInt8], flags: UInt32
    ) throws -> [UInt8] {
      let own = try Self.key(in: secret)
      // The item may have changed since.
      guard own.publicBlob == key else { throw Refusal.notFound }
      return try own.signature(of: data, flags: flags)
    }
  }

  extension ByteBuffer {
    fileprivate mutating func readCounted() -> [UInt8]? {
      readInteger(as: UInt32.self).flatMap { readBytes(length: Int(clamping: $0)) }
    }

    fileprivate mutating func writeCounted(_ bytes: [UInt8]) {
      writeInteger(UInt32(bytes.count))
      writeBytes(bytes)
    }
  }
#endif
