import Sealing

/// Proved nodes and sealed values.
///
/// A digest never names another content, so cached content stays valid whatever other processes commit. Whether it
/// belongs to the current state is decided by the signed root: each search begins there, or takes what a search from
/// the same root has found.
final class ProvedCache: Sendable {
  private struct Contents {
    var nodes = Halves()
    var values = SealedValues()

    /// How many values were read from their rows, one by one.
    var readCount: UInt64 = 0

    /// What the cache may take, and what the budget knows that it takes, in bytes.
    var limit: Int
    var counted = 0
    var changeCount: UInt8 = 0

    var byteCount: Int { nodes.byteCount + values.byteCount }
  }

  private let contents: Locked<Contents>
  private let budget: CacheBudget

  /// Creates a cache of at most about what `budget` leaves it, of which at most two thirds are nodes. The
  /// tree of a million items takes 58 MiB, and the values 160 bytes each.
  init(_ budget: CacheBudget = .process) {
    self.budget = budget
    contents = Locked(Contents(limit: budget.limit(of: 0, before: nil)))
  }

  deinit { contents.withLock { budget.leave($0.counted) } }

  /// Makes a change, and now and then asks for the limit again.
  private func changing(_ body: (inout Contents) -> Void) {
    contents.withLock { contents in
      body(&contents)
      contents.changeCount &+= 1
      let byteCount = contents.byteCount
      guard contents.changeCount == 0 || abs(byteCount - contents.counted) >= SealedValues.chunkByteCount
      else { return }
      contents.limit = budget.limit(of: byteCount, before: contents.counted)
      contents.counted = byteCount
    }
  }

  func node(_ digest: Digest) -> TreeNode? { contents.withLock { $0.nodes[digest] } }

  /// Adds a node of a group of `itemCount` items, whose digest was computed from its bytes.
  func keep(_ node: TreeNode, _ digest: Digest, itemCount: UInt64) {
    changing { $0.nodes.keep(node, digest, half: $0.limit / 3, itemCount) }
  }

  /// The value at `token` in the state of `root`.
  ///
  /// - Parameter digest: what a search from `root` has found; `nil` without a search.
  /// - Returns: `nil` if the value is not kept, or if without a search it is not known to be in that state.
  func value(_ token: Token, _ digest: Digest?, under root: Digest) -> SealedValue? {
    contents.withLock { $0.values.value(token, digest, under: root) }
  }

  /// Adds the value in a row that a search from `root` has found by the token of the name in its attributes.
  func keepValue(of row: Row, _ digest: Digest, under root: Digest) {
    changing { $0.values.keep(row, digest, under: root, limit: $0.limit - $0.nodes.byteCount) }
  }

  /// The entries of the leaf of `token`, whose value was just kept, if those of the others should be kept, too: whoever has
  /// read a sixteenth of a group item by item will probably read much of it, and while there is room, no value has to go.
  func leafToKeep(of token: Token, under root: Digest, itemCount: UInt64) -> [TreeEntry]? {
    contents.withLock { contents in
      contents.readCount += 1
      guard contents.readCount > max(itemCount / 16, 256),
        contents.byteCount + SealedValues.chunkByteCount <= contents.limit
      else { return nil }
      var step = TreeStep.child(root, .root)
      while case .child(let digest, let place) = step, let node = contents.nodes[digest] {
        if case .leaf(let entries) = node { return entries }
        step = node.step(toward: token, at: place)
      }
      return nil
    }
  }

  /// Follows the path of `token` through cached nodes, to its end or to the first node that is not cached.
  func follow(_ token: Token, from digest: Digest, at place: TreePlace) -> TreeStep {
    contents.withLock { contents in
      var step = TreeStep.child(digest, place)
      while case .child(let digest, let place) = step, let node = contents.nodes[digest] {
        step = node.step(toward: token, at: place)
      }
      return step
    }
  }
}

/// When the newer half is full it becomes the older one, whose content is dropped.
private struct Halves: Sendable {
  private var young = DigestTable()
  private var old = DigestTable()

  var byteCount: Int { young.byteCount + old.byteCount }

  subscript(_ digest: Digest) -> TreeNode? {
    mutating get {
      if let node = young[digest] { return node }
      guard let node = old[digest] else { return nil }
      // The half ends when something new is added.
      young.insert(node, digest)
      return node
    }
  }

