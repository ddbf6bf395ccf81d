import Sealing
import Testing

@testable import GroupFile

@Suite struct RequestTests {
  private let request = ChangeID()

  /// Sets an item as if nobody had asked for it before.
  private func set(_ name: String, to value: String, for request: ChangeID, on host: TestHost) throws {
    let transaction = try host.group.beginWriting()
    transaction.answer(request, isNew: true)
    try transaction.put(name, value)
    try transaction.commit()
  }

  private func answered(_ name: String, for request: ChangeID, on host: TestHost) throws -> UInt64? {
    let transaction = try host.group.beginWriting()
    defer { transaction.rollback() }
    transaction.answer(request, isNew: false)
    return try transaction.answered(at: transaction.view.state.keys.token(of: name))
  }

  @Test func `a request has 1 to 64 visible characters`() {
    #expect(ChangeID().description.utf8.count == 32)
    #expect(ChangeID() != ChangeID())
    #expect(ChangeID(request.description) == request)
    for text in ["", "a b", "\u{e9}", "line\n", String(repeating: "x", count: 65)] { #expect(ChangeID(text) == nil) }
  }

  @Test func `every host knows which version a request has made, as long as the version is kept`() throws {
    let (group, log, first) = try PublishedGroupTests().published()
    let second = try TestHost(group, log, application: "com.example.web")
    try set("item/1", to: "for the request", for: request, on: first)
    try second.catchUp()
    for host in [first, second] {
      #expect(try answered("item/1", for: request, on: host) == 2)
      #expect(try answered("item/2", for: request, on: host) == nil)
      #expect(try answered("item/1", for: ChangeID(), on: host) == nil)
    }
    // The group keeps three versions.
    for round in 0..<2 { try first.group.set(["item/1": "round \(round)"]) }
    #expect(try answered("item/1", for: request, on: first) == 2)
    try first.group.set(["item/1": "the last"])
    #expect(try answered("item/1", for: request, on: first) == nil)
  }

  @Test func `a new key keeps the marks of requests`() throws {
    let (group, log, first) = try PublishedGroupTests().published()
    try set("item/1", to: "for the request", for: request, on: first)
    let nonce = try first.group.beginReading().storedRow("item/1")?.nonce
    try first.group.changeRoster(RosterChange(rotates: true), by: group.authority())
    #expect(try answered("item/1", for: request, on: first) == 2)
    #expect(try first.group.beginReading().storedRow("item/1")?.nonce != nonce)
    _ = log
  }

  @Test func `a removal without a history has the mark of its request`() throws {
    let (group, log, first) = try PublishedGroupTests().published()
    let transaction = try first.group.beginWriting()
    transaction.answer(request, isNew: false)
    try transaction.destroy("item/1")
    try transaction.commit()
    #expect(try answered("item/1", for: request, on: first) == 2)
    _ = (group, log)
  }

  @Test func `a commit that answers a request for the second time is refused`() throws {
    let (group, log, first) = try PublishedGroupTests().published()
    let second = try TestHost(group, log)
    try set("item/1", to: "once", for: request, on: first)
    try second.catchUp()
    try set("item/1", to: "twice", for: request, on: first)
    #expect(throws: VaultError.damaged(.commit, "a request that was answered before")) { try second.catchUp() }
    #expect(try second.group.value("item/1") == "once")
  }

  @Test func `one commit may have several versions of an item for one request`() throws {
    let (group, log, first) = try PublishedGroupTests().published()
    let second = try TestHost(group, log)
    let transaction = try first.group.beginWriting()
    transaction.answer(request, isNew: false)
    for value in ["one", "two"] {
      #expect(try transaction.answered(at: transaction.view.state.keys.token(of: "item/1")) == nil)
      try transaction.put("item/1", value)
    }
    try transaction.commit()
    try second.catchUp()
    #expect(try second.group.value("item/1") == "two")
    #expect(try answered("item/1", for: request, on: second) == 3)
  }

  @Test func `every host takes a commit that drops the version of a request and answers the request again`() throws {
    let (group, log, first) = try PublishedGroupTests().published()
    let second = try TestHost(group, log)
    try set("item/1", to: "once", for: request, on: first)
    try set("item/2", to: "once", for: request, on: first)
    try second.catchUp()
    let transaction = try first.group.beginWriting()
    let keys = transaction.view.state.keys
    for round in 0..<3 {
      transaction.answer(ChangeID(), isNew: true)
      try transaction.put("item/1", "round \(round)")
    }
    try transaction.destroy("item/2")
    for name in ["item/1", "item/2"] {
      transaction.answer(request, isNew: false)
      #expect(try transaction.answered(at: keys.token(of: name)) == nil)
      try transaction.put(name, "again")
    }
    try transaction.commit()
    try second.catchUp()
    for name in ["item/1", "item/2"] { #expect(try second.group.value(name) == "again") }
  }

  @Test func `a group that is not published answers a named request once, until it gets a new key`() throws {
    let group = try GroupFixture()
    func answered() throws -> UInt64? {
      let transaction = try group.open().beginWriting()
      transaction.answer(request, isNew: false)
      let token = transaction.view.state.keys.token(of: "name")
      if let version = try transaction.answered(at: token) { return version }
      try transaction.put("name", "value")
      try transaction.commit()
      return nil
    }
    #expect(try answered() == nil)
    #expect(try answered() == 1)
    try group.set(["name": "of no request"])
    try group.open().changeRoster(RosterChange(rotates: true), by: group.authority())
    #expect(try answered() == nil)
  }

  @Test func `nothing in the rows of a group that is not published matches those before a new key`() throws {
    let group = try GroupFixture()
    try group.set(Dictionary(uniqueKeysWithValues: (0..<300).map { ("item/\($0)", "value") }))
    func marks() throws -> Set<UInt64> {
      let view = try group.open().beginReading()
      return Set(try (0..<300).compactMap { try view.storedRow("item/\($0)")?.nonce.mark })
    }
    let before = try marks()
    try group.open().changeRoster(RosterChange(rotates: true), by: group.authority())
    #expect(try before.count == 300 && marks().isDisjoint(with: before))
  }
}
