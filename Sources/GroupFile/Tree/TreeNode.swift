import Sealing

/// A place in the digest tree: the subtree of all tokens that begin with `depth` nibbles of `prefix`.
struct TreePlace: Hashable, Sendable {
  /// 0 at the root, 32 at most.
  let depth: Int
  /// The nibbles; those beyond `depth` are zero.
  let prefix: Token

  static let root = TreePlace(depth: 0, prefix: Token(high: 0, low: 0))

  func child(_ nibble: Int) -> TreePlace { TreePlace(depth: depth + 1, prefix: prefix.appending(nibble, at: depth)) }

  func contains(_ token: Token) -> Bool { token.prefix(depth) == prefix }

  /// Lends the key in table `node`: u8 depth ‖ prefix 16.
  func withKey<Result, Failure>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Result) throws(Failure) -> Result {
    var key: (UInt64, UInt64, UInt64) = (0, 0, 0)
    return try unsafe Swift.withUnsafeMutableBytes(of: &key) { (key) throws(Failure) in
      unsafe write(to: key)
      return try unsafe body(UnsafeRawBufferPointer(rebasing: key[..<TreePlace.keyByteCount]))
    }
  }

  fileprivate func write(to bytes: UnsafeMutableRawBufferPointer) {
    unsafe bytes[0] = UInt8(depth)
    unsafe bytes.storeBytes(of: prefix.number.bigEndian, toByteOffset: 1, as: UInt128.self)
  }

  fileprivate static let keyByteCount = 17
}

struct TreeEntry: Sendable, Equatable {
  var token: Token
  var digest: Digest
}

/// A node of the digest tree: 16-ary over the token's nibbles, and canonical, so that its shape depends only on the set
/// of rows (format article, "The tree").
enum TreeNode: Sendable, Equatable {
  /// At most 32 items, in rising order.
  case leaf([TreeEntry])
  /// The digests of the existing children, in order of their nibbles.
  case branch(bitmap: UInt16, children: [Digest])

  /// A subtree with this many items or fewer is a leaf.
  static let leafCapacity = 32
  static let emptyRoot = TreeNode.leaf([]).digest(at: .root)

  var byteCount: Int {
    switch self {
    case .leaf(let entries): entries.count * TreeNode.entryByteCount
    case .branch(_, let children): 2 + children.count * Digest.byteCount
    }
  }

  /// The stored form: the entries, or the bitmap and the digests.
  func body() -> [UInt8] {
    // Written in place: a change makes four bodies, and appending to an array costs as much as hashing it.
    // With no capacity, all threads would write the count of the standard library's one empty array.
    let count = byteCount
    return unsafe [UInt8](unsafeUninitializedCapacity: max(count, 1)) { buffer, initializedCount in
      let bytes = UnsafeMutableRawBufferPointer(buffer)
      switch self {
      case .leaf(let entries):
        for (index, entry) in entries.enumerated() {
          let start = index * TreeNode.entryByteCount
          unsafe bytes.storeBytes(of: entry.token.number.bigEndian, toByteOffset: start, as: UInt128.self)
          unsafe entry.digest.write(to: bytes, at: start + Token.byteCount)
        }
      case .branch(let bitmap, let children):
        unsafe bytes.storeBytes(of: bitmap.bigEndian, as: UInt16.self)
        for (index, child) in children.enumerated() { unsafe child.write(to: bytes, at: 2 + index * Digest.byteCount) }
      }
      initializedCount = count
    }
  }

  func digest(at place: TreePlace) -> Digest { TreeNode.digest(ofBody: body(), at: place) }

  /// The digest of a stored body. Entries take 48 bytes and digests 32, so the count distinguishes a leaf from a
  /// branch.
  static func digest(ofBody body: [UInt8], at place: TreePlace) -> Digest {
    unsafe body.span.withUnsafeBytes { unsafe digest(ofBody: $0, at: place) }
  }

  static func digest(ofBody body: UnsafeRawBufferPointer, at place: TreePlace) -> Digest {
    let isBranch = isBranch(body.count)
    let start = TreePlace.keyByteCount + (isBranch ? 0 : 1)
    return unsafe withUnsafeTemporaryAllocation(byteCount: start + body.count, alignment: 8) { message in
      unsafe place.write(to: message)
      if !isBranch { unsafe message[start - 1] = UInt8(truncatingIfNeeded: body.count / entryByteCount) }
      unsafe UnsafeMutableRawBufferPointer(rebasing: message[start...]).copyMemory(from: body)
      return unsafe Hash.digest(isBranch ? .node : .leaf, UnsafeRawBufferPointer(message))
    }
  }

