import Foundation
import Testing
import VaultFoundation

@testable import Vault
@testable import VaultDaemon

/// What programs see of locked collections, and what they are told when these are opened.
extension SecretServiceAnswerTests {
  private func properties(
    of object: BusObject, by client: String = ":1.1", _ executable: String = program
  ) async throws -> [String: BusValue] {
    let answer = try await call(
      "GetAll", at: object, of: .properties, .text(object.interface?.name ?? ""), by: client,
      program: BusProgram(executable: executable))
    guard case .properties(let properties)? = answer.first else { throw BusFailure.noObject }
    return properties
  }

  private func unlock(_ object: BusObject, by client: String, _ executable: String = program) async throws -> BusObject
  {
    let answer = try await call(
      "Unlock", at: .service, .paths([object.path]), by: client, program: BusProgram(executable: executable))
    guard case .path(let path)? = answer.last, let prompt = BusObject(path: path) else { throw BusFailure.noObject }
    return prompt
  }

  private func begin(_ prompt: BusObject, by client: String, _ executable: String = program) async throws {
    _ = try await call(
      "Prompt", at: prompt, .text(""), by: client, program: BusProgram(executable: executable))
  }

  func wait(_ condition: () async throws -> Bool) async throws {
    while try await !condition() { try await Task.sleep(for: .milliseconds(20)) }
  }

  /// Pinentry writes down each question, and answers when the file `agreed` is there.
  private func answerLater(with answer: String) async throws {
    try await RunningDaemon.writePinentry(
      saying: ">/dev/null; until [ -e $0.agreed ]; do sleep 0.02; done; echo \(answer)", to: pinentry)
  }

  private var questions: Int {
    ((try? String(contentsOfFile: pinentry + ".asked", encoding: .utf8)) ?? "").split(separator: "\n").count
  }

  /// Lets the question be answered as soon as it is asked.
  private func answerNow() async throws {
    try await wait { questions > 0 }
    try Data().write(to: URL(filePath: pinentry + ".agreed"))
  }

  // MARK: What is shown

  @Test(.timeLimit(.minutes(5)))
  func `a locked item shows its attributes only to a program that a rule allows, and the record says so`() async throws
  {
    let item = try await item("mail", ["user": "jo"])
    try rule("exe/usr/bin/asked", "ask")
    try rule("exe/usr/bin/denied", "deny")
    await service.lookForChanges()
    func check() async throws {
      let shown = try await properties(of: item)
      #expect(shown["Locked"] == .bool(true) && shown["Label"] == .text("mail"))
      #expect(shown["Attributes"] == .attributes(["user": "jo"]))
      let hidden = try await properties(of: item, by: ":1.2", "/usr/bin/asked")
      #expect(hidden["Locked"] == .bool(true) && hidden["Label"] == .text(""))
      #expect(hidden["Attributes"] == .attributes([:]))
      await #expect(throws: BusFailure.self) { try await properties(of: item, by: ":1.3", "/usr/bin/denied") }
    }
    func reads() throws -> [AuditRecord] { try daemon.records().filter { $0.action == .inspect } }
    _ = try await call("LockService", at: .service)
    try await check()
    #expect(try reads().map(\.item) == ["mail"])
    daemon.seal.seal()
    try await check()
    // The record is closed with the store, and gets what was shown as soon as it is open.
    try daemon.seal.unseal()
    await service.lookForChanges()
    #expect(try reads().map(\.item) == ["mail", "mail"])
    #expect(try reads().last?.detail?.contains("while the store was closed") == true)
    #expect(try reads().allSatisfy { $0.caller.exe == Self.program })
  }

  @Test(.timeLimit(.minutes(5)))
  func `a program that somebody lets in is told what it was not shown, before it hears of the answer`() async throws {
    let item = try await item("mail", ["user": "jo"])
    try rule("default", "ask")
    try await agree()
    #expect(try await properties(of: item)["Attributes"] == .attributes([:]))
    #expect(try await properties(of: item, by: ":1.2")["Attributes"] == .attributes([:]))
    try await prompt(call("Unlock", at: .service, .paths([item.path])))
    #expect(signals.told(":1.1") == ["PropertiesChanged", "Completed"])
    let told = try #require(signals.changes(of: item, told: ":1.1").last)
    #expect(told["Attributes"] == .attributes(["user": "jo"]) && told["Locked"] == .bool(false))
    #expect(try daemon.records().contains { $0.action == .inspect && $0.item == "mail" })
    // The other client was not let in.
    #expect(signals.changes(of: item, told: ":1.2").isEmpty)
  }

