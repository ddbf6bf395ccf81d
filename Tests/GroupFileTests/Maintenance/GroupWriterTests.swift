import Sealing
import TestSupport
import Testing

@testable import GroupFile

@Suite struct GroupWriterTests {
  private let folder = TemporaryFolder()

  /// Three thousand items with one to three versions each: some 1.5 MB.
  private func items() throws -> [[Row]] {
    let groupID = Hash.digest(.rowHash, [1])
    let keys = try GroupKeys(groupKey: Key.random(), groupID: groupID, generation: 1, deviceKey: nil)
    return try (0..<3_000).map { number in
      let name = "item/\(number)"
      var versions: [Row] = []
      for version in 1...UInt64(1 + number % 3) {
        let secret = try unsafe Array("value \(version)".utf8).withUnsafeBytes { try unsafe OpenedSecret(copying: $0) }
        let attributes = Attributes(name: name, created: 1, changed: version, valueKind: 2)
        versions.append(
          try keys.sealedRow(
            attributes, secret, token: keys.token(of: name), version: version, oldest: 1,
            previous: versions.last?.digest ?? .zero
          ).row)
      }
      return versions
    }
  }

  @Test(arguments: [(first: 32 << 20, next: 8 << 20), (200_000, 100_000), (1, 1_000)])
  func `a file of one run and files of many have the same rows and the same tree`(
    runByteCounts: (first: Int, next: Int)
  ) throws {
    let items = try items()
    var writer = try GroupWriter(in: folder.path, fileMode: 0o600, runByteCounts: runByteCounts)
    defer { writer.connection.discard() }
    var steps: [String] = []
    // Single items and several at once.
    for item in items.prefix(500) { try writer.add(item) }
    for start in stride(from: 500, to: items.count, by: 250) {
      try writer.add(Array(items[start..<start + 250].joined()))
    }
    let root = try writer.finish { steps.append("\($0)") }

    var tree = TreeBuilder()
    for row in items.map({ $0.last! }).sorted(by: { $0.token < $1.token }) {
      try tree.append(TreeEntry(token: row.token, digest: row.digest))
    }
    var nodes: [TreePlace: [UInt8]] = [:]
    #expect(root == tree.finish { nodes[$0] = $1 })
    for (place, body) in nodes { #expect(try writer.connection.nodeBody(at: place) == body) }
    #expect(writer.itemCount == 3_000 && writer.versionRowCount == 3_000)
    #expect(steps == ["written(1024)", "written(2048)"])
    for item in items {
      #expect(try writer.connection.currentRow(item[0].token)?.encoded == item.last?.encoded)
      for row in item.dropLast() {
        #expect(try writer.connection.olderRow(row.token, version: row.version)?.encoded == row.encoded)
      }
    }
  }

  @Test func `a file without items has the empty tree`() throws {
    var writer = try GroupWriter(in: folder.path, fileMode: 0o600)
    defer { writer.connection.discard() }
    #expect(try writer.finish() == TreeNode.emptyRoot)
  }

  @Test(arguments: [0, 1, 2, 100, 5_000])
  func `tokens are sorted, random or chosen, and equal ones keep their order`(count: Int) {
    let tokens = [
      (0..<count).map { _ in Token(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max)) },
      // The first bits of all are the same, and many are equal.
      (0..<count).map { Token(high: 7 << 40, low: UInt64(count - $0) / 3) },
      (0..<count).map { _ in Token(high: .max, low: .random(in: 0..<5)) },
    ]
    for tokens in tokens {
      let sorted = tokens.sortedPositions()
      let wanted = tokens.enumerated().sorted { ($0.element, $0.offset) < ($1.element, $1.offset) }
      #expect(sorted.map(\.token) == wanted.map(\.element))
      #expect(sorted.map(\.position) == wanted.map(\.offset))
    }
  }
}
