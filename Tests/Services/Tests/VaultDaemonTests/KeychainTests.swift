import Foundation
import KeychainItems
import Synchronization
import Testing
import VaultFoundation

@testable import VaultDaemon

/// Apple's keychain calls in a program without a credential, which `vaultd` answers.
struct KeychainTests {
  let daemon: RunningDaemon
  let store: SecretStore

  init() async throws {
    let daemon = try RunningDaemon()
    self.daemon = daemon
    // When all tests begin, a daemon's first answer may take longer than the library waits. curl waits without a limit.
    try await daemon.curl("/v1/sys/init")
    store = try await SecretStore.open(
      at: StoreLocation(environment: ["VAULT_HOME": daemon.folder + "/none", "VAULT_SOCKET": daemon.socket]))
  }

  private func item(_ account: String?, _ text: String? = nil, _ comment: String? = nil) -> KeychainItem {
    var item = KeychainItem(.genericPassword)
    (item.service, item.account, item.data, item.comment) = ("s", account, text.map { Data($0.utf8) }, comment)
    return item
  }

  private func changes(_ text: String? = nil, _ comment: String? = nil) -> KeychainItem {
    var changes = item(nil, text, comment)
    changes.service = nil
    return changes
  }

  /// The status of `call`, which waits for the daemon and so must not keep a thread that the daemon needs.
  private func status(_ call: @escaping @Sendable (Keychain) throws(KeychainStatus) -> Void) async -> KeychainStatus {
    let keychain = Keychain(store)
    return await onThread {
      do throws(KeychainStatus) { try call(keychain) } catch { return error }
      return .success
    }
  }

  private func names() throws -> [String] { try daemon.items(of: "web").map(\.name.description) }

  @Test func `the four functions add, find, change and remove an item`() async throws {
    Keychain(store).makeStandard()
    @Sendable func query(_ more: [String: Any] = [:]) -> CFDictionary {
      [kSecClass: kSecClassGenericPassword, kSecAttrService: "s", kSecAttrAccount: "a"].merging(more) { $1 }
    }
    let statuses = await onThread { () -> [OSStatus] in
      var result: CFTypeRef?
      let statuses = [
        SecItemAdd(query([kSecValueData: Data("old".utf8), kSecAttrLabel: "Token"]), nil),
        SecItemUpdate(query(), [kSecValueData: Data("new".utf8), kSecAttrComment: "refreshed"]),
        SecItemUpdate(query(), [kSecAttrDescription: "token"]),
        SecItemCopyMatching(query([kSecReturnData: true]), &result),
      ]
      return statuses + [result as? Data == Data("new".utf8) ? 0 : 1]
    }
    #expect(statuses == [0, 0, 0, 0, 0])
    let stored = try #require(try daemon.items(of: "web").first)
    #expect(stored.label == "Token" && stored.version == 3 && stored.kind == .string)
    #expect(stored.attributes["comment"] == "refreshed" && stored.attributes["description"] == "token")
    let ends = await onThread {
      [SecItemDelete(query()), SecItemDelete(query()), SecItemUpdate(query(), [kSecAttrComment: "c"])]
    }
    #expect(ends == [errSecSuccess, errSecItemNotFound, errSecItemNotFound])
    #expect(try names().isEmpty)
    // The search and the add have opened the secret; the changes have not.
    #expect(try daemon.records().count { $0.action == .read } == 2)
  }