  @Test(.timeLimit(.minutes(5)))
  func `items are found as locked after vault lock, even if no program has searched before`() async throws {
    let item = try await item("mail", ["user": "jo"])
    await service.lookForChanges()
    daemon.seal.seal()
    #expect(try await search() == [.paths([]), .paths([item.path])])
  }

  @Test(.timeLimit(.minutes(5)))
  func `a program that read an item before is told what it is when others open it, and the record says so`()
    async throws
  {
    let item = try await item("mail", ["user": "jo"])
    _ = try await properties(of: item, by: ":1.2", "/usr/bin/reader")
    // This one asked for no more than whether the item is locked.
    _ = try await call(
      "Get", at: item, of: .properties, .text(BusInterface.item.name), .text("Locked"), by: ":1.3")
    _ = try await call("LockService", at: .service)
    try await agree()
    try await prompt(call("Unlock", at: .service, .paths([item.path])))
    #expect(signals.changes(of: item, told: ":1.2").last?["Label"] == .text("mail"))
    #expect(signals.changes(of: item, told: ":1.3") == [["Locked": .bool(false)]])
    let shown = try daemon.records().filter { $0.action == .inspect }
    #expect(shown.map(\.caller.exe) == ["/usr/bin/reader", "/usr/bin/reader"])
  }

  // MARK: What is told

  @Test(.timeLimit(.minutes(5)))
  func `programs are told when the store is closed and opened, and a closed collection has its items`() async throws {
    let item = try await item("mail", ["user": "jo"])
    try rule("exe/usr/bin/asked", "ask")
    let desktop = BusObject.collection("desktop")
    _ = try await properties(of: desktop)
    _ = try await properties(of: desktop, by: ":1.2", "/usr/bin/asked")
    _ = try await properties(of: item)
    var turns = daemon.seal.turns().makeAsyncIterator()
    daemon.seal.seal()
    #expect(await turns.next() != nil)
    signals.removeAll()
    await service.lookForChanges()
    #expect(signals.changes(of: desktop, told: nil) == [["Locked": .bool(true)]])
    #expect(signals.changes(of: item, told: ":1.1") == [["Locked": .bool(true)]])
    let closed = try await properties(of: desktop)
    #expect(closed["Items"] == .paths([item.path]) && closed["Locked"] == .bool(true))
    try daemon.seal.unseal()
    #expect(await turns.next() != nil)
    signals.removeAll()
    await service.lookForChanges()
    #expect(signals.changes(of: desktop, told: nil) == [["Locked": .bool(false)]])
    // For this one it still is, until somebody lets it in.
    #expect(signals.changes(of: desktop, told: ":1.2").first == ["Locked": .bool(true)])
    #expect(signals.changes(of: item, told: ":1.1").last?["Label"] == .text("mail"))
    // Nothing has changed since.
    signals.removeAll()
    await service.lookForChanges()
    #expect(signals.changes(of: desktop, told: nil).isEmpty)
  }

  /// What a program is told first is recorded, and meanwhile others may close the store.
  @Test func `nobody is told that a collection is open once the store is closed`() async throws {
    _ = try await item("mail", ["user": "jo"])
    daemon.seal.seal()
    signals.removeAll()
    for collection in await service.collections { await service.tellLocked(collection, false) }
    #expect(signals.changes(of: .collection("desktop"), told: nil).isEmpty)
  }

  @Test(.timeLimit(.minutes(5)))
  func `a program that has read a collection is told its items when one is made or removed`() async throws {
    let desktop = BusObject.collection("desktop")
    let item = try await item("mail", ["user": "jo"])
    _ = try await properties(of: desktop)
    _ = try await properties(of: desktop, by: ":1.2", "/usr/bin/other")
    try rule("exe/usr/bin/other", "deny")
    let other = try await self.item("web")
    await service.lookForChanges()
    func items() -> BusValue? { signals.changes(of: desktop, told: ":1.1").last?["Items"] }
    let both = [item.path, other.path].sorted()
    try await wait { items() == .paths(both) }
    _ = try await call("Delete", at: other)
    try await wait { items() == .paths([item.path]) }
    // A program that a rule denies does not learn which items there are.
    #expect(signals.changes(of: desktop, told: ":1.2").isEmpty && signals.changes(of: desktop, told: nil).isEmpty)
  }

  // MARK: Questions

  @Test(.timeLimit(.minutes(5)))
  func `programs that ask at once to open the store are answered by one question`() async throws {
    let item = try await item("mail", ["user": "jo"])
    await service.lookForChanges()
    daemon.seal.seal()
    try await answerLater(with: "OK")
    let clients = [(":1.1", Self.program), (":1.1", Self.program), (":1.2", "/usr/bin/other")]
    for (client, program) in clients { try await begin(unlock(item, by: client, program), by: client, program) }
    try await answerNow()
    func ended() -> Int { [":1.1", ":1.2"].flatMap { signals.told($0) }.count { $0 == "Completed" } }
    try await wait { ended() == 3 }
    #expect(questions == 1)
    #expect(try await search() == [.paths([item.path]), .paths([])])
  }