  mutating func keep(_ node: TreeNode, _ digest: Digest, half: Int, _ itemCount: UInt64) {
    young.insert(node, digest)
    // Beyond about one for each item, nodes belong to former states, of which a group that often changes has many.
    if young.byteCount > half || young.count > 256 + Int(clamping: itemCount) {
      old = young
      young = DigestTable()
    }
  }
}

/// A hash table from digests to nodes. A `Dictionary` would hash the digests again, and would spend 50 µs on setting
/// up its types in a process that reads one item.
private struct DigestTable: Sendable {
  // A digest of zeros marks a free slot; no node has it. The digests stand apart so that a search touches few cache
  // lines.
  private var digests = [Digest](repeating: .zero, count: 16)
  private var nodes = [TreeNode?](repeating: nil, count: 16)
  private(set) var count = 0
  // Random for each table, so that a hostile writer cannot choose digests that collide.
  private let multiplier = UInt64.random(in: .min ... .max) | 1
  private(set) var byteCount = 0

  subscript(_ digest: Digest) -> TreeNode? { nodes[index(of: digest)] }

  mutating func insert(_ node: TreeNode, _ digest: Digest) {
    let index = index(of: digest)
    guard digests[index] == .zero, digest != .zero else { return }
    digests[index] = digest
    nodes[index] = node
    count += 1
    // The table and the allocator add about 160 bytes.
    byteCount += 160 + node.byteCount
    if count * 4 > digests.count * 3 { grow() }
  }

  /// The index of `digest`, or the index at which it would be inserted.
  private func index(of digest: Digest) -> Int {
    let mask = digests.count - 1
    var index = Int(truncatingIfNeeded: (digest.word &* multiplier) >> 32) & mask
    while digests[index] != digest, digests[index] != .zero { index = (index + 1) & mask }
    return index
  }

  private mutating func grow() {
    let (full, old) = (digests, nodes)
    digests = [Digest](repeating: .zero, count: full.count * 2)
    nodes = [TreeNode?](repeating: nil, count: full.count * 2)
    for (place, digest) in full.enumerated() where digest != .zero {
      let new = index(of: digest)
      digests[new] = digest
      nodes[new] = old[place]
    }
  }
}

/// Sealed values by their tokens, next to each other in chunks of bytes. A row as an object takes three times the memory,
/// and the memory decides how many gets of a large group need not ask SQLite.
private struct SealedValues {
  /// What precedes a box.
  private struct Header {
    let token: Token
    let digest: Digest
    /// The number of the root from which a search found the value last.
    var root: UInt64
    let version: UInt64
    let nonce: Nonce
    let boxByteCount: Int

    /// The size of the entry: a multiple of 8, so that the next one is aligned.
    var entryByteCount: Int { (MemoryLayout<Header>.size + boxByteCount + 7) & ~7 }
  }

  private struct Place: Equatable {
    let chunk, offset: Int

    static func named(by slot: UInt64) -> Place {
      let number = Int(slot & 0xFFFF_FFFF) - 1
      return Place(chunk: number >> 13, offset: (number & 0x1FFF) << 3)
    }

    /// Not zero, and less than 2^32.
    var number: UInt64 { UInt64(chunk << 13 | offset >> 3) + 1 }
  }

  // Filled one after the other, and then again from the first one on. They are small, so that a process that reads few
  // items takes little memory.
  private var chunks: [[UInt8]] = []
  private var current = 0
  // A hash table. The upper half of a slot is the token's hash, the lower one the place of its entry; 0 is a free slot.
  private var slots = [UInt64](repeating: 0, count: 16)
  private var count = 0
  private var liveByteCount = 0  // of the entries in the table; the others are of former states
  // Random, so that a hostile writer cannot choose tokens that collide.
  private let multiplier = UInt64.random(in: .min ... .max) | 1
  private var root = Digest.zero
  private var rootNumber: UInt64 = 0

  static let chunkByteCount = 64 << 10

  mutating func value(_ token: Token, _ digest: Digest?, under root: Digest) -> SealedValue? {
    guard digest != nil || root == self.root, case let slot = slots[slot(of: token)], slot != 0 else { return nil }
    let place = Place.named(by: slot)
    var header = header(at: place)
    if let digest {
      guard header.digest == digest else { return nil }
      header.root = number(of: root)
      unsafe chunks[place.chunk].withUnsafeMutableBytes {
        unsafe $0.storeBytes(of: header, toByteOffset: place.offset, as: Header.self)
      }
    }
    guard header.root == rootNumber else { return nil }
    let start = place.offset + MemoryLayout<Header>.size
    return SealedValue(
      token: token, version: header.version, nonce: header.nonce,
      box: Array(chunks[place.chunk][start..<start + header.boxByteCount]), range: 0..<header.boxByteCount)
  }

