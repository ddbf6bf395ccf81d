import Sealing
import Testing

@testable import GroupFile

@Suite struct ProvedCacheTests {
  private let keys: GroupKeys
  private let roots = (Digest(Randomness.bytes(32))!, Digest(Randomness.bytes(32))!)

  init() throws {
    let groupID = GroupID(Randomness.bytes(32))!
    keys = try GroupKeys(groupKey: Key.random(), groupID: groupID, generation: 1, deviceKey: nil)
  }

  private func row(_ name: String, version: UInt64 = 1, padding: Int = 0) throws -> Row {
    let text = "\(name) \(version)" + String(repeating: ".", count: padding)
    let secret = try unsafe Array(text.utf8).withUnsafeBytes { try unsafe OpenedSecret(copying: $0) }
    let attributes = Attributes(name: name, created: 1, changed: 1, valueKind: 2)
    return try keys.sealedRow(
      attributes, secret, token: keys.token(of: name), version: version, oldest: 1, previous: .zero
    ).row
  }

  private func text(_ value: SealedValue?) throws -> String? {
    try value.map { try keys.secret($0).text }
  }

  @Test func `a value counts for the root that a search has begun from, and for no other`() throws {
    let cache = ProvedCache()
    let (old, new) = (try row("name"), try row("name", version: 2))
    let token = old.token
    cache.keepValue(of: old, old.digest, under: roots.0)
    #expect(try text(cache.value(token, nil, under: roots.0)) == "name 1")
    #expect(cache.value(token, nil, under: roots.1) == nil)
    #expect(cache.value(token, new.digest, under: roots.1) == nil)
    // The item is unchanged in the new state.
    #expect(try text(cache.value(token, old.digest, under: roots.1)) == "name 1")
    #expect(try text(cache.value(token, nil, under: roots.1)) == "name 1")
    #expect(cache.value(token, nil, under: roots.0) == nil)
    cache.keepValue(of: new, new.digest, under: roots.1)
    #expect(try text(cache.value(token, nil, under: roots.1)) == "name 2")
  }

  @Test func `a value that is kept again takes no more memory`() throws {
    let cache = ProvedCache(CacheBudget(byteCount: 256 << 10))
    let (first, often) = (try row("first"), try row("often"))
    cache.keepValue(of: first, first.digest, under: roots.0)
    for _ in 0..<5_000 { cache.keepValue(of: often, often.digest, under: roots.0) }
    #expect(try text(cache.value(first.token, nil, under: roots.0)) == "first 1")
  }

  @Test func `beyond its limit the cache keeps the values that came last`() throws {
    let cache = ProvedCache(CacheBudget(byteCount: 256 << 10))
    let rows = try (0..<3_000).map { try row("\($0)") }
    for row in rows { cache.keepValue(of: row, row.digest, under: roots.0) }
    var found = 0
    for (number, row) in rows.enumerated() {
      let value = try text(cache.value(row.token, nil, under: roots.0))
      if value != nil { found += 1 }
      #expect(value == nil ? number < 2_200 : value == "\(number) 1")
    }
    #expect((800..<1_600).contains(found))
  }

