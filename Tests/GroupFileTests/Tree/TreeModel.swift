import Sealing
import TestSupport

@testable import GroupFile

/// A second and simplest possible implementation of the tree in the format article, for comparison.
enum TreeModel {
  private struct Item {
    let token: [UInt8]
    let nibbles: [Int]
    let digest: [UInt8]
  }

  /// The root of the tree of all `rows`.
  static func root(of rows: [Token: Digest]) -> Digest {
    let items = rows.map { token, digest in
      Item(token: token.bytes, nibbles: token.bytes.flatMap { [Int($0 >> 4), Int($0 & 15)] }, digest: digest.bytes)
    }
    return Digest(digest(of: items.sorted { $0.token.lexicographicallyPrecedes($1.token) }, below: []))!
  }

  private static func digest(of items: [Item], below prefix: [Int]) -> [UInt8] {
    var place = [UInt8(prefix.count)]
    let padded = prefix + [Int](repeating: 0, count: 32 - prefix.count)
    for index in stride(from: 0, to: 32, by: 2) { place.append(UInt8(padded[index] << 4 | padded[index + 1])) }
    if items.count <= 32 {
      let entries = items.flatMap { $0.token + $0.digest }
      return Hash.digest(Label("vault1.leaf"), place + [UInt8(items.count)] + entries).bytes
    }
    var bitmap: UInt16 = 0
    var digests: [UInt8] = []
    for nibble in 0..<16 {
      let below = items.filter { $0.nibbles[prefix.count] == nibble }
      if below.isEmpty { continue }
      bitmap |= 1 << UInt16(nibble)
      digests += digest(of: below, below: prefix + [nibble])
    }
    return Hash.digest(Label("vault1.node"), place + [UInt8(bitmap >> 8), UInt8(bitmap & 255)] + digests).bytes
  }
}

/// Table `node`, in memory.
final class NodeShelf {
  var bodies: [TreePlace: [UInt8]] = [:]

  /// The node at `place`, proved by `digest` as in a snapshot.
  func load(_ digest: Digest, _ place: TreePlace) throws(VaultError) -> TreeNode {
    if digest == TreeNode.emptyRoot, place.depth == 0 { return .leaf([]) }
    guard let body = bodies[place], TreeNode.digest(ofBody: body, at: place) == digest else {
      throw .damaged(.tree, "a node does not match its parent")
    }
    return try TreeNode(parsing: body, at: place)
  }
}

/// Sets of rows that make different trees.
enum TreeRows {
  static func random(_ count: Int, using generator: inout SeededGenerator) -> [Token: Digest] {
    var rows: [Token: Digest] = [:]
    while rows.count < count { rows[token(using: &generator)] = digest(using: &generator) }
    return rows
  }

  /// Tokens whose first `depth` nibbles are equal, so that leaves split far down.
  static func crowded(_ count: Int, sharing depth: Int, using generator: inout SeededGenerator) -> [Token: Digest] {
    let shared = token(using: &generator).prefix(depth)
    var rows: [Token: Digest] = [:]
    while rows.count < count {
      var token = shared
      for place in depth..<32 { token = token.appending(Int.random(in: 0..<16, using: &generator), at: place) }
      rows[token] = digest(using: &generator)
    }
    return rows
  }

  static func token(using generator: inout SeededGenerator) -> Token {
    Token(high: generator.next(), low: generator.next())
  }

  static func digest(using generator: inout SeededGenerator) -> Digest {
    Digest((0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) })!
  }
}

extension TreePlace {
  /// The key in table `node`.
  var key: [UInt8] { unsafe withKey { unsafe Array($0) } }
}
