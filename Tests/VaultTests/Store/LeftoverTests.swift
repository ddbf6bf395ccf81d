import Foundation
import Glibc
import GroupFile
import Sealing
import TestSupport
import Testing

@testable import Vault

/// What making, replacing and removing groups leaves behind, in the store and in the process.
struct LeftoverTests {
  @Test func `a removed group leaves nothing, whatever was in its folder`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    try open.createGroup("team").set("a", to: "1")
    let group = store.location.home + "/groups/team"
    // A program that was killed while it made the group left these.
    for name in ["group.vault.1f.new", "group.vault.1f.new-wal"] {
      try Data([1]).write(to: URL(filePath: "\(group)/\(name)"))
    }
    try open.removeGroup("team")
    #expect(!FileManager.default.fileExists(atPath: group))
    #expect(!FileManager.default.fileExists(atPath: store.location.home + "/set-aside"))
  }

  @Test func `a group is made in place of what a killed process left`() throws {
    let store = try StoreFixture()
    let group = store.location.home + "/groups/team"
    try FileManager.default.createDirectory(
      atPath: group, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let left = ["group.vault.1f.new": 9, "group.vault.1f.new-wal": 9, "group.vault-wal": 0, "group.vault-shm": 9]
    for (name, bytes) in left {
      try Data(count: bytes).write(to: URL(filePath: "\(group)/\(name)"))
    }
    try store.open().createGroup("team").set("a", to: "1")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: group).sorted()
        == ["group.vault", "group.vault-shm", "group.vault-wal", "lock"])
    #expect(!FileManager.default.fileExists(atPath: store.location.home + "/set-aside"))
    #expect(try store.value("a", in: "team") == "1")
  }

  @Test func `a process that has used many groups keeps few files open`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    for number in 0..<80 {
      try open.createGroup("g\(number)").set("a", to: "1")
      if number % 2 == 0 { try open.removeGroup("g\(number)") }
    }
    let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }
    // Three for the witness of each of 32 groups, and three or four for each of 24 idle connections; but 320 without limits.
    #expect(files.count { $0.hasPrefix(store.folder) && !$0.contains("/lock") } < 200)
  }

  @Test func `threads that make drafts at once do not take each other's for those of killed processes`() throws {
    let store = try StoreFixture()
    let failures = Locked<[any Error]>([])
    onThreads(8) { _ in
      for _ in 0..<40 {
        do {
          let drafts = try DraftFolder.make(in: store.location.home)
          let path = try drafts.path(of: AccessGroup.Name("team"))
          guard unsafe mkdir(path, 0o700) == 0 else { throw VaultError.notFound(.group) }
        } catch {
          failures.withLock { $0.append(error) }
        }
      }
    }
    #expect(failures.withLock { $0 }.isEmpty, "\(failures.withLock { $0 })")
    #expect(!FileManager.default.fileExists(atPath: store.location.home + "/set-aside"))
  }

  @Test func `a restoration replaces a group that came into its place meanwhile only if it was told to`() throws {
    for replacing in [false, true] {
      let store = try StoreFixture()
      try store.open().createGroup("team").set("a", to: "old")
      let backup = store.folder + "/backup"
      try store.open().backUp(to: backup)
      try store.open().removeGroup("team")
      let open = try store.open()
      var isMade = false
      let restored = try open.restoreBackup(from: backup, groups: ["team"], replacing: replacing) { _, _ in
        guard !isMade else { return }
        isMade = true
        #expect(throws: Never.self) { try store.open().createGroup("team").set("a", to: "new") }
      }
      #expect(isMade)
      if replacing {
        guard case .restored(let group)? = restored.groups.first?.outcome else { throw VaultError.notFound(.group) }
        #expect(group.keptAside != nil)
      } else {
        guard case .failed(.otherState("team"))? = restored.groups.first?.outcome else {
          throw VaultError.notFound(.group)
        }
        #expect(try store.value("a", in: "team") == "new")
      }
    }
  }
}
