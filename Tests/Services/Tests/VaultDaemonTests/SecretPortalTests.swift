import Foundation
import Testing
import VaultFoundation

@testable import Vault
@testable import VaultDaemon

/// What the portal for secrets answers; with xdg-desktop-portal, `Tests/Services/secret-service` asks it as a sandboxed
/// program does.
struct SecretPortalTests {
  private let daemon: RunningDaemon
  private let service: SecretService
  private let pinentry: String
  private static let handle = BusObject.portal.path + "/request/1_1/t"

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
      asking: Asking(pinentry: pinentry), logger: RunningDaemon.logger, send: { _ in })
  }

  /// A call of xdg-desktop-portal, or of a program that only says so.
  private func answer(
    for application: String, _ file: CInt, number: UInt64 = 1, isFromPortal: Bool = true
  ) async throws -> BusValue? {
    let method = BusInterface.portal.methods[0]
    let arguments: [BusValue] = [
      .path(Self.handle), .text(application),
      .file(try BusFile(copying: file)), .properties([:]),
    ]
    let call = BusCall(
      number: number, sender: ":1.9", path: BusObject.portal.path, interface: BusInterface.portal.name,
      member: method.name, signature: method.signature, arguments: arguments,
      program: BusProgram(executable: "/usr/libexec/xdg-desktop-portal"), isFromPortal: isFromPortal)
    return try await service.answer(call).get().first
  }

  /// What an application reads from the pipe that it passed.
  private func key(of application: String, number: UInt64 = 1, isFromPortal: Bool = true) async throws -> [UInt8] {
    let pipe = Pipe()
    let answer = try await answer(
      for: application, pipe.fileHandleForWriting.fileDescriptor, number: number, isFromPortal: isFromPortal)
    try pipe.fileHandleForWriting.close()
    let bytes = [UInt8](try pipe.fileHandleForReading.readToEnd() ?? Data())
    #expect(answer == .word(bytes.isEmpty ? 1 : 0))
    return bytes
  }

  private func rule(_ name: String, _ value: String) throws {
    try daemon.set("settings/secret-service/" + name, in: "vault.service", to: value)
  }

  private func answerQuestions(with answer: String) async throws {
    try await RunningDaemon.writePinentry(saying: answer, to: pinentry)
  }

  private var questions: [Substring] {
    ((try? String(contentsOfFile: pinentry + ".asked", encoding: .utf8)) ?? "").split(separator: "\n")
  }

  @Test func `an application's key is made once, and each application has another one`() async throws {
    let mail = try await key(of: "org.example.Mail")
    #expect(mail.count == 64 && Set(mail).count > 32)
    #expect(try await key(of: "org.example.Mail") == mail)
    #expect(try await key(of: "org.example.Web") != mail)
    let group = try daemon.owner().group("desktop")
    let items = try await group.items().filter { $0.attributes["app_id"] == "org.example.Mail" }
    #expect(items.map(\.label) == ["Application key of org.example.Mail"])
    let secret = try await group.get(items[0].name.description)
    #expect(unsafe secret.withUnsafeBytes { unsafe Array($0) } == mail)
  }

  @Test func `a key that was imported from gnome-keyring is the application's`() async throws {
    let group = try daemon.owner().group("desktop")
    try await group.set("old", to: "from gnome", Details(attributes: ["app_id": "org.example.Mail"]))
    #expect(try await key(of: "org.example.Mail") == Array("from gnome".utf8))
  }

  @Test func `an application keeps its key whichever collection is the default`() async throws {
    let mail = try await key(of: "org.example.Mail", number: 1)
    await service.setDefault(try service.collection("team"))
    #expect(try await key(of: "org.example.Mail", number: 2) == mail)
    // A newer item, which any program may make, does not take the place of the key.
    for group in ["desktop", "team"] {
      try await daemon.owner().group(group).set(
        "forged", to: "another key", Details(attributes: ["app_id": "org.example.Mail"]))
    }
    #expect(try await key(of: "org.example.Mail", number: 3) == mail)
    // A new key is made where the next daemon looks first, too.
    _ = try await key(of: "org.example.Web", number: 4)
    #expect(try daemon.items(of: "desktop").contains { $0.attributes["app_id"] == "org.example.Web" })
    #expect(try daemon.items(of: "team").count == 1)
  }

  @Test func `no other key is made while a group that may have it cannot be read`() async throws {
    let mail = try await key(of: "org.example.Mail", number: 1)
    let file = daemon.folder + "/home/groups/desktop"
    let kept = file + "-kept"
    try FileManager.default.moveItem(atPath: file, toPath: kept)
    try FileManager.default.copyItem(atPath: kept, toPath: file)
    for name in try FileManager.default.contentsOfDirectory(atPath: file) {
      try Data("no group".utf8).write(to: URL(filePath: file + "/" + name))
    }
    await #expect(throws: BusFailure.self) { try await key(of: "org.example.Mail", number: 2) }
    try FileManager.default.removeItem(atPath: file)
    try FileManager.default.moveItem(atPath: kept, toPath: file)
    #expect(try await key(of: "org.example.Mail", number: 3) == mail)
    #expect(try daemon.items(of: "team").isEmpty)
  }

  @Test func `no other key is made while vaultd is not let into a group that may have it`() async throws {
    let mail = try await key(of: "org.example.Mail", number: 1)
    let owner = try daemon.owner()
    try owner.revoke(Applications.service, from: "desktop")
    await #expect(throws: (any Error).self) { try await key(of: "org.example.Mail", number: 2) }
    try owner.grant(.write, in: "desktop", to: Applications.service)
    #expect(try await key(of: "org.example.Mail", number: 3) == mail)
    #expect(try daemon.items(of: "team").isEmpty)
  }

  @Test func `calls at once get the same key`() async throws {
    let keys = try await withThrowingTaskGroup(of: [UInt8].self) { tasks in
      for number in 1...4 { tasks.addTask { try await key(of: "org.example.Mail", number: UInt64(number)) } }
      return try await tasks.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(keys).count == 1 && keys[0].count == 64)
  }

  @Test func `a program that is not the portal gets no key, whatever id it sends`() async throws {
    _ = try await key(of: "org.example.Mail")
    await #expect(throws: BusFailure.denied) { try await key(of: "org.example.Mail", isFromPortal: false) }
    for id in ["", "a b", "a\n", "../a", String(repeating: "a", count: 256)] {
      await #expect(throws: BusFailure.self, "\(id)") { try await key(of: id) }
    }
    #expect(try daemon.records().contains { $0.outcome == .denied && $0.action == .login })
  }

  @Test func `the rule for an application counts for its key, and a yes for this application alone`() async throws {
    try rule("flatpak/org.example.Web", "deny")
    try rule("default", "ask")
    await #expect(throws: BusFailure.denied) { try await key(of: "org.example.Web", number: 1) }
    try await answerQuestions(with: "OK")
    let mail = try await key(of: "org.example.Mail", number: 2)
    #expect(mail.count == 64 && questions.count == 1 && questions.first?.contains("org.example.Mail") == true)
    #expect(try await key(of: "org.example.Mail", number: 3) == mail)
    #expect(questions.count == 1)
    try await answerQuestions(with: "ERR 83886179 cancelled")
    #expect(try await key(of: "org.example.Chat", number: 4).isEmpty)
    #expect(questions.count == 2)
  }

  @Test(.timeLimit(.minutes(5))) func `a pipe that nobody reads holds nothing up, and a file gets nothing`()
    async throws
  {
    let pipe = Pipe()
    let end = pipe.fileHandleForWriting.fileDescriptor
    #expect(fcntl(end, F_SETFL, O_NONBLOCK) == 0)
    while write(end, [0], 1) == 1 {}
    #expect(fcntl(end, F_SETFL, 0) == 0)
    await #expect(throws: BusFailure.self) { try await answer(for: "org.example.Mail", end) }
    let path = daemon.folder + "/file"
    let file = open(path, O_RDWR | O_CREAT, 0o600)
    defer { close(file) }
    await #expect(throws: BusFailure.self) { try await answer(for: "org.example.Mail", file) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
  }

  @Test(.timeLimit(.minutes(5)))
  func `at most four calls for an application wait, and the portal ends their questions`() async throws {
    try rule("default", "ask")
    try await answerQuestions(with: ">/dev/null; until [ -e $0.agreed ]; do sleep 0.02; done; echo OK")
    let pipe = Pipe()
    let end = pipe.fileHandleForWriting.fileDescriptor
    let calls = (1...4).map { number in
      Task { try await answer(for: "org.example.Mail", end, number: UInt64(number)) }
    }
    while await service.retrievals.count < 4 { try await Task.sleep(for: .milliseconds(20)) }
    await #expect(throws: BusFailure.overLimit) { try await answer(for: "org.example.Mail", end, number: 5) }
    func close(isFromPortal: Bool) async throws {
      let call = BusCall(
        number: 6, sender: ":1.9", path: Self.handle, interface: nil, member: "Close", signature: "", arguments: [],
        program: BusProgram(executable: "/usr/libexec/xdg-desktop-portal"), isFromPortal: isFromPortal)
      _ = try await service.answer(call).get()
    }
    await #expect(throws: BusFailure.unknownObject) { try await close(isFromPortal: false) }
    #expect(await service.retrievals.count == 4)
    try await close(isFromPortal: true)
    for call in calls { #expect(try await call.value == .word(1)) }
    #expect(await service.retrievals.isEmpty)
  }
}
