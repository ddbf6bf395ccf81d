import Foundation
import Sealing
import Testing

@testable import GroupFile

/// A group in its own folder, with everything a repair needs: its owner's authority and places for drafts.
struct RepairFixture {
  let group: GroupFixture
  let values: [String: String]

  /// Sixty items in two levels of the tree, one with a history, some with large values, one removed.
  init() throws {
    group = try GroupFixture()
    var values: [String: String] = [:]
    for number in 0..<60 { values["item/\(number)"] = "value of \(number)" }
    for number in 0..<3 { values["large/\(number)"] = String(repeating: "large \(number) ", count: 800 * (number + 1)) }
    try group.set(values)
    for value in ["second", "third"] {
      values["item/0"] = value
      try group.set(["item/0": value])
    }
    let removing = try group.open().beginWriting()
    try removing.put(Attributes(name: "item/1", created: 1, changed: 1, valueKind: 0), nil)
    try removing.commit()
    values["item/1"] = nil
    try group.checkpoint()
    self.values = values
  }

  struct Owner: RosterAuthority {
    let key: SigningKey
    let seeds: [String: MemberSeed]

    func rosterSigningKey() -> SigningKey { key }

    func seed(application: String, issue: UInt32) throws(SealingError) -> MemberSeed {
      guard let seed = seeds[application] else { throw .doesNotOpen }
      return seed
    }
  }

  /// Where the damaged files go.
  var aside: String { group.folder + ".aside" }

  func repair(
    keeping names: [String] = [], members: [String: MemberSeed] = [:], witness: (any Witnessing)? = nil,
    acceptingLoss: Bool = true
  ) throws -> GroupRepair? {
    try? FileManager.default.removeItem(atPath: aside)
    let group = group
    let owner = Owner(key: try SigningKey(seed: group.owner), seeds: members)
    let draft = group.folder + ".draft"
    defer { try? FileManager.default.removeItem(atPath: draft) }
    return try group.open(witness).repair(
      at: draft, keeping: aside, unproved: names, by: owner, isLossAccepted: { _ in acceptingLoss })
  }

  func end() {
    try? ConnectionPool.closeIdle(at: ContainerPlace(folder: group.folder))
    try? FileManager.default.removeItem(atPath: aside)
  }

  /// The value of an item in the repaired group, or `nil` if the item is missing.
  func value(_ name: String) throws -> String? {
    do {
      return try group.value(name)
    } catch VaultError.notFound(.item) {
      return nil
    }
  }

  /// Checks that everything verifies and each item has its former value or is missing. Returns the missing ones.
  func missing(sourceLocation: SourceLocation = #_sourceLocation) throws -> Set<String> {
    var missing: Set<String> = []
    do { _ = try group.open().verify() } catch { Issue.record("\(error)", sourceLocation: sourceLocation) }
    for (name, value) in values {
      guard let found = try self.value(name) else {
        missing.insert(name)
        continue
      }
      #expect(found == value, sourceLocation: sourceLocation)
    }
    return missing
  }

  /// The items whose current row or large value lies, whole or in part, on one page of `files`.
  func items(on page: Int, of files: GroupFiles) throws -> Set<String> {
    let keys = try group.forge().keys
    let names = Dictionary(uniqueKeysWithValues: (values.keys + ["item/1"]).map { (keys.token(of: $0), $0) })
    let path = group.folder + ".pages"
    func readable(_ bytes: [UInt8]) throws -> Set<String> {
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      defer { try? FileManager.default.removeItem(atPath: path) }
      let index = try SalvageIndex(of: path, StoredParts()) { _, _ in }
      var found: Set<String> = []
      for (token, name) in names {
        for record in index.versions(of: token) {
          guard let row = index.row(record) else { continue }
          if row.place == .blob, index.blob(of: row) == nil { continue }
          // The current row, as in the undamaged file.
          if try group.peek({ try $0.currentRow(token) })?.digest == row.digest { found.insert(name) }
        }
      }
      return found
    }
    var damaged = files.main
    damaged.replaceSubrange(page * 4_096..<(page + 1) * 4_096, with: [UInt8](repeating: 0, count: 4_096))
    return try readable(files.main).subtracting(readable(damaged))
  }
}
