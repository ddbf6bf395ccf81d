import Foundation
import Ground
import GroupFile
import Testing

@testable import Vault

struct ServiceMessageTests {
  private static let calls: [ServiceCall] = {
    var set = ServiceCall(.set, "shop", "db/password")
    (set.kind, set.typeName, set.expected) = (.json, "Person", 0)
    set.details = Details(
      label: .to("Ein Kennwort"), attributes: ["env": "prod", "old": nil, "empty": ""],
      expires: .to(Timestamp(milliseconds: 1_790_000_000_123)))
    var change = ServiceCall(.change, "shop", "a")
    change.details = Details(label: .remove, expires: .remove)
    var list = ServiceCall(.list, "shop", "db/")
    list.listsRemoved = true
    var open = ServiceCall(.open, "shop", "é")
    open.version = 7
    var hello = ServiceCall(.hello)
    hello.omitsGroups = true
    return [ServiceCall(.hello), hello, set, change, list, open]
  }()

  @Test(arguments: calls)
  func `a call reads back as it was written`(call: ServiceCall) throws {
    #expect(try ServiceCall(decoding: call.encoded()) == call)
  }

  @Test func `texts that take long to compare are refused before they are compared`() throws {
    let long = String(repeating: "\u{301}\u{316}", count: 15_000)
    var call = ServiceCall(.set, "shop", "a")
    call.details = Details(attributes: [long: "v"])
    let bytes = try call.encoded()
    #expect(throws: (any Error).self) { try ServiceCall(decoding: bytes) }
    #expect(throws: VaultError.overLimit("255 combining characters in a row")) { try call.details.validate() }
    #expect(throws: VaultError.overLimit("1,024 bytes in an item's name")) { try Item.Name(long) }
  }

  @Test func `a call with more attributes than an item can have is refused before it is sent`() throws {
    var call = ServiceCall(.set, "shop", "a")
    call.details = Details(attributes: Dictionary(uniqueKeysWithValues: (0..<256).map { ("k\($0)", "v") }))
    #expect(try ServiceCall(decoding: call.encoded()) == call)
    call.details.attributes["more"] = "v"
    #expect(throws: VaultError.overLimit("64 attributes")) { try call.encoded() }
  }

  @Test func `a call that names an attribute twice, or too many, is refused`() {
    func bytes(_ keys: [String]) -> [UInt8] {
      var (fields, attributes) = (FieldWriter(), ByteWriter())
      for key in keys {
        attributes.writeCounted16(Array(key.utf8))
        attributes.write(UInt8(1))
        attributes.writeCounted16([])
      }
      fields.write(1, [ServiceCall.Operation.set.rawValue])
      fields.write(9, attributes.bytes)
      return fields.bytes
    }
    let refusal = VaultError.invalid("a call that does not follow the protocol")
    let numbers = (0..<256).map { "k\($0)" }
    #expect(throws: Never.self) { try ServiceCall(decoding: bytes(numbers)) }
    #expect(throws: refusal) { try ServiceCall(decoding: bytes(numbers + ["more"])) }
    #expect(throws: refusal) { try ServiceCall(decoding: bytes(["a", "a"])) }
    // Equal as texts, although their bytes differ.
    #expect(throws: refusal) { try ServiceCall(decoding: bytes(["\u{E9}", "e\u{301}"])) }
  }

  @Test func `a changed or shortened call is refused or read as another call, without a crash`() throws {
    var generator = SystemRandomNumberGenerator()
    for call in Self.calls {
      let bytes = try call.encoded()
      for _ in 0..<2_000 {
        var mutant = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator)))
        if !mutant.isEmpty { mutant[.random(in: mutant.indices, using: &generator)] = .random(in: 0...255) }
        do {
          _ = try ServiceCall(decoding: mutant)
        } catch {
          #expect(error == .invalid("a call that does not follow the protocol"))
        }
      }
    }
  }

  @Test(
    arguments: [
      VaultError.notFound(.item), .notFound(.version(3)), .notFound(.group), .conflict(expected: 1, present: 2),
      .denied(.notAMember), .denied(.readOnly), .denied(.ownerOnly), .invalid("an item's name must not be empty"),
      .overLimit("a value of 1 MiB"), .busy(group: "shop"), .contradiction(.presentItem),
      .unordered(.refused),
    ])
  func `errors that programs distinguish arrive unchanged`(error: VaultError) throws {
    #expect(try ServiceAnswer(decoding: ServiceAnswer(failure: error).encoded()).failure == error)
  }

  @Test func `any other error keeps its status and message`() throws {
    let damaged = VaultError.damaged(group: "shop", level: .manifest, detail: "signature")
    let arrived = try #require(try ServiceAnswer(decoding: ServiceAnswer(failure: damaged).encoded()).failure)
    #expect(arrived == .service(.damaged, damaged.message) && arrived.status == damaged.status)
  }

  @Test func `a changed or shortened answer is refused or read as another answer, without a crash`() throws {
    let store = try StoreFixture()
    let group = try store.open().group("default")
    try group.set("a", to: "1", Details(label: .to("A"), attributes: ["k": "v"]))
    try group.set("b", to: [1, 2])
    try group.remove("b")
    var answer = ServiceAnswer(
      number: 9, items: try group.items() + group.listing(removed: true).items,
      caller: ServiceAnswer.Caller(
        application: "web", ownerKey: Array(repeating: 1, count: 32), groups: ["shop", "web"]))
    answer.joined = [JoinedGroup(name: "shop", epoch: 3)]
    let bytes = answer.encoded()
    let read = try ServiceAnswer(decoding: bytes)
    #expect(read.number == 9 && read.items == answer.items && read.caller == answer.caller)
    #expect(read.joined == answer.joined)
    for _ in 0..<5_000 {
      var mutant = Array(bytes.prefix(.random(in: 0...bytes.count)))
      if !mutant.isEmpty { mutant[.random(in: mutant.indices)] = .random(in: 0...255) }
      do {
        _ = try ServiceAnswer(decoding: mutant)
      } catch {
        #expect(error == ServiceClient.misunderstood)
      }
    }
  }
}