  @Test func `caches of several groups share one limit, and each has at least an equal part`() throws {
    let budget = CacheBudget(byteCount: 1 << 20)
    let rows = try (0..<12_000).map { try row("\($0)") }
    func fill(_ cache: ProvedCache, _ rows: ArraySlice<Row>) -> Int {
      for row in rows { cache.keepValue(of: row, row.digest, under: roots.0) }
      return rows.count { cache.value($0.token, nil, under: roots.0) != nil }
    }
    let first = ProvedCache(budget)
    let alone = fill(first, rows[..<6_000])
    #expect(alone > 3_000)
    do {
      let others = [ProvedCache(budget), ProvedCache(budget), ProvedCache(budget)]
      for cache in others + [first] { #expect((alone / 8..<alone / 2).contains(fill(cache, rows[6_000...]))) }
    }
    #expect(fill(first, rows[..<6_000]) > alone * 3 / 4)
  }

  @Test func `caches that are filled in turn take at most about twice the limit together`() throws {
    let budget = CacheBudget(byteCount: 4 << 20)
    let rows = try (0..<13_000).map { try row("\($0)", padding: 200) }
    let caches = (0..<16).map { _ in
      let cache = ProvedCache(budget)
      for row in rows { cache.keepValue(of: row, row.digest, under: roots.0) }
      return cache
    }
    let kept = caches.map { cache in rows.count { cache.value($0.token, nil, under: roots.0) != nil } }
    #expect(kept[0] < rows.count && kept.allSatisfy { $0 > 0 })
    // A whole limit, half of it, a third of it and so on would be three times as much.
    #expect((3 * kept[0] / 2..<5 * kept[0] / 2).contains(kept.reduce(0, +)))
  }

  @Test func `a small group that changes often takes little memory`() throws {
    let budget = CacheBudget(byteCount: 64 << 20)
    let cache = ProvedCache(budget)
    let (kept, other) = (try row("kept"), try row("other"))
    for version in 1...20_000 {
      let changed = try row("changed", version: UInt64(version))
      let node = TreeNode.leaf([kept, other, changed].map { TreeEntry(token: $0.token, digest: $0.digest) })
      let root = Digest(Randomness.bytes(32))!
      cache.keep(node, root, itemCount: 3)
      for row in [kept, changed] { cache.keepValue(of: row, row.digest, under: root) }
      #expect(cache.node(root) != nil)
      #expect(cache.value(changed.token, changed.digest, under: root) != nil)
    }
    // What is left for the first of two caches.
    let taken = (64 << 20) - budget.limit(of: 0, before: nil)
    #expect(taken < 1 << 20, "\(taken) bytes")
  }

  @Test func `a value that was read before is read anew after another process has changed it`() throws {
    let group = try GroupFixture()
    try group.set(["name": "first", "other": "value"])
    let file = try group.open()
    for _ in 0..<3 { #expect(try file.value("name") == "first") }
    try group.set(["other": "changed"])
    for _ in 0..<3 { #expect(try file.value("name") == "first") }
    try group.set(["name": "second"])
    for _ in 0..<3 { #expect(try file.value("name") == "second") }
    let transaction = try group.open().beginWriting()
    try transaction.destroy("name")
    try transaction.commit()
    #expect(failure { try file.value("name") } == .notFound(.item))
  }

  @Test func `whoever reads many items one by one is spared the reading of those beside them, not their proofs`() throws
  {
    let group = try GroupFixture()
    let names = (0..<700).map { "item \($0)" }
    try group.set(Dictionary(uniqueKeysWithValues: names.map { ($0, "value of \($0)") }))
    try group.storeRow("item 600", named: "item 601")
    let file = try group.open()
    func isKept(_ name: String) throws -> Bool {
      let state = try file.beginReading().state
      return file.cache.value(state.keys.token(of: name), nil, under: state.manifest.root) != nil
    }
    for name in names[..<256] { _ = try file.value(name) }
    #expect(try !names[256...].contains(where: isKept))
    for name in names[256..<500] { #expect(try file.value(name) == "value of \(name)") }
    #expect(try names[500...].count(where: isKept) > 50)
    for name in names[500...] where name != "item 600" { #expect(try file.value(name) == "value of \(name)") }
    for _ in 0..<3 { #expect(failure { try file.value("item 600") }?.isDamage == true) }
    #expect(try !isKept("item 600"))
  }

  @Test func `a value under another item's name is refused each time`() throws {
    let group = try GroupFixture()
    try group.set(["name": "first", "other": "value"])
    try group.storeRow("name", named: "other")
    let file = try group.open()
    for _ in 0..<3 { #expect(failure { try file.value("name") }?.isDamage == true) }
  }
}
