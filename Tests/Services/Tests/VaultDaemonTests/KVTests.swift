import Foundation
import Testing
import VaultFoundation

@testable import Ground
@testable import Vault
@testable import VaultDaemon

/// What callers of HashiCorp's interface see of a group, without a daemon. `test_kv.py` asks as its clients do.
struct KVTests {
  private let daemon: RunningDaemon
  private let store: SecretStore
  private let group: AccessGroup
  private let mount: KVMount
  private let path: KVPath

  init() throws {
    daemon = try RunningDaemon(binds: false, serves: false)
    store = try daemon.owner()
    group = try store.createGroup("team")
    mount = KVMount(group)
    path = try KVPath("a")
  }

  private func write(_ value: String) throws { _ = try mount.write(path) { _ in ["value": .string(value)] } }

  /// The text of a version; `nil` if it was deleted or destroyed.
  private func text(_ version: Int? = nil) throws -> String? {
    guard case .value(let data) = try mount.read(path, version: version) else { return nil }
    return data["data"]?["value"]?.text
  }

  private func versions() throws -> [String] {
    guard case .object(let versions)? = try mount.metadata(path)["versions"] else { return [] }
    return versions.map(\.name)
  }

  // MARK: Values that share a commit

  private func setThree() throws {
    try group.transaction { edit in for number in 1...3 { edit.set("a", to: "value \(number)") } }
  }

  @Test func `values that were set in one commit are versions of their own, and a destroyed one is gone`() throws {
    try setThree()
    #expect(try (1...3).map { try text($0) } == ["value 1", "value 2", "value 3"])
    try mount.setMetadata(path, ["custom_metadata": ["k": "v"]], isPatch: false)
    #expect(try (1...3).map { try text($0) } == ["value 1", "value 2", "value 3"])
    try mount.destroy(path, [3])
    #expect(try (1...3).map { try text($0) } == ["value 1", "value 2", nil])
    try mount.destroy(path, [1])
    #expect(try (1...3).map { try text($0) } == [nil, "value 2", nil])
    let kept = try group.history("a").filter { !$0.isRemoved }
    #expect(try kept.map { try group.get("a", version: $0.version).exportInsecurelyAsString() } == ["value 2"])
  }

  @Test func `a value is not taken for another one of its commit after its own version was dropped`() throws {
    try setThree()
    try mount.delete(path, [2])
    try group.restore("a", version: 3)
    for number in 5...11 { try group.set("a", to: "value \(number)") }
    // Ten versions of the item are kept, the second one to the eleventh.
    #expect(throws: Refusal.notFound) { try text(1) }
    try mount.undelete(path, [2])
    #expect(try text(2) == "value 2")
    #expect(try text(3) == "value 3")
    #expect(try text() == "value 11")
  }

  @Test func `a version stays the same while its item gets new labels, even if its first one was dropped`() throws {
    try mount.setMetadata(path, ["max_versions": 10], isPatch: false)
    try write("one")
    for number in 1...12 { try group.change("a", Details(label: .to("label \(number)"))) }
    #expect(try versions() == ["1"])
    #expect(try text(1) == "one")
    // If several values have the epoch, nobody can tell any more which of them it is.
    try mount.destroyAll(path)
    try setThree()
    try mount.delete(path, [1])
    for number in 1...12 { try group.change("a", Details(label: .to("label \(number)"))) }
    #expect(try versions().count == 1)
    #expect(throws: Refusal.notFound) { try text(1) }
    #expect(try text() == "value 3")
  }

  @Test func `a companion that names no versions of its item is still read`() throws {
    try write("one")
    try write("two")
    try mount.delete(path, [1])
    let json = try #require(try group.get(path.companion).exportInsecurelyAsString())
    let older = json.replacing(/"stored":[0-9]+,?/, with: "").replacing(",}", with: "}")
    #expect(older != json)
    try group.set(path.companion, to: try Secret(older), kind: .json)
    #expect(try text(1) == nil && text(2) == "two")
    try mount.undelete(path, [1])
    #expect(try text(1) == "one" && text(2) == "two")
  }

  // MARK: Removal and deletion

