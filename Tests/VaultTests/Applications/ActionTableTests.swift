import Testing
import Vault

/// Every action by every kind of member. Only keys and signatures decide what each may do.
@Suite struct ActionTableTests {
  private struct Action: Sendable {
    let name: String
    /// The expected outcome for the owner, a writer, a reader and a stranger.
    let expected: [String]
    let run: @Sendable (SecretStore) throws -> Void
  }

  private static let people = ["owner", "writer", "reader", "stranger"]

  private static let actions: [Action] = [
    Action(name: "get", expected: ["ok", "ok", "ok", "not a member"]) { _ = try $0.group(group).get("a") },
    Action(name: "get what is not there", expected: ["not found", "not found", "not found", "not a member"]) {
      _ = try $0.group(group).get("nothing")
    },
    Action(name: "list", expected: ["ok", "ok", "ok", "not a member"]) { _ = try $0.group(group).items() },
    Action(name: "history", expected: ["ok", "ok", "ok", "not a member"]) { _ = try $0.group(group).history("a") },
    Action(name: "show", expected: ["ok", "ok", "ok", "not a member"]) { _ = try $0.group(group).info() },
    Action(name: "set", expected: ["ok", "ok", "read only", "not a member"]) {
      try $0.group(group).set("a", to: "changed")
    },
    Action(name: "set anew", expected: ["ok", "ok", "read only", "not a member"]) {
      try $0.group(group).set("new", to: "new")
    },
    Action(name: "restore", expected: ["ok", "ok", "read only", "not a member"]) {
      try $0.group(group).restore("a", version: 1)
    },
    Action(name: "remove", expected: ["ok", "ok", "read only", "not a member"]) { try $0.group(group).remove("a") },
    Action(name: "destroy", expected: ["ok", "ok", "read only", "not a member"]) { try $0.group(group).destroy("a") },
    Action(name: "compact", expected: ["ok", "ok", "read only", "not a member"]) { try $0.compactGroup(group) },
    Action(name: "verify", expected: ["ok", "ok", "ok", "not a member"]) { store in
      if case .failure(let error) = try store.verify(groups: [group])[0].result { throw error }
    },
    Action(name: "accept", expected: ["ok", "ok", "ok", "not a member"]) { try $0.acceptGroup(group) },
    Action(name: "grant", expected: ["ok", "owner only", "owner only", "owner only"]) {
      try $0.grant(.write, in: group, to: "com.example.stranger")
    },
    Action(name: "revoke", expected: ["ok", "owner only", "owner only", "owner only"]) {
      try $0.revoke("com.example.reader", from: group)
    },
    Action(name: "rotate", expected: ["ok", "owner only", "owner only", "owner only"]) { try $0.rotateGroup(group) },
    Action(name: "exposure", expected: ["ok", "owner only", "owner only", "owner only"]) { _ = try $0.exposure() },
    Action(name: "create a group", expected: ["ok", "owner only", "owner only", "owner only"]) {
      try $0.createGroup("fresh")
    },
    Action(name: "remove the group", expected: ["ok", "owner only", "owner only", "owner only"]) {
      try $0.removeGroup(group)
    },
    Action(name: "list applications", expected: ["ok", "owner only", "owner only", "owner only"]) {
      _ = try $0.applications.list()
    },
    Action(name: "uninstall", expected: ["ok", "owner only", "owner only", "owner only"]) {
      try $0.applications.uninstall("com.example.reader")
    },
  ]

  private static let group = "team.shared"

  /// The outcome of an action in a new store.
  private func outcome(_ action: Action, by person: Int) throws -> String {
    let fixture = try StoreFixture()
    try fixture.open().createGroup(Self.group)
    for value in ["first", "second"] { try fixture.open().group(Self.group).set("a", to: value) }
    let writer = try fixture.issue("com.example.writer", grants: [.init(.write, in: Self.group)])
    let reader = try fixture.issue("com.example.reader", grants: [.init(.read, in: Self.group)])
    let stranger = try fixture.issue("com.example.stranger")
    do {
      try action.run([try fixture.open(), writer, reader, stranger][person])
      return "ok"
    } catch let error as VaultError {
      // The error reveals nothing that the group holds.
      #expect(!"\(error)".contains("second"))
      switch error {
      case .denied(.notAMember): return "not a member"
      case .denied(.readOnly): return "read only"
      case .denied(.ownerOnly): return "owner only"
      case .notFound: return "not found"
      default: return "\(error)"
      }
    }
  }

  @Test func `owner, writer, reader and stranger can each do exactly what their rights allow`() throws {
    var table = ["| action | " + Self.people.joined(separator: " | ") + " |", "| --- | --- | --- | --- | --- |"]
    for action in Self.actions {
      let outcomes = try Self.people.indices.map { try outcome(action, by: $0) }
      table.append("| \(action.name) | " + outcomes.joined(separator: " | ") + " |")
      #expect(outcomes == action.expected, "\(action.name)")
    }
    print(table.joined(separator: "\n"))
  }
}
