import Configuration
import ConfigurationTesting
import Foundation
import Synchronization
import Testing
import VaultFoundation
import VaultServices

/// An access group as a provider of swift-configuration.
@Suite(.timeLimit(.minutes(5))) struct AccessGroupProviderTests {
  private let store: ServiceStore
  private let group: AccessGroup

  init() throws {
    store = try ServiceStore()
    group = try store.group()
  }

  @Test func `the provider passes swift-configuration's compatibility tests`() async throws {
    try await group.inThread { group in
      try group.transaction { edit in
        edit.set("string", to: "Hello")
        edit.set("other/string", to: "Other Hello")
        edit.set("int", to: 42)
        edit.set("other/int", to: 24)
        edit.set("double", to: 3.14)
        edit.set("other/double", to: 2.72)
        edit.set("bool", to: true)
        edit.set("other/bool", to: false)
        edit.set("bytes", to: [UInt8]("magic".utf8))
        edit.set("other/bytes", to: [UInt8]("magic2".utf8))
        for (name, text) in [
          ("stringy/array", #"["Hello", "World"]"#), ("other/stringy/array", #"["Hello", "Swift"]"#),
          ("inty/array", "[42, 24]"), ("other/inty/array", "[16, 32]"),
          ("doubly/array", "[3.14, 2.72]"), ("other/doubly/array", "[0.9, 1.8]"),
          ("booly/array", "[true, false]"), ("other/booly/array", "[false, true, true]"),
          ("byteChunky/array", #"["bWFnaWM=", "bWFnaWMy"]"#),
          ("other/byteChunky/array", #"["bWFnaWM=", "bWFnaWMy", "bWFnaWM="]"#),
        ] { edit.set(name, to: text) }
      }
    }
    try await ProviderCompatTest(provider: AccessGroupProvider(group)).runTest()
  }

  @Test func `every value is a secret, which no description shows`() async throws {
    try await group.set("database/password", to: "hunter2")
    let provider = try await AccessGroupProvider(group)
    let key = AbsoluteConfigKey(["database", "password"])
    let found = try provider.value(forKey: key, type: .string)
    #expect(found.encodedKey == "database/password" && found.value?.isSecret == true)
    #expect(try await provider.fetchValue(forKey: key, type: .string) == found)
    #expect(!"\(found)".contains("hunter2") && !"\(provider.snapshot())".contains("hunter2"))
  }

  @Test func `text is read as the requested type`() async throws {
    for (name, text) in [("port", "5432"), ("ratio", "0.5"), ("isOn", "true"), ("hosts", #"["a", "b"]"#)] {
      try await group.set(name, to: text)
    }
    let config = ConfigReader(provider: try await AccessGroupProvider(group))
    #expect(config.int(forKey: "port") == 5432 && config.string(forKey: "port") == "5432")
    #expect(config.double(forKey: "ratio") == 0.5 && config.double(forKey: "port") == 5432)
    #expect(config.bool(forKey: "isOn") == true)
    #expect(config.stringArray(forKey: "hosts") == ["a", "b"])
    #expect(config.bytes(forKey: "port") == [UInt8]("5432".utf8))
  }

  @Test func `the components of a key keep their spelling`() async throws {
    try await group.set("http/requestTimeout", to: 30)
    try await group.set("http/request-timeout", to: 60)
    let config = ConfigReader(provider: try await AccessGroupProvider(group))
    #expect(config.int(forKey: "http.requestTimeout") == 30 && config.int(forKey: "http.request-timeout") == 60)
    #expect(config.int(forKey: "http.REQUEST_TIMEOUT") == nil)
  }

  @Test(arguments: [["a/b"], ["a", ""], [""], [], ["line\nbreak"], [String(repeating: "a", count: 1_025)]])
  func `a key that no item can have has no value`(components: [String]) async throws {
    try await group.set("a/b", to: "1")
    let provider = try await AccessGroupProvider(group)
    let key = AbsoluteConfigKey(components)
    #expect(try provider.value(forKey: key, type: .string).value == nil)
    #expect(try await provider.fetchValue(forKey: key, type: .string).value == nil)
    #expect(try provider.value(forKey: AbsoluteConfigKey(["a", "b"]), type: .string).value != nil)
  }

  @Test(arguments: [ConfigType.int, .double, .bool, .stringArray, .byteChunkArray])
  func `an item of another type is an error that names both types and no value`(type: ConfigType) async throws {
    try await group.set("a", to: "hunter2")
    let provider = try await AccessGroupProvider(group)
    let key = AbsoluteConfigKey(["a"])
    let mismatch = VaultError.otherType(found: "string", expected: type.rawValue)
    #expect(throws: mismatch) { try provider.value(forKey: key, type: type) }
    await #expect(throws: mismatch) { try await provider.fetchValue(forKey: key, type: type) }
    try await group.set("archive", to: ["a": 1], named: "a")
    await #expect(throws: VaultError.otherType(found: "archive", expected: "bytes")) {
      try await store.snapshotValue("archive", .bytes)
    }
  }

  @Test func `a value set by another process is fetched at once, and watchers and snapshot follow`() async throws {
    try await group.set("a", to: "1")
    let provider = try await AccessGroupProvider(group)
    let key = AbsoluteConfigKey(["a"])
    let other = try store.group()
    try await provider.watchValue(forKey: key, type: .string) { updates in
      var texts: [String] = []
      for await update in updates {
        texts.append(try update.get().value?.content.text ?? "none")
        if texts.count == 1 {
          try await other.set("a", to: "2")
          #expect(try await provider.fetchValue(forKey: key, type: .string).value?.content == .string("2"))
        } else if texts.count == 2 {
          #expect(try provider.value(forKey: key, type: .string).value?.content == .string("2"))
          try await other.remove("a")
        } else {
          break
        }
      }
      #expect(texts == ["1", "2", "none"])
    }
  }

  @Test(.timeLimit(.minutes(5)))
  func `watchers receive the value of an item that was made anew with its former version`() async throws {
    let open = try store.open()
    let (reads, continuation) = AsyncStream<Void>.makeStream()
    let isHeld = Mutex(false)
    let resume = DispatchSemaphore(value: 0)
    open.observe { _ in
      guard
        isHeld.withLock({ isHeld in
          defer { isHeld = false }
          return isHeld
        })
      else { return }
      continuation.yield()
      resume.wait()
    }
    try await group.set("a", to: "old")
    let provider = try await AccessGroupProvider(open.group("default"))
    isHeld.withLock { $0 = true }
    // The provider reads the group for this change. Its next look finds both that follow at once.
    try await group.set("b", to: "1")
    for await _ in reads { break }
    try await group.remove("a")
    try await store.open().inThread { store in try store.compactGroup("default") }
    #expect(try await group.set("a", to: "new") == 1)
    resume.signal()
    try await provider.watchValue(forKey: AbsoluteConfigKey(["a"]), type: .string) { updates in
      for await update in updates where try update.get().value?.content == .string("new") { return }
      Issue.record("the watch ended")
    }
  }

  @Test func `a snapshot shows a transaction whole, and does not change afterwards`() async throws {
    try await group.set("user", to: "old")
    try await group.set("password", to: "old")
    let provider = try await AccessGroupProvider(group)
    let first = provider.snapshot()
    let other = try store.group()
    try await provider.watchSnapshot { updates in
      for await snapshot in updates {
        let user = try snapshot.value(forKey: AbsoluteConfigKey(["user"]), type: .string).value?.content.text
        let password = try snapshot.value(forKey: AbsoluteConfigKey(["password"]), type: .string).value?.content.text
        #expect(user == password)
        if user == "new" { break }
        try await other.transaction { edit in
          edit.set("user", to: "new")
          edit.set("password", to: "new")
        }
      }
    }
    #expect(try first.value(forKey: AbsoluteConfigKey(["user"]), type: .string).value?.content.text == "old")
  }

  @Test func `a group that is removed leaves the last values, and watchers receive the error`() async throws {
    let open = try store.open()
    let team = try await open.inThread { store in try store.createGroup("team") }
    try await team.set("a", to: "1")
    let provider = try await AccessGroupProvider(team)
    let key = AbsoluteConfigKey(["a"])
    try await provider.watchValue(forKey: key, type: .string) { updates in
      var isRemoved = false
      for await update in updates {
        if case .failure(let error) = update {
          #expect(error as? VaultError == .notFound(.group))
          break
        }
        guard !isRemoved else { continue }
        isRemoved = true
        try await open.inThread { store in try store.removeGroup("team") }
      }
    }
    #expect(try provider.value(forKey: key, type: .string).value?.content == .string("1"))
    await #expect(throws: VaultError.notFound(.group)) { try await provider.fetchValue(forKey: key, type: .string) }
  }
}

extension ConfigContent {
  fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
}

extension ServiceStore {
  /// What a new provider answers.
  fileprivate func snapshotValue(_ name: String, _ type: ConfigType) async throws -> LookupResult {
    try await AccessGroupProvider(group()).value(forKey: AbsoluteConfigKey([name]), type: type)
  }
}
