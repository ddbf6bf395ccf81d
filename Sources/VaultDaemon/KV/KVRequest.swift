#if Daemon
  import Exchange
  import HTTPTypes
  import Hummingbird
  import HummingbirdCore
  import NIOCore
  import VaultFoundation

  /// A request of HashiCorp's KV interface: `/v1/MOUNT/…`.
  struct KVRequest: Sendable {
    let method: HTTPRequest.Method
    let mount: String
    /// The components of the path after the mount.
    let parts: [String]
    let query: [String: String]
    let contentType: String
    /// Identifies the request, so that it can be repeated when its answer was lost.
    let id: ChangeID?
    private let body: ByteBuffer

    /// NIO's parser does not know LIST; ``ListMethod`` replaces it with this method.
    static let list = HTTPRequest.Method.link

    init(_ request: Request, _ target: Target, _ body: ByteBuffer) throws(Refusal) {
      let query = Dictionary(
        request.uri.queryParameters.map { (String($0.key), String($0.value)) }, uniquingKeysWith: { $1 })
      self.query = query
      let wantsList = request.method == .get && ["true", "1"].contains(query["list"])
      method = wantsList ? Self.list : request.method == .head ? .get : request.method
      // HashiCorp's client lists a whole mount without a slash behind its name.
      guard target.parts.count > (method == Self.list ? 1 : 2), let mount = target.parts.dropFirst().first else {
        throw .notFound
      }
      self.mount = mount
      parts = Array(target.parts.dropFirst(2))
      contentType = request.headers[.contentType] ?? ""
      id = try Self.id(of: request)
      self.body = body
    }

    private static func id(of request: Request) throws(Refusal) -> ChangeID? {
      guard let name = HTTPField.Name("X-Vault-Request-Id"), let text = request.headers[name] else { return nil }
      guard let id = ChangeID(text) else {
        throw .invalid("X-Vault-Request-Id must have 1 to 64 visible characters of ASCII")
      }
      return id
    }

    /// - Parameter drafts: where a list counts while it is made.
    func operation(in version: Int, _ drafts: BodyBudget.Drafts) throws(Refusal) -> Operation {
      version == 1 ? try firstVersion(drafts) : try secondVersion(drafts)
    }

    private func json() throws(Refusal) -> JSONValue { try .body(body) }

    private func requirePatch() throws(Refusal) {
      guard contentType.split(separator: ";").first == "application/merge-patch+json" else {
        throw Refusal(status: .unsupportedMediaType, "PATCH requires application/merge-patch+json")
      }
    }

    private func operation(
      _ action: AuditRecord.Action, _ item: String?, _ needed: MemberRights = .read, version: Int? = nil,
      _ perform: @escaping @Sendable (AccessGroup) throws -> Response
    ) -> Operation {
      Operation(
        action: action, group: mount, item: item, needed: needed, version: version.flatMap(UInt64.init(exactly:)),
        perform: perform)
    }

    // MARK: Version 2

    private func secondVersion(_ drafts: BodyBudget.Drafts) throws(Refusal) -> Operation {
      // A caller who believed that a repetition is safe would not look.
      guard id == nil || method == .get || method == Self.list || parts.first == "data" && method != .delete else {
        throw .invalid("X-Vault-Request-Id applies only to writing data")
      }
      let rest = parts.dropFirst().joined(separator: "/")
      switch parts.first {
      case "data": return try data(KVPath(rest))
      case "metadata": return try method == Self.list ? list(rest, all: true, drafts) : metadata(KVPath(rest))
      case "delete": return try versions(.remove, KVPath(rest)) { try $0.delete($1, $2) }
      case "undelete": return try versions(.restore, KVPath(rest)) { try $0.undelete($1, $2) }
      case "destroy": return try versions(.destroy, KVPath(rest)) { try $0.destroy($1, $2) }
      case "subkeys": return try subkeys(KVPath(rest))
      case "config" where parts.count == 1: return try configuration()
      default: throw .notFound
      }
    }

    private func number(_ name: String) throws(Refusal) -> Int? {
      guard let text = query[name], !text.isEmpty else { return nil }
      guard let number = Int(text), number >= 0 else { throw .invalid("\(name) must be a whole number") }
      return number
    }

    private func data(_ path: KVPath) throws(Refusal) -> Operation {
      switch method {
      case .get:
        let version = try number("version")
        return operation(.read, path.name, version: version) { group in
          switch try KVMount(group).read(path, version: version) {
          case .value(let data): .data(data)
          case .gone(let data): .data(data, .notFound)
          }
        }
      case .post, .put, .patch:
        let json = try json()
        let isPatch = method == .patch
        if isPatch { try requirePatch() }
        let expected = try expectedVersion(json)
        guard let data = json["data"], data.members != nil else { throw .invalid("no data provided") }
        return operation(.write, path.name, .write) { group in
          let metadata = try KVMount(group).write(path, expecting: expected, for: id?.description) { old in
            guard isPatch else { return data }
            guard let old else { throw Refusal.notFound }
            return KVValue.merged(old, data)
          }
          return .data(metadata)
        }
      case .delete:
        return operation(.remove, path.name, .write) { group in
          try KVMount(group).delete(path, nil)
          return .nothing
        }
      default: throw .unknownMethod
      }
    }

    private func expectedVersion(_ json: JSONValue) throws(Refusal) -> Int? {
      guard let cas = json["options"]?["cas"], cas != .null else { return nil }
      guard let number = cas.whole, number >= 0 else { throw .invalid("options.cas must be the number of a version") }
      return number
    }

    private func metadata(_ path: KVPath) throws(Refusal) -> Operation {
      switch method {
      case .get: return operation(.inspect, path.name) { .data(try KVMount($0).metadata(path)) }
      case .post, .put, .patch:
        let isPatch = method == .patch
        if isPatch { try requirePatch() }
        let json = try json()
        return operation(.write, path.name, .write) { group in
          try KVMount(group).setMetadata(path, json, isPatch: isPatch)
          return .nothing
        }
      case .delete:
        return operation(.destroy, path.name, .write) { group in
          try KVMount(group).destroyAll(path)
          return .nothing
        }
      default: throw .unknownMethod
      }
    }

    private func versions(
      _ action: AuditRecord.Action, _ path: KVPath,
      _ change: @escaping @Sendable (KVMount, KVPath, [Int]) throws -> Void
    ) throws(Refusal) -> Operation {
      guard method == .post || method == .put else { throw .unknownMethod }
      guard case .array(let list)? = try json()["versions"], !list.isEmpty else {
        throw .invalid("no versions provided")
      }
      let numbers = list.compactMap(\.whole)
      guard numbers.count == list.count else { throw .invalid("versions must be whole numbers") }
      return operation(action, path.name, .write, version: numbers.count == 1 ? numbers[0] : nil) { group in
        try change(KVMount(group), path, numbers)
        return .nothing
      }
    }

    private func subkeys(_ path: KVPath) throws(Refusal) -> Operation {
      guard method == .get else { throw .unknownMethod }
      let (version, depth) = (try number("version"), try number("depth") ?? 0)
      return operation(.inspect, path.name, version: version) { group in
        switch try KVMount(group).read(path, version: version) {
        case .gone(let data): .data(["subkeys": .null, "metadata": data["metadata"] ?? .null], .notFound)
        case .value(let data):
          .data([
            "subkeys": KVValue.keys(of: data["data"] ?? .null, depth: depth), "metadata": data["metadata"] ?? .null,
          ])
        }
      }
    }

    private func list(_ folder: String, all: Bool, _ drafts: BodyBudget.Drafts) throws(Refusal) -> Operation {
      let prefix = try KVPath.folder(folder)
      return operation(.list, prefix.isEmpty ? nil : prefix) { group in
        .data(["keys": .array(try KVMount(group).list(prefix, all: all, drafts.begin()).map(JSONValue.string))])
      }
    }

    private func configuration() throws(Refusal) -> Operation {
      switch method {
      case .get: return operation(.inspect, nil) { .data(try KVMount($0).settings().json) }
      case .post, .put:
        let json = try json()
        return operation(.write, nil, .write) { group in
          try KVMount(group).setSettings(json)
          return .nothing
        }
      default: throw .unknownMethod
      }
    }

    // MARK: Version 1

    /// How long a client of version 1 may use an answer, in seconds: what the data say, and at most 32 days, which is
    /// HashiCorp's default.
    private static func lease(of data: JSONValue) -> Int {
      let longest = 2_764_800
      guard let seconds = (data["ttl"] ?? data["lease"]).flatMap(KVDuration.seconds), seconds > 0 else {
        return longest
      }
      return min(seconds, longest)
    }

    private func firstVersion(_ drafts: BodyBudget.Drafts) throws(Refusal) -> Operation {
      let rest = parts.joined(separator: "/")
      if method == Self.list { return try list(rest, all: false, drafts) }
      let path = try KVPath(rest)
      switch method {
      case .get:
        return operation(.read, path.name) {
          let data = try KVValue.data(of: try $0.open(path.name))
          return .data(data, lease: Self.lease(of: data))
        }
      case .post, .put:
        let json = try json()
        guard json.members?.isEmpty == false else { throw .invalid("missing data fields") }
        let (bytes, kind) = try KVValue.value(of: json)
        return operation(.write, path.name, .write) { group in
          try (id.map(group.answering) ?? group).set(path.name, to: try Secret(bytes), kind: kind)
          return .nothing
        }
      case .delete:
        return operation(.remove, path.name, .write) { group in
          do { try (id.map(group.answering) ?? group).remove(path.name) } catch VaultError.notFound(.item) {}
          return .nothing
        }
      default: throw .unknownMethod
      }
    }
  }

  extension JSONValue {
    /// The body of a request, which must be a JSON object; an empty one is `{}`.
    static func body(_ bytes: ByteBuffer) throws(Refusal) -> JSONValue {
      guard bytes.readableBytes > 0 else { return .object([]) }
      guard let text = String(validating: bytes.readableBytesView, as: UTF8.self) else {
        throw .invalid("the body is not UTF-8")
      }
      guard let json = try? JSONValue(parsing: text), json.members != nil else {
        throw .invalid("the body is not a JSON object")
      }
      return json
    }
  }

  extension HTTPRequest.Method {
    fileprivate static let link = HTTPRequest.Method("LINK") ?? .get
  }
#endif