  @Test func `all matches are changed and removed`() async throws {
    let owner = try daemon.owner().group("web")
    for account in ["a", "b", "c"] { try await owner.set("s/" + account, to: "old") }
    try await owner.set("t/a", to: "other")
    let (comment, data) = (changes(nil, "c"), changes("new"))
    let all = item(nil)
    #expect(await status { (keychain) throws(KeychainStatus) in try keychain.update(all, to: comment) } == .success)
    #expect(await status { (keychain) throws(KeychainStatus) in try keychain.update(all, to: data) } == .success)
    #expect(try await owner.items(prefix: "s/").map { $0.attributes["comment"] } == ["c", "c", "c"])
    for account in ["a", "b", "c"] { #expect(try daemon.text("s/" + account, in: "web") == "new") }
    #expect(await status { (keychain) throws(KeychainStatus) in try keychain.delete(all) } == .success)
    #expect(try names() == ["t/a"])
    #expect(await status { (keychain) throws(KeychainStatus) in try keychain.delete(all) } == .itemNotFound)
  }

  @Test func `what another program changes after an item was read is kept, or no longer matches`() async throws {
    let owner = try daemon.owner().group("web")
    try await owner.set("s/a", to: "old")
    let labels = Mutex(["other", "third"])
    store.observe { call in
      guard call.kind == .read, let label = labels.withLock({ $0.popLast() }) else { return }
      _ = try? owner.change("s/a", Details(label: .to(label)))
    }
    let (query, data) = (item("a"), changes("new", "c"))
    #expect(await status { (keychain) throws(KeychainStatus) in try keychain.update(query, to: data) } == .success)
    let stored = try await owner.item("s/a")
    #expect(stored.label == "other" && stored.version == 4 && stored.attributes["comment"] == "c")
    #expect(try daemon.text("s/a", in: "web") == "new")
    labels.withLock { $0 = ["fourth"] }
    var labelled = query
    labelled.label = "other"
    let wanted = labelled
    #expect(await status { (keychain) throws(KeychainStatus) in try keychain.delete(wanted) } == .itemNotFound)
    #expect(try await owner.item("s/a").label == "fourth")
    #expect(await status { (keychain) throws(KeychainStatus) in try keychain.delete(query) } == .success)
  }

  @Test func `an item that changes after every reading is given up, and one that is removed is not made again`()
    async throws
  {
    let owner = try daemon.owner().group("web")
    try await owner.set("s/a", to: "old")
    let removes = Atomic(false)
    store.observe { call in
      guard call.kind == .read else { return }
      if removes.load(ordering: .relaxed) { try? owner.remove("s/a") } else { _ = try? owner.set("s/a", to: "theirs") }
    }
    let (query, data) = (item("a"), changes("new"))
    #expect(await status { (keychain) throws(KeychainStatus) in try keychain.update(query, to: data) } == .notAvailable)
    #expect(try daemon.text("s/a", in: "web") == "theirs")
    removes.store(true, ordering: .relaxed)
    #expect(await status { (keychain) throws(KeychainStatus) in try keychain.update(query, to: data) } == .itemNotFound)
    #expect(try names().isEmpty)
  }

  @Test func `a change of a primary key is refused before anything is changed`() async throws {
    let owner = try daemon.owner().group("web")
    for account in ["a", "b"] { try await owner.set("s/" + account, to: "old") }
    // The first of the two would keep its name.
    var renaming = changes("new")
    renaming.account = "a"
    let (all, renamed) = (item(nil), renaming)
    #expect(
      await status { (keychain) throws(KeychainStatus) in try keychain.update(all, to: renamed) } == .unimplemented)
    #expect(try await owner.items().map(\.version) == [1, 1])
    let one = item("a")
    #expect(await status { (keychain) throws(KeychainStatus) in try keychain.update(one, to: renamed) } == .success)
    #expect(try daemon.text("s/a", in: "web") == "new")
  }

  @Test func `a deletion that fails after some items says why, and can be repeated`() async throws {
    let owner = try daemon.owner()
    for account in ["a", "b"] { try await owner.group("web").set("s/" + account, to: "old") }
    store.observe { call in if call.kind == .write { _ = try? owner.grant(.read, in: "web", to: "web") } }
    let all = item(nil)
    #expect(await status { (keychain) throws(KeychainStatus) in try keychain.delete(all) } == .readOnly)
    #expect(try names() == ["s/b"])
    try owner.grant(.write, in: "web", to: "web")
    #expect(await status { (keychain) throws(KeychainStatus) in try keychain.delete(all) } == .success)
    #expect(try names().isEmpty)
  }
}
