import Testing
import Vault

@testable import VaultCommands

@Suite struct AuditCommandTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    try #require(store.run("audit", "begin").status == 0)
  }

  /// Opens the store as its owner.
  private func owner() throws -> SecretStore {
    try SecretStore.open(at: StoreLocation(environment: store.environment), unlocking: .keyFile(store.keyFile))
  }

  private func append(_ records: [AuditRecord]) throws { try AuditLog(of: owner()).append(records) }

  private func record(
    _ item: String, app: String = "com.example.web", outcome: AuditRecord.Outcome = .allowed, time: Timestamp = .now
  ) -> AuditRecord {
    AuditRecord(
      time: time, caller: .init(.application(app), uid: 33, pid: 99, unit: "web.service", exe: "/bin/web"),
      action: .read, group: "team", item: item, version: 3, outcome: outcome)
  }

  /// Whether the first column is a time, and the rest of each line.
  private func lines(_ arguments: String...) -> [String] {
    Transcript(["audit"] + arguments, environment: store.environment).output.split(separator: "\n").map { line in
      line.split(separator: "\t", omittingEmptySubsequences: false).dropFirst().joined(separator: "|")
    }
  }

  @Test func `batches that cannot be read are an error, even if nobody reads the records to their end`() throws {
    try append([record("first")])
    let log = try owner().group("vault.audit")
    let name = try #require(try log.items().map(\.name.description).filter { $0.contains("/") }.max())
    try log.set(name, to: [UInt8](repeating: 0x5A, count: 32))
    #expect(store.unread("audit").status == 13)
    // More than the output keeps until it is written.
    try append((0..<2_000).map { record("item/\($0)") })
    #expect(store.unread("audit").status == 13)
    #expect(store.run("audit").status == 13)
  }

  @Test func `records are shown, and chosen by application, item, group, result and time`() throws {
    let old = Timestamp(milliseconds: Timestamp.now.milliseconds - 7_200_000)
    try append([
      record("a", time: old), record("b", app: "com.example.db"), record("c", outcome: .denied),
    ])
    let (a, c) = (
      "com.example.web|read|team|a|allowed|web.service /bin/web uid 33|",
      "com.example.web|read|team|c|denied|web.service /bin/web uid 33|"
    )
    #expect(lines("--app", "com.example.web") == [a, c])
    #expect(lines("--item", "a") == [a])
    #expect(lines("--denied") == [c])
    #expect(lines("-g", "team").count == 3)
    #expect(lines("-g", "other").isEmpty)
    #expect(lines("--since", "1h", "-g", "team").count == 2)
    #expect(lines("--since", "2999-01-01").isEmpty)
    #expect(lines("--since", "2020-01-31T12:00Z").count == 4)
    #expect(store.run("audit", "--since", "yesterday").status == 64)
    let json = store.run("audit", "--item", "c", "--json").output
    let object = try readJSON(json)
    #expect(object["app"] as? String == "com.example.web" && object["result"] as? String == "denied")
    #expect(object["uid"] as? Int == 33 && object["pid"] as? Int == 99 && object["version"] as? Int == 3)
    #expect(store.run("audit", "--json").output.split(separator: "\n").count == 4)
  }

  @Test func `acts of the owner are found by the application that they are about`() {
    store.run("app", "issue", "com.example.api", "--output", store.folder.file("c"))
    store.run("grant", "default", "com.example.api", "--rights", "read")
    #expect(lines("--app", "com.example.api").map { $0.split(separator: "|")[1] } == ["issue", "grant"])
  }

  @Test func `texts in records cannot move a terminal's cursor or fake a line`() throws {
    let hostile = "\u{1B}[2J\n2020-01-01T00:00:00Z\towner\u{202E}"
    var record = record(hostile, app: hostile)
    (record.caller.unit, record.caller.exe, record.caller.address) = (hostile, hostile, hostile)
    (record.subject, record.detail, record.group) = (hostile, hostile, hostile)
    try append([record])
    for arguments in [["audit"], ["audit", "--json"]] {
      let shown = Transcript(arguments, environment: store.environment)
      #expect(shown.output.split(separator: "\n").count == 2)
      #expect(!shown.output.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{202E}" })
    }
    let terminal = PseudoTerminal()
    #expect(store.run(["audit"], on: terminal).status == 0)
  }

  @Test func `a whole record verifies, and a broken one ends with status 13`() throws {
    let whole = store.run("audit", "verify")
    #expect(whole.status == 0 && whole.output.hasPrefix("records: 1 in 1 batches\nbatches: 1 to 1\nlink: "))
    try append([record("a")])
    try append([record("b")])
    let group = try owner().group("vault.audit")
    let name = try #require(group.items().map(\.name.description).first { $0.hasSuffix("/000000000002") })
    try group.set(name, to: "garbage")
    let broken = store.run("audit", "verify")
    #expect(broken.status == 13)
    #expect(broken.output.contains("wrong: batch 2 does not open, or was sealed for another place\n"))
    let object = try readJSON(store.run("audit", "verify", "--json").output)
    #expect(object["whole"] as? Bool == false && object["confirmed"] as? Int == 1)
    let shown = store.run("audit")
    #expect(shown.status == 13 && shown.output.split(separator: "\n").count == 2)
    #expect(store.run("audit", "verify", "--accept").status == 0)
  }

  @Test func `a record whose end was removed says what is lost, and --accept continues it`() throws {
    try owner().group("vault.audit").remove("head")
    let broken = store.run("audit", "verify")
    #expect(broken.status == 13)
    #expect(broken.output.contains("removed the item that says where the record ends; batches up to 1 exist, "))
    #expect(broken.errors.contains("vault audit verify --accept"))
    let repaired = store.run("audit", "verify", "--accept")
    #expect(repaired.status == 0 && repaired.output.contains("\nrepaired: the record continues after batch 1\n"))
    #expect(store.run("audit", "verify").output.hasPrefix("records: 2 in 2 batches\n"))
  }

  @Test func `a credential does not read the record`() {
    store.run("service", "enroll", "--output", store.folder.file("c"))
    for arguments in [["audit"], ["audit", "verify"], ["audit", "begin"]] {
      let all = arguments + ["--credential", store.folder.file("c")]
      #expect(Transcript(all, environment: store.environment).status == 12)
    }
  }

  @Test func `a store without a record says so`() throws {
    let store = try TestStore()
    for arguments in [["audit"], ["audit", "verify"]] {
      let none = Transcript(arguments, environment: store.environment)
      #expect(none.status == 10 && none.errors.contains("vault audit begin"))
    }
  }
}
