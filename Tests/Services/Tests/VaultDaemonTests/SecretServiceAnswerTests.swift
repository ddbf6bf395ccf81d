import Foundation
import Synchronization
import Testing
import VaultFoundation

@testable import Vault
@testable import VaultDaemon

/// What the Secret Service answers and tells, called as its connection calls it.
struct SecretServiceAnswerTests {
  let daemon: RunningDaemon
  let service: SecretService
  let pinentry: String
  let signals = Signals()
  static let program = "/usr/bin/mail"

  final class Signals: Sendable {
    private let sent = Mutex<[BusSignal]>([])

    func add(_ signal: BusSignal) { sent.withLock { $0.append(signal) } }
    func removeAll() { sent.withLock { $0 = [] } }
    /// The signals that one client alone gets.
    func told(_ client: String) -> [String] {
      sent.withLock { $0.filter { $0.destination == client }.map(\.member) }
    }
    /// The changed properties of an object, in the order in which they were told.
    ///
    /// - Parameter client: the one that alone was told; `nil` for everybody.
    func changes(of object: BusObject, told client: String?) -> [[String: BusValue]] {
      let signals = sent.withLock { $0 }
      return signals.compactMap { signal in
        guard signal.destination == client, signal.path == object.path, signal.values.count == 3,
          case .properties(let properties) = signal.values[1]
        else { return nil }
        return properties
      }
    }
  }

  init() throws {
    daemon = try RunningDaemon(binds: false, serves: false)
    pinentry = daemon.folder + "/pinentry"
    let owner = try daemon.owner()
    for group in ["desktop", "team"] {
      try owner.createGroup(group)
      try owner.grant(.write, in: group, to: Applications.service)
    }
    try daemon.seal.reopen()
    service = SecretService(
      groups: ["desktop", "team"], seal: daemon.seal, location: daemon.configuration.location,
      asking: Asking(pinentry: pinentry), logger: RunningDaemon.logger, send: { [signals] in signals.add($0) })
  }

  /// The service of the next daemon.
  init(after other: Self) {
    (daemon, pinentry) = (other.daemon, other.pinentry)
    service = SecretService(
      groups: ["desktop", "team"], seal: other.daemon.seal, location: other.daemon.configuration.location,
      asking: Asking(), logger: RunningDaemon.logger, send: { _ in })
  }

  private static let lastNumber = Mutex<UInt64>(0)

  func call(
    _ member: String, at object: BusObject, of interface: BusInterface? = nil, _ arguments: BusValue...,
    by client: String = ":1.1", program: BusProgram = BusProgram(executable: program), isFromPortal: Bool = false
  ) async throws -> [BusValue] {
    let number = Self.lastNumber.withLock { last in
      last += 1
      return last
    }
    let interface = interface ?? object.interface
    let signature = interface?.methods.first { $0.name == member }?.signature ?? ""
    return try await service.answer(
      BusCall(
        number: number, sender: client, path: object.path, interface: interface?.name, member: member,
        signature: signature, arguments: arguments, program: program, isFromPortal: isFromPortal)
    ).get()
  }

  func rule(_ name: String, _ value: String) throws {
    try daemon.set("settings/secret-service/" + name, in: "vault.service", to: value)
  }

  func item(_ name: String, _ attributes: [String: String] = [:], in group: String = "desktop") async throws
    -> BusObject
  {
    let opened = try daemon.owner().group(group)
    try await opened.set(name, to: "hunter2", Details(attributes: attributes.mapValues { $0 }))
    return .item(collection: group, BusItem.id(of: name, in: try await opened.info().id))
  }

  @Test(.timeLimit(.minutes(5)))
  func `a client that a rule denies now is not told any more how an item changes`() async throws {
    let item = try await item("mail")
    _ = try await call("GetAll", at: item, of: .properties, .text(BusInterface.item.name))
    try daemon.set("mail", in: "desktop", to: "second")
    await service.lookForChanges()
    try await wait { signals.told(":1.1") == ["PropertiesChanged"] }
    // What it was told is in the record, like what it asked for.
    #expect(try daemon.records().count { $0.action == .inspect && $0.item == "mail" } == 2)
    signals.removeAll()
    try rule("exe" + Self.program, "deny")
    try daemon.set("mail", in: "desktop", to: "third")
    await service.lookForChanges()
    _ = try await call("Lock", at: .service, .paths([item.path]), by: ":1.2", program: BusProgram(executable: "/x"))
    #expect(signals.told(":1.1") == [])
    #expect(try daemon.records().count { $0.action == .inspect } == 2)
  }