  mutating func keep(_ row: Row, _ digest: Digest, under root: Digest, limit: Int) {
    guard value(row.token, digest, under: root) == nil else { return }
    let header = Header(
      token: row.token, digest: digest, root: number(of: root), version: row.version, nonce: row.nonce,
      boxByteCount: row.secretRange.count)
    if chunks.isEmpty || chunks[current].count + header.entryByteCount > SealedValues.chunkByteCount {
      beginChunk(limit: limit)
    }
    let place = Place(chunk: current, offset: chunks[current].count)
    unsafe withUnsafeBytes(of: header) { unsafe chunks[current].append(contentsOf: $0) }
    chunks[current].append(contentsOf: row.encoded[row.secretRange])
    let padding = place.offset + header.entryByteCount - chunks[current].count
    chunks[current].append(contentsOf: repeatElement(0, count: padding))
    let slot = slot(of: row.token)
    if slots[slot] == 0 { count += 1 } else { liveByteCount -= self.header(at: .named(by: slots[slot])).entryByteCount }
    liveByteCount += header.entryByteCount
    slots[slot] = hash(of: row.token) << 32 | place.number
    if count * 4 > slots.count * 3 { grow() }
  }

  var byteCount: Int { chunks.count * SealedValues.chunkByteCount + slots.count * 8 }

  private mutating func number(of root: Digest) -> UInt64 {
    if root != self.root { (self.root, rootNumber) = (root, rootNumber + 1) }
    return rootNumber
  }

  private mutating func beginChunk(limit: Int) {
    if chunks.count * SealedValues.chunkByteCount > limit {
      // Nodes and rows have grown since. Roots keep their numbers, because the entry to be added has one of them.
      (chunks, slots, count, liveByteCount) = ([], [UInt64](repeating: 0, count: 16), 0, 0)
    }
    let limit = min(limit, 2 * (liveByteCount + slots.count * 8 + SealedValues.chunkByteCount))
    if chunks.isEmpty || byteCount + SealedValues.chunkByteCount <= limit {
      current = chunks.count
      chunks.append([])
      chunks[current].reserveCapacity(SealedValues.chunkByteCount)
      return
    }
    current = (current + 1) % chunks.count
    var place = Place(chunk: current, offset: 0)
    while place.offset < chunks[current].count {
      let header = header(at: place)
      let slot = slot(of: header.token)
      // A later entry may have taken the place of this one.
      if slots[slot] != 0, Place.named(by: slots[slot]) == place { free(slot) }
      place = Place(chunk: current, offset: place.offset + header.entryByteCount)
    }
    chunks[current].removeAll(keepingCapacity: true)
  }

  private func header(at place: Place) -> Header {
    unsafe chunks[place.chunk].withUnsafeBytes { unsafe $0.load(fromByteOffset: place.offset, as: Header.self) }
  }

  // MARK: Hash table

  private func hash(of token: Token) -> UInt64 { (token.low &* multiplier) >> 32 }

  /// The slot of `token`, or the free one that it would get.
  private func slot(of token: Token) -> Int {
    let (mask, hash) = (slots.count - 1, hash(of: token))
    var index = Int(hash) & mask
    while slots[index] != 0 {
      if slots[index] >> 32 == hash, header(at: .named(by: slots[index])).token == token { break }
      index = (index + 1) & mask
    }
    return index
  }

  /// Frees a slot, and moves those after it that a search would no longer reach.
  private mutating func free(_ slot: Int) {
    liveByteCount -= header(at: .named(by: slots[slot])).entryByteCount
    let mask = slots.count - 1
    var (hole, next) = (slot, (slot + 1) & mask)
    while slots[next] != 0 {
      let home = Int(slots[next] >> 32) & mask
      if (next - home) & mask >= (next - hole) & mask {
        slots[hole] = slots[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    slots[hole] = 0
    count -= 1
  }

  private mutating func grow() {
    let (full, mask) = (slots, slots.count * 2 - 1)
    slots = [UInt64](repeating: 0, count: full.count * 2)
    for slot in full where slot != 0 {
      var index = Int(slot >> 32) & mask
      while slots[index] != 0 { index = (index + 1) & mask }
      slots[index] = slot
    }
  }
}