  @Test(.timeLimit(.minutes(5)))
  func `one no is the answer to all that a program asks at the moment, on whichever connection`() async throws {
    let item = try await item("mail", ["user": "jo"])
    await service.lookForChanges()
    daemon.seal.seal()
    try await answerLater(with: "ERR 83886179 cancelled")
    let clients = [(":1.1", Self.program), (":1.1", Self.program), (":1.2", Self.program), (":1.3", "/usr/bin/other")]
    for (client, program) in clients { try await begin(unlock(item, by: client, program), by: client, program) }
    try await answerNow()
    func ended() -> Int { [":1.1", ":1.2", ":1.3"].flatMap { signals.told($0) }.count { $0 == "Completed" } }
    try await wait { ended() == 4 }
    // The other program is not this one.
    #expect(questions == 2 && daemon.seal.isSealed)
  }

  // MARK: Sessions and names

  @Test func `a client may begin thousands of sessions, and loses the one it has not used for longest`()
    async throws
  {
    func begin(by client: String = ":1.1") async throws -> BusValue {
      let opened = try await call(
        "OpenSession", at: .service, .text(BusSession.plain), .variant(.text("")), by: client)
      return try #require(opened.last)
    }
    func use(_ session: BusValue, by client: String = ":1.1") async throws {
      _ = try await call("GetSecrets", at: .service, .paths([]), session, by: client)
    }
    let (first, second, other) = (try await begin(), try await begin(), try await begin(by: ":1.2"))
    for _ in 2..<4_096 { _ = try await begin() }
    try await use(first)
    try await use(begin())
    try await use(first)
    await #expect(throws: BusFailure.noSession) { try await use(second) }
    try await use(other, by: ":1.2")
    await #expect(throws: BusFailure.noSession) { try await use(other) }
  }

  @Test(.timeLimit(.minutes(5)))
  func `a program finds the collection that it made by the path that gnome-keyring would give it`() async throws {
    try await agree()
    _ = try daemon.owner().addPassphrase(Secret("a long passphrase"))
    let names = ["my_tool": "my_5ftool", "MyTool": "MyTool", "Login..Items": "Login_2e_2eItems"]
    func make(_ label: String) async throws {
      let wanted = ["org.freedesktop.Secret.Collection.Label": BusValue.text(label)]
      try await prompt(call("CreateCollection", at: .service, .properties(wanted), .text("")))
    }
    // As the daemon does: the group may be seen as soon as the store is open again.
    let turns = daemon.seal.turns()
    let watching = Task { for await _ in turns { await service.lookForChanges() } }
    defer { watching.cancel() }
    for (label, id) in names {
      try await make(label)
      let shown = try await properties(of: .collection(id))
      #expect(shown["Label"] == .text(label))
    }
    #expect(try Set(daemon.owner().groupNames()).isSuperset(of: ["my_tool", "mytool", "login.items"]))
    let shown = try await call(
      "Get", at: .service, of: .properties, .text(BusInterface.service.name), .text("Collections"))
    guard case .variant(.paths(let paths))? = shown.first else { throw BusFailure.noObject }
    #expect(paths.count == 6 && Set(paths).count == 6)
    // The next daemon has them at the same paths.
    let next = SecretServiceAnswerTests(after: self)
    await next.service.addMadeCollections()
    for (label, id) in names {
      let shown = try await next.properties(of: .collection(id))
      #expect(shown["Label"] == .text(label))
    }
    // A second one of that name has another path.
    try await make("MyTool")
    let second = try await properties(of: .collection("mytool_2d2"))
    #expect(second["Label"] == .text("MyTool"))
  }

  @Test func `login is another name of the default collection`() async throws {
    let item = try await item("mail", ["user": "jo"])
    let desktop = BusValue.path(BusObject.collection("desktop").path)
    #expect(try await call("ReadAlias", at: .service, .text("login")) == [desktop])
    #expect(try await call("CreateCollection", at: .service, .properties(Self.label), .text("login")).first == desktop)
    for object in [BusObject.alias("login"), .collection("login")] {
      #expect(try await call("SearchItems", at: object, .attributes(["user": "jo"])) == [.paths([item.path])])
    }
    await service.setDefault(try service.collection("team"))
    let team = BusValue.path(BusObject.collection("team").path)
    #expect(try await call("ReadAlias", at: .service, .text("login")) == [team])
  }
}
