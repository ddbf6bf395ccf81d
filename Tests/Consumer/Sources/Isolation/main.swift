import Foundation
import VaultFoundation

// Every call returns to the actor that made it, with a result or with an error. Only a release build shows that: the
// optimizer has left returns out.
struct Login: Codable, Sendable { let user: String }

actor Caller {
  func callAll(_ store: SecretStore) async throws {
    let group = try store.group("default")
    let changes = try await group.changes()
    preconditionIsolated("changes")
    try await group.set("a", to: "text")
    preconditionIsolated("set")
    try await group.set("login", to: Login(user: "jo"))
    preconditionIsolated("set of a struct")
    _ = try await group.get("a")
    preconditionIsolated("get")
    _ = try await group.get("a", as: String.self)
    preconditionIsolated("get of text")
    _ = try await group.get("login", as: Login.self)
    preconditionIsolated("get of a struct")
    _ = try await group.open("a")
    preconditionIsolated("open")
    _ = try await group.item("a")
    preconditionIsolated("item")
    _ = try await group.history("a")
    preconditionIsolated("history")
    _ = try await group.items()
    preconditionIsolated("items")
    try await group.change("a", Details(label: .to("label")))
    preconditionIsolated("change")
    try await group.transaction { $0.set("b", to: "text") }
    preconditionIsolated("transaction")
    _ = try await group.transaction { edit in
      edit.set("b", to: "text")
      return 1
    }
    preconditionIsolated("transaction with a result")
    try await group.inThread { (group) throws(VaultError) in try group.set("c", to: "text") }
    preconditionIsolated("inThread")
    _ = try await store.inThread { (store) throws(VaultError) in try store.groupNames() }
    preconditionIsolated("inThread of the store")
    try await group.remove("a")
    preconditionIsolated("remove")
    try await group.restore("a")
    preconditionIsolated("restore")
    try await group.destroy("a")
    preconditionIsolated("destroy")
    var count = 0
    for try await _ in changes {
      preconditionIsolated("an element of changes")
      count += 1
      if count == 3 { break }
    }
  }

  func failAll(_ store: SecretStore) async throws {
    let group = try store.group("default")
    struct Refused: Error {}
    var errors = 0
    do { try await group.set("", to: "text") } catch {
      preconditionIsolated("set")
      errors += 1
    }
    do { _ = try await group.get("missing") } catch {
      preconditionIsolated("get")
      errors += 1
    }
    do { _ = try await group.get("missing", as: String.self) } catch {
      preconditionIsolated("get of text")
      errors += 1
    }
    do { _ = try await group.history("missing") } catch {
      preconditionIsolated("history")
      errors += 1
    }
    do { try await group.remove("missing") } catch {
      preconditionIsolated("remove")
      errors += 1
    }
    do { try await group.destroy("missing") } catch {
      preconditionIsolated("destroy")
      errors += 1
    }
    do { try await group.restore("missing") } catch {
      preconditionIsolated("restore")
      errors += 1
    }
    do { try await group.transaction { _ in throw Refused() } } catch {
      preconditionIsolated("transaction")
      errors += 1
    }
    do { _ = try await group.inThread { (group) throws(VaultError) in try group.get("missing") } } catch {
      preconditionIsolated("inThread")
      errors += 1
    }
    do { _ = try await SecretStore.open(at: StoreLocation(home: "/nonexistent", state: "/nonexistent2")) } catch {
      preconditionIsolated("open")
      errors += 1
    }
    precondition(errors == 10)
  }
}

@MainActor func callOnMain(_ store: SecretStore) async throws {
  let group = try store.group("default")
  for _ in 0..<100 {
    try await group.set("main", to: "text")
    MainActor.preconditionIsolated("set")
    do { _ = try await group.get("missing") } catch { MainActor.preconditionIsolated("get") }
  }
}

// The store that the environment names.
let store = try await SecretStore.open()
try await Caller().callAll(store)
try await Caller().failAll(store)
try await callOnMain(store)
print("every call returns to its caller's actor")
