import GroupFile
import Testing

@testable import Vault

/// A writer with their own program signs a row that cannot be an item.
@Suite struct StrangeRowTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("set", "a", input: "1")
    store.run("set", "b", input: "2")
    let location = try StoreLocation(home: store.folder.file("store"), state: store.folder.file("state"))
    let group = try SecretStore.open(at: location, unlocking: .keyFile(store.keyFile)).group("default")
    let transaction = try group.file.beginWriting()
    let secret = try unsafe [UInt8]().withUnsafeBytes { try unsafe OpenedSecret(copying: $0) }
    try transaction.put(Attributes(name: "two\nlines", created: 1, changed: 1, valueKind: 2), secret)
    try transaction.commit()
  }

  @Test func `a list continues after a row that cannot be an item, and ends with 13`() throws {
    let list = store.run("list")
    #expect(list.status == 13 && list.output.split(separator: "\n").map { $0.prefix(1) } == ["a", "b"])
    #expect(list.errors.contains("was skipped: a name that no item can have\n"))
    let error = try readJSON(store.run("list", "--json").errors)
    #expect(error["status"] as? Int == 13 && error["level"] as? String == "row")
    for command in [["export", "--to", "json", "-g", "default", "--yes-print-secrets"], ["env", "-g", "default"]] {
      #expect(Transcript(command, environment: store.environment).status == 13, "\(command)")
    }
    #expect(store.run("get", "a").output == "1")
  }

  @Test func `the token of such a row is shown and removes it`() throws {
    let hint = try #require(readJSON(store.run("list", "--json").errors)["hint"] as? String)
    let words = hint.split(separator: " ").map(String.init)
    let token = try #require(words.firstIndex(of: "--row").map { words[$0 + 1] })
    #expect(store.run("remove", "--row", token, "a").status == 64)
    #expect(store.run("remove").status == 64)
    let removed = store.run("remove", "--row", token, "-g", "default")
    #expect(
      removed.status == 0
        && removed.errors == "the row and its history are removed; an item with its name starts at version 1 again\n")
    #expect(store.run("list").status == 0 && store.run("verify").status == 0)
    #expect(store.run("remove", "--row", token).status == 10)
  }
}