  private static func isBranch(_ byteCount: Int) -> Bool { byteCount % 16 == 2 }

  private static let entryByteCount = Token.byteCount + Digest.byteCount

  /// Reads a body whose digest was proved; throws `damaged(.tree, …)` for one that no honest writer makes.
  init(parsing body: [UInt8], at place: TreePlace) throws(VaultError) {
    self = try unsafe body.span.withUnsafeBytes { (body) throws(VaultError) in
      try unsafe TreeNode(parsing: body, at: place)
    }
  }

  init(parsing body: UnsafeRawBufferPointer, at place: TreePlace) throws(VaultError) {
    if TreeNode.isBranch(body.count) {
      let bitmap = UInt16(bigEndian: unsafe body.loadUnaligned(as: UInt16.self))
      let count = bitmap.nonzeroBitCount
      guard bitmap != 0, place.depth < 32, body.count == 2 + count * Digest.byteCount else {
        throw .damaged(.tree, "branch")
      }
      var children: [Digest] = []
      children.reserveCapacity(count)
      for index in 0..<count {
        let start = 2 + index * Digest.byteCount
        unsafe children.append(Digest(UnsafeRawBufferPointer(rebasing: body[start..<start + Digest.byteCount]))!)
      }
      self = .branch(bitmap: bitmap, children: children)
      return
    }
    let count = body.count / TreeNode.entryByteCount
    guard body.count == count * TreeNode.entryByteCount, count <= TreeNode.leafCapacity, count > 0 || place.depth == 0
    else { throw .damaged(.tree, "leaf") }
    var entries: [TreeEntry] = []
    entries.reserveCapacity(count)
    for index in 0..<count {
      let bytes = unsafe UnsafeRawBufferPointer(rebasing: body[(index * TreeNode.entryByteCount)...])
      let token = unsafe Token(loadingFrom: bytes)
      guard place.contains(token), entries.last.map({ $0.token < token }) ?? true else {
        throw .damaged(.tree, "order of a leaf")
      }
      let digest = unsafe Digest(UnsafeRawBufferPointer(rebasing: bytes[Token.byteCount..<TreeNode.entryByteCount]))!
      entries.append(TreeEntry(token: token, digest: digest))
    }
    self = .leaf(entries)
  }

  /// The branch with the digests that `child` returns for nibbles; `nil` if there are none.
  static func branch<Failure>(_ child: (Int) throws(Failure) -> Digest?) throws(Failure) -> TreeNode? {
    var bitmap: UInt16 = 0
    var children: [Digest] = []
    children.reserveCapacity(16)
    for nibble in 0..<16 {
      guard let digest = try child(nibble) else { continue }
      bitmap |= 1 << UInt16(nibble)
      children.append(digest)
    }
    return children.isEmpty ? nil : .branch(bitmap: bitmap, children: children)
  }

  static func child(_ nibble: Int, bitmap: UInt16, children: [Digest]) -> Digest? {
    let bit = UInt16(1) << UInt16(nibble)
    guard bitmap & bit != 0 else { return nil }
    return children[(bitmap & (bit - 1)).nonzeroBitCount]
  }

  func step(toward token: Token, at place: TreePlace) -> TreeStep {
    switch self {
    case .leaf(let entries):
      let (index, found) = entries.position(of: token)
      return .end(found ? entries[index].digest : nil)
    case .branch(let bitmap, let children):
      let nibble = token.nibble(at: place.depth)
      guard let child = TreeNode.child(nibble, bitmap: bitmap, children: children) else { return .end(nil) }
      return .child(child, place.child(nibble))
    }
  }
}

/// One step of the search for a row's digest.
enum TreeStep {
  /// The search continues in the node with this digest.
  case child(Digest, TreePlace)
  /// The row's digest; `nil` is a proof of absence (a clear bit, or a leaf without the token).
  case end(Digest?)
}

extension Digest {
  fileprivate func write(to bytes: UnsafeMutableRawBufferPointer, at start: Int) {
    unsafe withUnsafeBytes {
      unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + Digest.byteCount]).copyMemory(from: $0)
    }
  }
}

extension [TreeEntry] {
  /// The index of `token`, or the index at which it would be inserted.
  func position(of token: Token) -> (index: Int, found: Bool) {
    let index = sortedIndex { $0.token >= token }
    return (index, index < count && self[index].token == token)
  }
}

extension RandomAccessCollection where Index == Int {
  /// The first index whose element satisfies `condition`, as all later ones must, too; `endIndex` if none does.
  func sortedIndex(_ condition: (Element) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if condition(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

extension Label {
  fileprivate static let leaf = Label("vault1.leaf")
  fileprivate static let node = Label("vault1.node")
}
