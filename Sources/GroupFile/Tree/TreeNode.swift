import Sealing

/// A place in the digest tree: the subtree of all tokens that begin with `depth` nibbles of `prefix`.
struct TreePlace: Hashable, Sendable {
  /// 0 at the root, 32 at most.
  let depth: Int
  /// The nibbles; those beyond `depth` are zero.
  let prefix: Token

  static let root = TreePlace(depth: 0, prefix: Token(high: 0, low: 0))

  /// The place of the child under `nibble`.
  func child(_ nibble: Int) -> TreePlace {
    TreePlace(depth: depth + 1, prefix: prefix.appending(nibble, at: depth))
  }

  /// Whether `token` belongs below this place.
  func contains(_ token: Token) -> Bool { token.prefix(depth) == prefix }

  /// The key in table `node`: u8 depth ‖ prefix 16.
  var key: [UInt8] {
    var writer = ByteWriter(reservingCapacity: 17)
    writer.write(UInt8(depth))
    writer.write(prefix)
    return writer.bytes
  }
}

/// An item as the tree sees it.
struct TreeEntry: Sendable, Equatable {
  var token: Token
  var digest: Digest
}

/// A node of the digest tree: 16-ary over the token's nibbles, canonical, so that its shape depends on the set of rows
/// alone (format article, "The tree").
enum TreeNode: Sendable, Equatable {
  /// At most 32 items, in rising order.
  case leaf([TreeEntry])
  /// The digests of the children that are there, in order of their nibbles.
  case branch(bitmap: UInt16, children: [Digest])

  /// A subtree with this many items or fewer is a leaf.
  static let leafCapacity = 32
  /// The digest of a group without items.
  static let emptyRoot = TreeNode.leaf([]).digest(at: .root)

  /// The stored form: the entries, or the bitmap and the digests.
  func body() -> [UInt8] {
    switch self {
    case .leaf(let entries):
      var writer = ByteWriter(reservingCapacity: entries.count * 48)
      for entry in entries {
        writer.write(entry.token)
        writer.write(entry.digest)
      }
      return writer.bytes
    case .branch(let bitmap, let children):
      var writer = ByteWriter(reservingCapacity: 2 + children.count * 32)
      writer.write(bitmap)
      for child in children { writer.write(child) }
      return writer.bytes
    }
  }

  /// The node's digest at `place`.
  func digest(at place: TreePlace) -> Digest { TreeNode.digest(ofBody: body(), at: place) }

  /// The digest of a stored body; entries take 48 bytes and digests 32, so the count tells a leaf from a branch.
  static func digest(ofBody body: [UInt8], at place: TreePlace) -> Digest {
    var writer = ByteWriter(reservingCapacity: 18 + body.count)
    writer.write(UInt8(place.depth))
    writer.write(place.prefix)
    if isBranch(body) {
      writer.write(body)
      return Hash.digest(.node, writer.bytes)
    }
    writer.write(UInt8(truncatingIfNeeded: body.count / 48))
    writer.write(body)
    return Hash.digest(.leaf, writer.bytes)
  }

  private static func isBranch(_ body: [UInt8]) -> Bool { body.count % 16 == 2 }

  /// Reads a body whose digest was proved.
  ///
  /// - Throws: `damaged(.tree, …)` for what no honest writer makes, even under a signed root.
  init(parsing body: [UInt8], at place: TreePlace) throws(GroupFileError) {
    do {
      var reader = ByteReader(body)
      if TreeNode.isBranch(body) {
        let bitmap = try reader.read(UInt16.self)
        guard bitmap != 0, place.depth < 32, body.count == 2 + bitmap.nonzeroBitCount * 32 else {
          throw GroupFileError.damaged(.tree, "branch")
        }
        var children: [Digest] = []
        children.reserveCapacity(bitmap.nonzeroBitCount)
        while reader.remaining > 0 { children.append(try reader.readBytes32()) }
        self = .branch(bitmap: bitmap, children: children)
        return
      }
      let count = body.count / 48
      guard body.count == count * 48, count <= TreeNode.leafCapacity, count > 0 || place.depth == 0 else {
        throw GroupFileError.damaged(.tree, "leaf")
      }
      var entries: [TreeEntry] = []
      entries.reserveCapacity(count)
      while reader.remaining > 0 {
        let entry = TreeEntry(token: try reader.readToken(), digest: try reader.readBytes32())
        guard place.contains(entry.token), entries.last.map({ $0.token < entry.token }) ?? true else {
          throw GroupFileError.damaged(.tree, "order of a leaf")
        }
        entries.append(entry)
      }
      self = .leaf(entries)
    } catch let error as GroupFileError {
      throw error
    } catch {
      throw .damaged(.tree, "layout")
    }
  }

  /// The digest of the child under `nibble`.
  static func child(_ nibble: Int, bitmap: UInt16, children: [Digest]) -> Digest? {
    let bit = UInt16(1) << UInt16(nibble)
    guard bitmap & bit != 0 else { return nil }
    return children[(bitmap & (bit - 1)).nonzeroBitCount]
  }
}

extension [TreeEntry] {
  /// Where `token` is, or where it would stand.
  func position(of token: Token) -> (index: Int, found: Bool) {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle].token < token { low = middle + 1 } else { high = middle }
    }
    return (low, low < count && self[low].token == token)
  }
}

extension Label {
  fileprivate static let leaf = Label("vault1.leaf")
  fileprivate static let node = Label("vault1.node")
}