  @Test func `a program that a rule denies cannot make, lock, unlock or rename a collection or make it the default`()
    async throws
  {
    try rule("exe" + Self.program, "deny")
    let team = BusObject.collection("team")
    for (member, arguments) in [
      ("Lock", [BusValue.paths([team.path])]), ("LockService", []), ("Unlock", [.paths([team.path])]),
      ("SetAlias", [.text("default"), .path(team.path)]), ("CreateCollection", [.properties(Self.label), .text("")]),
    ] {
      await #expect(throws: BusFailure.denied, "\(member)") {
        switch arguments.count {
        case 0: try await call(member, at: .service)
        case 1: try await call(member, at: .service, arguments[0])
        default: try await call(member, at: .service, arguments[0], arguments[1])
        }
      }
    }
    await #expect(throws: BusFailure.denied) {
      try await call(
        "Set", at: team, of: .properties, .text(BusInterface.collection.name), .text("Label"), .variant(.text("x")))
    }
    let other = BusProgram(executable: "/usr/bin/other")
    let isLocked = try await call(
      "Get", at: team, of: .properties, .text(BusInterface.collection.name), .text("Locked"), by: ":1.2",
      program: other)
    #expect(isLocked == [.variant(.bool(false))])
    #expect(
      try await call("ReadAlias", at: .service, .text("default"), by: ":1.2", program: other)
        == [.path(BusObject.collection("desktop").path)])
    #expect(try daemon.records().allSatisfy { $0.outcome == .denied })
  }

  /// The properties of a new collection.
  static let label = ["org.freedesktop.Secret.Collection.Label": BusValue.text("Vault of Jo")]

  private func isLocked(_ collection: String, for client: String) async throws -> Bool {
    try await call(
      "Get", at: .collection(collection), of: .properties, .text(BusInterface.collection.name), .text("Locked"),
      by: client) == [.variant(.bool(true))]
  }

  /// Has each question answered with yes, or with the passphrase, as soon as the file `go` is there.
  func agree(upon go: String = "/") async throws {
    let script = """
      #!/bin/sh
      : >"$0.asked"
      while [ ! -e '\(go)' ]; do sleep 0.05; done
      echo OK
      while read -r command rest; do
        [ "$command" != GETPIN ] || echo 'D a long passphrase'
        echo OK
        [ "$command" != BYE ] || exit 0
      done

      """
    try await RunningDaemon.writeProgram(script, to: pinentry)
  }

  /// Begins the prompt that an answer ends with, and waits for its end.
  func prompt(_ answer: [BusValue], during body: () async throws -> Void = {}) async throws {
    guard case .path(let path)? = answer.last, let prompt = BusObject(path: path) else { throw BusFailure.noObject }
    signals.removeAll()
    _ = try await call("Prompt", at: prompt, .text(""))
    try await body()
    while !signals.told(":1.1").contains("Completed") { try await Task.sleep(for: .milliseconds(20)) }
  }

  @Test(.timeLimit(.minutes(5)))
  func `a yes counts for the collections that the question names, and for the client that asked`() async throws {
    try await agree()
    try rule("default", "ask")
    #expect(try await isLocked("desktop", for: ":1.1"))
    try await prompt(call("Unlock", at: .service, .paths([BusObject.collection("desktop").path])))
    #expect(try await !isLocked("desktop", for: ":1.1"))
    #expect(try await isLocked("team", for: ":1.1"))
    #expect(try await isLocked("desktop", for: ":1.2"))
    // It ends with the client.
    await service.forget(":1.1")
    #expect(try await isLocked("desktop", for: ":1.1"))
  }

  @Test func `a prompt is nobody's but the client's that asked`() async throws {
    try rule("default", "ask")
    let answer = try await call("Unlock", at: .service, .paths([BusObject.collection("desktop").path]))
    guard case .path(let path)? = answer.last, let prompt = BusObject(path: path) else { throw BusFailure.noObject }
    await #expect(throws: BusFailure.noObject) { try await call("Prompt", at: prompt, .text(""), by: ":1.2") }
    await #expect(throws: BusFailure.noObject) { try await call("Dismiss", at: prompt, by: ":1.2") }
    _ = try await call("Dismiss", at: prompt)
    await #expect(throws: BusFailure.noObject) { try await call("Dismiss", at: prompt) }
  }

  @Test func `a locked item gives no secret, takes none, and stays`() async throws {
    let item = try await item("mail")
    func secrets(_ client: String) async throws -> [BusValue] {
      let opened = try await call("OpenSession", at: .service, .text("plain"), .variant(.text("")), by: client)
      guard let session = opened.last else { throw BusFailure.noSession }
      let single = try? await call("GetSecret", at: item, session, by: client)
      let all = try await call("GetSecrets", at: .service, .paths([item.path]), session, by: client)
      #expect((single == nil) == (all == [.secrets([:])]))
      return all
    }
    #expect(try await secrets(":1.1") != [.secrets([:])])
    _ = try await call("Lock", at: .service, .paths([BusObject.collection("desktop").path]))
    #expect(try await secrets(":1.1") == [.secrets([:])])
    await #expect(throws: BusFailure.isLocked) { try await call("Delete", at: item) }
    // For another client it may be locked because nobody has agreed yet.
    try rule("default", "ask")
    #expect(try await secrets(":1.2") == [.secrets([:])])
    #expect(try daemon.items(of: "desktop").count == 1)
  }

  /// Has a program ask to unlock a collection, and somebody agree after `change`.
  private func unlock(whileAsked change: () throws -> Void) async throws {
    let go = daemon.folder + "/go"
    try await agree(upon: go)
    try await prompt(call("Unlock", at: .service, .paths([BusObject.collection("desktop").path]))) {
      while !FileManager.default.fileExists(atPath: pinentry + ".asked") {
        try await Task.sleep(for: .milliseconds(20))
      }
      try change()
      try Data().write(to: URL(filePath: go))
    }
  }

  @Test(.timeLimit(.minutes(5))) func `the question of a denied program closes no store that others have opened`()
    async throws
  {
    try rule("exe" + Self.program, "deny")
    daemon.seal.seal()
    try await unlock { try daemon.seal.unseal() }
    #expect(!daemon.seal.isSealed)
  }

  @Test(.timeLimit(.minutes(5))) func `a yes to a question about an open store counts for nothing once it is closed`()
    async throws
  {
    try rule("default", "ask")
    try await unlock { daemon.seal.seal() }
    #expect(daemon.seal.isSealed)
    try daemon.seal.unseal()
    #expect(try await isLocked("desktop", for: ":1.1"))
  }

  @Test(.timeLimit(.minutes(5))) func `a search that no read follows is in the record soon`() async throws {
    _ = try await item("mail", ["user": "jo"])
    _ = try await call("SearchItems", at: .service, .attributes(["user": "jo"]))
    while try !daemon.records().contains(where: { $0.action == .list && $0.group == "desktop" }) {
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  func search() async throws -> [BusValue] {
    try await call("SearchItems", at: .service, .attributes(["user": "jo"]))
  }

  @Test func `a group that is gone does not keep the items of the others from being found and read`() async throws {
    let items = [try await item("mail", ["user": "jo"]), try await item("web", ["user": "jo"], in: "team")]
    let opened = try await call("OpenSession", at: .service, .text(BusSession.plain), .variant(.text("")))
    try daemon.owner().removeGroup("team")
    #expect(try await search() == [.paths([items[0].path]), .paths([])])
    let read = try await call("GetSecrets", at: .service, .paths(items.map(\.path)), try #require(opened.last))
    guard case .secrets(let secrets)? = read.first else { throw BusFailure.noObject }
    #expect(Array(secrets.keys) == [items[0].path])
    // Programs load the properties of all collections at first.
    let loaded = try await call("GetAll", at: .collection("team"), of: .properties, .text(BusInterface.collection.name))
    guard case .properties(let shown)? = loaded.first else { throw BusFailure.noObject }
    #expect(shown["Label"] == .text("team") && shown["Items"] == .paths([]))
    // If nothing can be read, the error says so.
    await #expect(throws: BusFailure.noObject) {
      try await call("SearchItems", at: .collection("team"), .attributes(["user": "jo"]))
    }
    try daemon.owner().removeGroup("desktop")
    await #expect(throws: BusFailure.noObject) { try await search() }
  }

  @Test(.timeLimit(.minutes(5)))
  func `while the store is closed, items are found as locked, and somebody who agrees opens them`() async throws {
    try await agree()
    let item = try await item("mail", ["user": "jo"])
    daemon.seal.seal()
    // Nobody has asked for items before.
    await #expect(throws: BusFailure.isLocked) { try await search() }
    try daemon.seal.unseal()
    #expect(try await search() == [.paths([item.path]), .paths([])])
    daemon.seal.seal()
    #expect(try await search() == [.paths([]), .paths([item.path])])
    let properties = try await call("GetAll", at: item, of: .properties, .text(BusInterface.item.name))
    guard case .properties(let shown)? = properties.first else { throw BusFailure.noObject }
    #expect(shown["Locked"] == .bool(true))
    try await prompt(call("Unlock", at: .service, .paths([item.path])))
    #expect(try await search() == [.paths([item.path]), .paths([])])
    // A program that a rule denied before is told nothing.
    try rule("exe" + Self.program, "deny")
    await service.lookForChanges()
    daemon.seal.seal()
    await #expect(throws: BusFailure.denied) { try await search() }
    await #expect(throws: BusFailure.isLocked) {
      try await call("GetAll", at: item, of: .properties, .text(BusInterface.item.name))
    }
  }

  @Test(.timeLimit(.minutes(5)))
  func `the passphrase for a new collection does not open a store that was closed`() async throws {
    try await agree()
    _ = try daemon.owner().addPassphrase(Secret("a long passphrase"))
    let begun = try await call("CreateCollection", at: .service, .properties(Self.label), .text(""))
    daemon.seal.seal()
    try await prompt(begun)
    #expect(daemon.seal.isSealed)
    #expect(try !daemon.owner().groupNames().contains("collection-vault-of-jo"))
    await #expect(throws: BusFailure.isLocked) {
      try await call("CreateCollection", at: .service, .properties(Self.label), .text(""))
    }
  }

  @Test(.timeLimit(.minutes(5)))
  func `a store that is closed after the passphrase was typed stays closed`() async throws {
    try await agree()
    _ = try daemon.owner().addPassphrase(Secret("a long passphrase"))
    let made = daemon.folder + "/home/groups/collection-vault-of-jo"
    try await prompt(call("CreateCollection", at: .service, .properties(Self.label), .text(""))) {
      // The passphrase was right, and the daemon opens its store again as soon as the group is complete.
      while !FileManager.default.fileExists(atPath: made) { try await Task.sleep(for: .milliseconds(1)) }
      daemon.seal.seal()
    }
    #expect(daemon.seal.isSealed && daemon.seal.isShut)
  }

  @Test func `a program that a rule denies does not learn which items a collection has`() async throws {
    let item = try await item("mail", ["user": "jo"])
    _ = try await search()
    func document() async throws -> [BusValue] {
      try await call("Introspect", at: .collection("desktop"), of: .introspection)
    }
    guard case .text(let shown)? = try await document().first, case .item(_, let id) = item else {
      throw BusFailure.noObject
    }
    #expect(shown.contains(id))
    try rule("exe" + Self.program, "deny")
    await #expect(throws: BusFailure.denied) { try await document() }
    daemon.seal.seal()
    await #expect(throws: BusFailure.denied) { try await document() }
  }

  @Test(.timeLimit(.minutes(5)))
  func `another collection becomes the default if the default is removed, and a new one for which a program asks`()
    async throws
  {
    try await agree()
    _ = try daemon.owner().addPassphrase(Secret("a long passphrase"))
    let usual = { try await call("ReadAlias", at: .service, .text("default")) }
    let desktop = BusObject.collection("desktop")
    try await prompt(call("Delete", at: desktop))
    #expect(try await usual() == [.path(BusObject.collection("team").path)])
    try await prompt(call("Delete", at: .collection("team")))
    #expect(try await usual() == [.path("/")])
    // Names of groups that begin with 'vault' are the store's own.
    try await prompt(call("CreateCollection", at: .service, .properties(Self.label), .text("default")))
    #expect(try daemon.owner().groupNames().contains("collection-vault-of-jo"))
    let made = [BusValue.path(BusObject.collection("Vault_20of_20Jo").path)]
    #expect(try await usual() == made)
    #expect(
      try await call("CreateCollection", at: .service, .properties(Self.label), .text("default")) == made
        + [.path("/")])
    await #expect(throws: BusFailure.self) { try await call("SetAlias", at: .service, .text("default"), .path("/")) }
    // The groups that the command line names are not there any more.
    let next = SecretServiceAnswerTests(after: self)
    await next.service.addMadeCollections()
    #expect(try await next.call("ReadAlias", at: .service, .text("default")) == made)
    // The first of them comes first as soon as it is there.
    let owner = try daemon.owner()
    try owner.createGroup("desktop")
    try owner.grant(.write, in: "desktop", to: Applications.service)
    try daemon.seal.reopen()
    await next.service.addMadeCollections()
    #expect(try await next.call("ReadAlias", at: .service, .text("default")) == [.path(desktop.path)])
  }

  @Test func `a label that a program gives a collection outlives the daemon, and the bus has no item for it`()
    async throws
  {
    let team = BusObject.collection("team")
    let label = [BusValue.text(BusInterface.collection.name), .text("Label")]
    #expect(try await call("Get", at: team, of: .properties, label[0], label[1]) == [.variant(.text("team"))])
    try rule("label/team", "The owner's")
    #expect(try await call("Get", at: team, of: .properties, label[0], label[1]) == [.variant(.text("The owner's"))])
    _ = try await call("Set", at: team, of: .properties, label[0], label[1], .variant(.text("A\u{1B}program's")))
    let next = SecretServiceAnswerTests(after: self)
    #expect(
      try await next.call("Get", at: team, of: .properties, label[0], label[1]) == [.variant(.text("A program's"))])
    let items = BusValue.text("Items")
    #expect(try await next.call("Get", at: team, of: .properties, label[0], items) == [.variant(.paths([]))])
    #expect(try daemon.records().contains { $0.action == .write && $0.group == "team" })
  }

  @Test func `the collection in memory has the limits of the store, and labels and attributes count, too`() throws {
    let store = try #require(daemon.seal.current).store
    let memory = BusCollection(group: nil)
    func make(_ attributes: [String: String] = [:], label: String = "", _ byteCount: Int = 1) throws -> String {
      let secret = BusCollection.Content.Value(bytes: .init(repeating: 1, count: byteCount), contentType: "text/plain")
      let content = BusCollection.Content(label: label, attributes: attributes, secret: secret)
      return try memory.make(.create(content, replaces: false, as: nil), in: store).id
    }
    func numbers(_ count: Int) -> [String: String] { .init(uniqueKeysWithValues: (0..<count).map { ("\($0)", "") }) }
    let long = String(repeating: "x", count: 65_000)
    _ = try memory.make(.remove(make(numbers(64), label: "most", 1 << 20)), in: store)
    #expect(throws: BusFailure.overLimit) { try make(numbers(65)) }
    #expect(throws: BusFailure.overLimit) { try make([:], 1 << 20 + 1) }
    #expect(throws: BusFailure.overLimit) { try make(["a": long, "b": long]) }
    #expect(throws: BusFailure.overLimit) { try make(label: long + long) }
    var ids: [String] = []
    #expect(throws: BusFailure.overLimit) { while ids.count < 300 { ids.append(try make(["a": long])) } }
    #expect(ids.count == 16 << 20 / (65_000 + "a=\(long)".prefix(100).utf8.count))
    // What is removed or replaced makes room.
    for id in ids {
      _ = try memory.make(.change(id, .init(attributes: ["b": long])), in: store)
      _ = try memory.make(.remove(id), in: store)
    }
    for _ in ids { _ = try make(["a": long]) }
  }

  // MARK: Forged answers

  private static let executable = Bundle.main.executableURL?.deletingLastPathComponent().appending(path: "vaultd")

  private func vaultd(on bus: ForgingBus, _ arguments: String...) throws -> Program {
    try Program(
      try #require(Self.executable).path, arguments,
      environment: [
        "DBUS_SESSION_BUS_ADDRESS": bus.address, "HOME": daemon.folder, "VAULT_HOME": daemon.folder + "/home",
        "VAULT_STATE": daemon.folder + "/state",
      ], isQuiet: true)
  }

  @Test(.timeLimit(.minutes(5))) func `only the bus itself says which process asks and whose the name is`() async throws
  {
    let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    try rule("exe" + own, "deny")
    let search = ForgingBus.call(
      "SearchItems", of: BusInterface.service.name, at: BusObject.root,
      .init(signature: "a{ss}", body: [UInt8](repeating: 0, count: 8)))
    let (number, user) = (UInt32(getpid()), getuid())
    let bus = try #require(
      ForgingBus(call: search) { message in
        switch message.texts[3] {
        case "RequestName": (.number(2), .number(1))
        // Another process, which no rule denies.
        case "GetConnectionUnixProcessID": (.number(1), .number(number))
        case "GetConnectionUnixUser": (.number(user), .number(user))
        default: (.nothing, .nothing)
        }
      })
    defer { bus.end() }
    let process = try vaultd(
      on: bus, "--socket", daemon.folder + "/socket", "--credential", daemon.folder + "/credential",
      "--secret-service", "desktop")
    while bus.answerOfClient == nil, !bus.hasEnded { try await Task.sleep(for: .milliseconds(20)) }
    kill(process.number, SIGTERM)
    await onThread { process.wait() }
    #expect(bus.answerOfClient?.texts[4] == BusFailure.denied.name)
  }

  @Test(.timeLimit(.minutes(5))) func `a client may send a call for each of two thousand items at once`() async throws {
    let count: UInt32 = 2_000
    let calls = (0..<count).flatMap { number in
      ForgingBus.call(
        "SearchItems", of: BusInterface.service.name, at: BusObject.root,
        .init(signature: "a{ss}", body: [UInt8](repeating: 0, count: 8)), serial: ForgingBus.callSerial + number)
    }
    let bus = try #require(
      ForgingBus(call: calls) { message in
        switch message.texts[3] {
        case "RequestName": (.number(2), .number(1))
        case "GetConnectionUnixProcessID": (.number(1), .number(UInt32(getpid())))
        case "GetConnectionUnixUser": (.number(1), .number(getuid()))
        default: (.nothing, .nothing)
        }
      })
    defer { bus.end() }
    let process = try vaultd(
      on: bus, "--socket", daemon.folder + "/socket", "--credential", daemon.folder + "/credential",
      "--secret-service", "desktop")
    while bus.answers.count < count, !bus.hasEnded { try await Task.sleep(for: .milliseconds(20)) }
    kill(process.number, SIGTERM)
    await onThread { process.wait() }
    #expect(bus.answers.count == count && bus.answers.allSatisfy { $0.kind == 2 })
  }

  @Test(.timeLimit(.minutes(5))) func `a question ends with the bus on which a program asked for it`() async throws {
    try rule("default", "ask")
    let file = daemon.folder + "/number"
    try await RunningDaemon.writeProgram("#!/bin/sh\necho $$ >'\(file)'\nexec sleep 600\n", to: pinentry)
    let desktop = ForgingBus.string(BusObject.collection("desktop").path)
    let unlock = ForgingBus.call(
      "Unlock", of: BusInterface.service.name, at: BusObject.root,
      .init(signature: "ao", body: ForgingBus.bytes(UInt32(desktop.count)) + desktop))
    let begin = ForgingBus.call(
      "Prompt", of: BusInterface.prompt.name, at: BusObject.prompt("p1").path, .text(""),
      serial: ForgingBus.callSerial + 1)
    let bus = try #require(
      ForgingBus(call: unlock + begin) { message in
        switch message.texts[3] {
        case "RequestName": (.number(2), .number(1))
        case "GetConnectionUnixProcessID": (.number(1), .number(UInt32(getpid())))
        case "GetConnectionUnixUser": (.number(1), .number(getuid()))
        default: (.nothing, .nothing)
        }
      })
    defer { bus.end() }
    let process = try vaultd(
      on: bus, "--socket", daemon.folder + "/socket", "--credential", daemon.folder + "/credential",
      "--secret-service", "desktop", "--pinentry", pinentry)
    var number: pid_t?
    while number == nil, !bus.hasEnded {
      try await Task.sleep(for: .milliseconds(20))
      let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
      number = text.last == "\n" ? pid_t(text.dropLast()) : nil
    }
    bus.leave()
    let asker = try #require(number)
    while kill(asker, 0) == 0 { try await Task.sleep(for: .milliseconds(20)) }
    kill(process.number, SIGTERM)
    await onThread { process.wait() }
  }

  @Test(.timeLimit(.minutes(5))) func `an import takes answers only from the program that has the name`() async throws {
    let none = [UInt8](repeating: 0, count: 4)
    let path = ForgingBus.string("/org/freedesktop/secrets/session/1")
    // Variants: the signature of what they hold, and then that; an array of no paths.
    let nothing = ForgingBus.Answer(signature: "v", body: [2] + Array("ao\0".utf8) + none)
    let opened = ForgingBus.Answer(signature: "vo", body: [1] + Array("s\0".utf8) + [0] + none + [0, 0, 0, 0] + path)
    let bus = try #require(
      ForgingBus { message in
        switch message.texts[3] {
        case "StartServiceByName": (.number(2), .number(2))
        case "GetNameOwner": (.text(":1.66"), .text(":1.7"))
        case "OpenSession": (.nothing, opened)
        case "Get": (.number(0), nothing)
        case "Unlock": (.nothing, .init(signature: "aoo", body: none + ForgingBus.string("/")))
        default: (.nothing, .nothing)
        }
      })
    defer { bus.end() }
    let process = try vaultd(on: bus, "--read-secret-service")
    let text = await onThread { () -> String in
      let text = process.readOutput()
      process.wait()
      return text
    }
    #expect(text == #"{"items":[]}"#)
  }

  @Test(.timeLimit(.minutes(5))) func `nothing is imported from vaultd itself`() async throws {
    let asking = Mutex<pid_t>(0)
    let bus = try #require(
      ForgingBus { message in
        switch message.texts[3] {
        case "StartServiceByName": return (.number(2), .number(2))
        case "GetNameOwner": return (.text(":1.66"), .text(":1.7"))
        case "GetConnectionUnixProcessID":
          // The process that asks is one of vaultd, too.
          while asking.withLock({ $0 }) == 0 { usleep(1_000) }
          return (.number(1), .number(UInt32(asking.withLock { $0 })))
        default: return (.nothing, .nothing)
        }
      })
    defer { bus.end() }
    let process = try Program(
      "/bin/sh", ["-c", "exec \"$0\" --read-secret-service 2>&1", try #require(Self.executable).path],
      environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address, "HOME": daemon.folder], isQuiet: true)
    asking.withLock { $0 = process.number }
    let text = await onThread { () -> String in
      let text = process.readOutput()
      process.wait()
      return text
    }
    #expect(text.hasPrefix("vaultd: error: vaultd itself answers the Secret Service"))
  }

  @Test func `without a session bus the error says so, and what to do`() throws {
    let process = try Program(
      "/bin/sh", ["-c", "exec \"$0\" --read-secret-service 2>&1 | cat", try #require(Self.executable).path],
      environment: ["HOME": daemon.folder, "XDG_RUNTIME_DIR": daemon.folder], isQuiet: true)
    #expect(process.readOutput().hasPrefix("vaultd: error: there is no session bus; run this in the desktop's session"))
    process.wait()
  }
}
