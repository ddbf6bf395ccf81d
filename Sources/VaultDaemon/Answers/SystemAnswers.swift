#if Daemon
  import Exchange
  import Foundation
  import HTTPTypes
  import Hummingbird
  import HummingbirdCore
  import VaultFoundation

  /// Answers requests below `/v1/sys`.
  struct SystemAnswers: Sendable {
    let seal: Seal
    let replication: Replication

    /// The path where anyone asks whether the daemon works.
    static let health = "v1/sys/health"

    /// Answers what everyone may ask: whether the daemon works.
    ///
    /// - Returns: `nil` for anything else.
    func publicAnswer(to request: Request, _ target: Target) async -> Response? {
      guard request.method == .get || request.method == .head else { return nil }
      return switch target.rest(after: 0) {
      case Self.health: await health(request)
      case "v1/sys/seal-status": await sealStatus()
      case "v1/sys/init": Response(.ok, json: ["initialized": true])
      case "v1/sys/leader":
        Response(
          .ok, json: ["ha_enabled": false, "is_self": false, "leader_address": "", "performance_standby": false])
      default: nil
      }
    }

    /// 200, or 503 while every request is refused, or the status that the caller asked for instead. Copies of published
    /// groups that are behind do not change it, because they can still be read.
    private func health(_ request: Request) async -> Response {
      let problem = await seal.problem()
      let wanted = request.uri.queryParameters[problem == nil ? "activecode" : "sealedcode"].flatMap { Int($0) }
      let code =
        wanted.flatMap { (200..<600).contains($0) && ![205, 304].contains($0) ? $0 : nil }
        ?? (problem == nil ? 200 : 503)
      // As HashiCorp's probes ask for it: an answer without a body.
      if code == 204 { return .nothing }
      var members: [(String, JSONValue)] = [
        ("initialized", true), ("sealed", .bool(problem == .sealed)), ("standby", false),
        ("performance_standby", false),
        ("replication_performance_mode", "disabled"), ("replication_dr_mode", "disabled"),
        ("server_time_utc", .number(Int(Date().timeIntervalSince1970))), ("version", .string(BuildVersions.vault)),
        ("cluster_name", "vaultd"), ("cluster_id", ""),
        ("published_groups_behind", .number(await replication.conditions().count { $0.isBehind })),
      ]
      if let problem { members.append(("errors", .array(problem.messages.map(JSONValue.string)))) }
      return Response(HTTPResponse.Status(code: code), json: .members(members))
    }

    func sealStatus() async -> Response {
      let isSealed = await seal.problem() == .sealed
      return Response(
        .ok,
        json: [
          "type": "vault", "initialized": true, "sealed": .bool(isSealed), "t": 1, "n": 1, "progress": 0,
          "nonce": "",
          "version": .string(BuildVersions.vault), "build_date": "", "migration": false, "cluster_name": "vaultd",
          "cluster_id": "", "recovery_seal": false, "storage_type": "file",
        ])
    }

    /// Answers what a known caller may ask; for operations of the owner, the refusal names the command.
    func answer(
      to request: Request, _ target: Target, _ visit: Visit, body: JSONValue
    ) async throws -> Response {
      let parts = target.parts.dropFirst(2)
      switch (parts.first, request.method) {
      case ("mounts", .get) where parts.count == 1: return try await mounts(visit) { $0 }
      case ("internal", .get) where Array(parts.prefix(3)) == ["internal", "ui", "mounts"]:
        let path = target.rest(after: 5)
        guard !path.isEmpty else { return try await mounts(visit) { ["secret": $0, "auth": [:]] } }
        return try await mount(of: path, visit)
      case ("capabilities-self", .post), ("capabilities-self", .put): return try await capabilities(body, visit)
      case ("mounts", _):
        throw Refusal.ownerOnly("vault group \(request.method == .delete ? "remove" : "create") NAME")
      case ("policies", _), ("policy", _): throw Refusal.ownerOnly("vault grant GROUP APP")
      case ("auth", _): throw Refusal.ownerOnly("vault app bind APP")
      default: throw Refusal.unsupported("sys", parts.first)
      }
    }

    private func mounts(_ visit: Visit, _ wrap: (JSONValue) -> JSONValue) async throws -> Response {
      guard let application = visit.application else {
        try await visit.record(.list, .denied)
        throw Refusal.unknownCaller
      }
      let opened = visit.opened
      let mounts = try await Blocking.list {
        JSONValue.members(
          try opened.access.groups(of: application).filter { !AccessGroup.namesOfInterface.contains($0.name) }
            .map { group in ("\(group.name)/", Self.mount(version: try opened.mountVersion(of: group.name))) })
      }
      try await visit.record(.list)
      return .data(wrap(mounts))
    }

    /// The mount that contains a path. HashiCorp's own client asks for it before it reads.
    private func mount(of path: String, _ visit: Visit) async throws -> Response {
      guard let name = path.split(separator: "/").first.map(String.init) else { throw Refusal.notFound }
      guard !AccessGroup.namesOfInterface.contains(name) else { throw Refusal.unsupported(name, "data") }
      let opened = visit.opened
      return try await visit.perform(
        Operation(action: .inspect, group: name) { group in
          let version = try opened.mountVersion(of: group.name.description)
          var members = Self.mount(version: version).members ?? [:]
          members["path"] = .string("\(group.name)/")
          return .data(.members(members.sorted { $0.key < $1.key }))
        })
    }

    /// The most paths in one request for capabilities.
    private static let mostPaths = 1_000

    /// What the caller may do with each path, in HashiCorp's terms.
    private func capabilities(_ body: JSONValue, _ visit: Visit) async throws -> Response {
      guard let application = visit.application else {
        try await visit.record(.inspect, .denied)
        throw Refusal.unknownCaller
      }
      guard case .array(let list)? = body["paths"] ?? body["path"].map({ .array([$0]) }), !list.isEmpty else {
        throw Refusal.invalid("paths are needed")
      }
      guard list.count <= Self.mostPaths else { throw Refusal.invalid("a request may name at most 1,000 paths") }
      let opened = visit.opened
      let rights = try await Blocking.list {
        Dictionary(uniqueKeysWithValues: try opened.access.groups(of: application).map { ($0.name, $0.rights) })
      }
      try await visit.record(.inspect)
      var members: [(String, JSONValue)] = []
      for path in list.compactMap(\.text) {
        let group = path.split(separator: "/").first.map(String.init) ?? ""
        members.append((path, rights[group].map(Self.capabilities) ?? ["deny"]))
      }
      let all = members.count == 1 ? members.map { ("capabilities", $0.1) } : []
      return .data(.members(members + all))
    }

    private static func capabilities(_ rights: MemberRights) -> JSONValue {
      rights == .write ? ["create", "delete", "list", "patch", "read", "update"] : ["list", "read"]
    }

    private static func mount(version: Int) -> JSONValue {
      [
        "accessor": "", "config": ["default_lease_ttl": 0, "force_no_cache": false, "max_lease_ttl": 0],
        "description": "", "external_entropy_access": false, "local": true,
        "options": ["version": .string("\(version)")],
        "seal_wrap": false, "type": "kv", "uuid": "",
      ]
    }
  }
#endif