  @Test func `a removed item is deleted at once although its deletion was planned for later`() throws {
    try mount.setMetadata(path, ["delete_version_after": "24h"], isPatch: false)
    try write("one")
    try write("two")
    try group.remove("a")
    #expect(try text() == nil)
    #expect(try text(1) == "one")
    try mount.delete(path, [1])
    #expect(try text() == nil)
    #expect(throws: VaultError.notFound(.item)) { _ = try group.get("a") }
    try mount.undelete(path, [2])
    #expect(try text() == "two")
  }

  // MARK: Patches

  @Test func `a patch keeps the order of members and adds new ones at the end`() throws {
    let data = try JSONValue(parsing: #"{"a":1,"b":{"c":2,"d":3},"e":4}"#)
    let patch = try JSONValue(
      parsing: #"{"f":5,"a":null,"b":{"c":null,"g":{"h":null,"i":6}},"e":[null],"a":7,"x":null}"#)
    #expect(
      String(decoding: KVValue.merged(data, patch).json, as: UTF8.self)
        == #"{"b":{"d":3,"g":{"i":6}},"e":[null],"f":5,"a":7}"#)
    #expect(KVValue.merged(data, ["a": .null, "b": .null, "e": .null]) == [:])
    #expect(KVValue.merged(nil, ["a": "b"]) == .members([("a", "b")]))
  }

  @Test func `a patch changes no member whose name differs in its Unicode form`() throws {
    let merged = KVValue.merged(.members([("caf\u{E9}", 1)]), .members([("cafe\u{301}", 2)]))
    #expect(merged.json == JSONValue.members([("caf\u{E9}", 1), ("cafe\u{301}", 2)]).json)
    #expect(
      KVValue.merged(merged, .members([("cafe\u{301}", .null)])).json == JSONValue.members([("caf\u{E9}", 1)]).json)
  }

  @Test(.timeLimit(.minutes(10))) func `a patch takes time in proportion to its members`() {
    func members(_ prefix: String, _ value: JSONValue) -> JSONValue {
      .members((0..<100_000).map { ("\(prefix)\($0)", value) })
    }
    let data = members("a", 1)
    #expect(KVValue.merged(data, members("b", 2)).members?.count == 200_000)
    #expect(KVValue.merged(data, members("a", .null)) == [:])
  }

  // MARK: Settings

  @Test func `the greater of the path's and the mount's number of versions counts`() throws {
    for (ofPath, ofMount) in [(2, 4), (4, 2)] {
      try mount.destroyAll(path)
      try mount.setSettings(["max_versions": .number(ofMount)])
      try mount.setMetadata(path, ["max_versions": .number(ofPath)], isPatch: false)
      for number in 1...6 { try write("value \(number)") }
      #expect(try versions() == ["3", "4", "5", "6"])
    }
  }

  @Test func `the shorter of the path's and the mount's times until deletion counts`() {
    for (ofPath, ofMount) in [(60, 3_600), (3_600, 60), (60, 0), (0, 60)] {
      #expect(KVSettings(deleteAfter: ofPath).within(KVSettings(deleteAfter: ofMount)).deleteAfter == 60)
    }
    #expect(KVSettings().within(KVSettings()).deleteAfter == 0)
  }

  @Test func `custom metadata that an item cannot have are refused before there is an item`() throws {
    let many = JSONValue.members((0...64).map { ("key \($0)", "x") })
    let wrong: [JSONValue] = [
      ["k": .string(String(repeating: "x", count: 65_500))], ["k": "a\nb"], ["": "x"], many,
    ]
    for isRemoved in [false, true] {
      if isRemoved { try mount.delete(path, nil) }
      for custom in wrong {
        do {
          try mount.setMetadata(path, ["custom_metadata": custom], isPatch: false)
          Issue.record("metadata that are too long or hold control characters")
        } catch {
          #expect(Refusal(error).status == .badRequest)
        }
      }
      let longest = String(repeating: "x", count: 64_500)
      try mount.setMetadata(path, ["custom_metadata": ["k": .string(longest)]], isPatch: false)
      try write("value")
      #expect(try group.item("a").attributes == ["k": longest])
    }
    try mount.delete(path, nil)
    try mount.undelete(path, [2])
    #expect(try text() == "value")
  }

  @Test func `a write names stored metadata that no item can have as the reason, and they can be replaced`() throws {
    try mount.setMetadata(path, ["custom_metadata": ["k": "v"]], isPatch: false)
    let json = try #require(try group.get(path.companion).exportInsecurelyAsString())
    try group.set(path.companion, to: try Secret(json.replacing(#""v""#, with: #""a\nb""#)), kind: .json)
    #expect(throws: VaultError.invalid("an attribute's value must not hold control characters")) { try write("value") }
    try mount.setMetadata(path, ["custom_metadata": .null], isPatch: false)
    try write("value")
    #expect(try text() == "value")
  }

  @Test func `a client that asks for a wrapping token gets no secret in its place`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "secret")
    for (time, status) in [("60s", 400), ("300", 400), ("often", 400), ("1ns", 400), ("0", 200)] {
      let answer = try await daemon.curl("/v1/web/data/a", "-H", "X-Vault-Wrap-TTL: \(time)")
      #expect(answer.status == status && answer.body.contains("secret") == (status == 200))
    }
    #expect(try await daemon.curl("/v1/web/data/a", "-H", "X-Vault-Wrap-TTL;").status == 200)
  }

  // MARK: Version 1

  @Test func `version 1 lists a mount without a slash, refuses empty data, and tells how long data are valid`()
    async throws
  {
    let daemon = try RunningDaemon()
    try daemon.set("settings/kv-version/web", in: "vault.service", to: "1")
    try daemon.set("one", in: "web", to: "secret")
    for body in ["", "{}"] {
      let answer = try await daemon.curl("/v1/web/one", "-d", body)
      #expect(answer.status == 400 && answer.body.contains("missing data fields"))
    }
    #expect(try daemon.text("one", in: "web") == "secret")
    for (path, method) in [("web?list=true", "GET"), ("web/?list=true", "GET"), ("web", "LIST"), ("web/", "LIST")] {
      #expect(try await daemon.curl("/v1/\(path)", "-X", method).body.contains(#""keys":["one"]"#))
    }
    #expect(try await daemon.curl("/v1/web").status == 404)
    let leases = [
      (#""ttl":"30s""#, 30), (#""ttl":45"#, 45), (#""lease":"1h""#, 3_600), (#""ttl":"1y""#, 2_764_800),
      (#""ttl":-5"#, 2_764_800), (#""ttl":"40000h""#, 2_764_800), (#""b":"c""#, 2_764_800),
    ]
    for (member, seconds) in leases {
      #expect(try await daemon.curl("/v1/web/two", "-d", #"{"a":"b",\#(member)}"#).status == 204)
      #expect(try await daemon.curl("/v1/web/two").body.contains(#""lease_duration":\#(seconds),"#))
    }
  }

  @Test func `a request for capabilities names at most 1,000 paths`() async throws {
    let daemon = try RunningDaemon()
    for (count, status) in [(1_000, 200), (1_001, 400)] {
      let paths = Array(repeating: #""web""#, count: count).joined(separator: ",")
      let answer = try await daemon.curl("/v1/sys/capabilities-self", "-d", #"{"paths":[\#(paths)]}"#)
      #expect(answer.status == status)
    }
  }

  @Test func `where versions must be named, a write that names none is refused`() async throws {
    let daemon = try RunningDaemon()
    func write(_ body: String) async throws -> Int { try await daemon.curl("/v1/web/data/a", "-d", body).status }
    #expect(try await daemon.curl("/v1/web/config", "-d", #"{"cas_required":true}"#).status == 204)
    #expect(try await write(#"{"data":{"a":"1"}}"#) == 400)
    #expect(try await write(#"{"data":{"a":"1"},"options":{"cas":0}}"#) == 200)
    #expect(try await write(#"{"data":{"a":"2"},"options":{"cas":0}}"#) == 400)
    #expect(try await write(#"{"data":{"a":"2"}}"#) == 400)
    #expect(try await write(#"{"data":{"a":"2"},"options":{"cas":1}}"#) == 200)
  }
}
