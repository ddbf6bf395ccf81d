/// What a line of a list shows of an item. The texts are lent: they exist while the attributes are open.
@safe package struct ItemSummary {
  package let name: UnsafeRawBufferPointer
  /// Empty if there is none.
  package let label: UnsafeRawBufferPointer
  package let version: UInt64
  package let changed: Timestamp
  package let expires: Timestamp?
}

extension Item {
  package func withSummary(_ body: (ItemSummary) -> Void) {
    unsafe name.description.utf8Span.span.withUnsafeBytes { name in
      unsafe (label ?? "").utf8Span.span.withUnsafeBytes { label in
        unsafe body(ItemSummary(name: name, label: label, version: version, changed: changed, expires: expires))
      }
    }
  }
}

/// Makes a text of an item: it appends the text to the bytes.
package typealias ItemText = @Sendable (ItemSummary, inout [UInt8]) -> Void

/// One text for each item of a list, made while the item's attributes were open: a list that is only written needs no
/// items.
package struct ItemTexts: Sendable {
  private var names = JoinedTexts()
  private var texts = JoinedTexts()

  package init() {}

  package var count: Int { texts.count }

  mutating func add(_ item: ItemSummary, _ write: ItemText) {
    names.append { unsafe $0.append(contentsOf: item.name) }
    texts.append { write(item, &$0) }
  }

  /// Takes memory for `count` texts at once, supposing that they are as long as those so far.
  mutating func reserve(_ count: Int) {
    guard self.count > 0, count > self.count else { return }
    names.reserve(count)
    texts.reserve(count)
  }

  mutating func add(_ more: ItemTexts) {
    names.append(more.names)
    texts.append(more.texts)
  }

  /// Passes the first `limit` texts to `body`, sorted by the bytes of the items' names.
  package func write<Failure>(
    first limit: Int, to body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    try unsafe texts.bytes.span.withUnsafeBytes { (bytes) throws(Failure) in
      for index in names.sorted().prefix(limit) {
        try unsafe body(UnsafeRawBufferPointer(rebasing: bytes[texts.range(index)]))
      }
    }
  }
}

/// Texts in the order in which they came, and the order of their bytes.
///
/// They stand in one buffer, because names of a long list that stand apart are in no cache when they are compared.
struct JoinedTexts: Sendable {
  fileprivate var bytes: [UInt8] = []
  /// The end of each text in `bytes`.
  private var ends: [Int] = []

  fileprivate var count: Int { ends.count }

  mutating func append(_ text: String) { append { $0 += text.utf8 } }

  fileprivate mutating func append(_ write: (inout [UInt8]) -> Void) {
    write(&bytes)
    ends.append(bytes.count)
  }

  mutating func append(_ more: JoinedTexts) {
    let start = bytes.count
    bytes += more.bytes
    for end in more.ends { ends.append(start + end) }
  }

  fileprivate mutating func reserve(_ count: Int) {
    // The first texts may be long, and a writer may have signed any number of items.
    bytes.reserveCapacity(min((bytes.count / ends.count + 1) * count, 1 << 26))
    ends.reserveCapacity(count)
  }

  fileprivate func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

  /// The indices of the texts, sorted by their bytes. The eight bytes after the common beginning decide nearly always.
  func sorted() -> [Int] {
    unsafe bytes.span.withUnsafeBytes { bytes in
      func name(_ index: Int) -> UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: bytes[range(index)]) }
      var shared = unsafe ends.isEmpty ? 0 : name(0).count
      for index in ends.indices { shared = unsafe JoinedTexts.sharedCount(name(0), name(index), atMost: shared) }
      return ends.indices.map { (key: unsafe JoinedTexts.word(of: name($0), after: shared), index: $0) }.sorted {
        if $0.key != $1.key { return $0.key < $1.key }
        let (left, right) = unsafe (name($0.index), name($1.index))
        let same = unsafe JoinedTexts.sharedCount(left, right, atMost: left.count)
        return unsafe same < right.count && (same == left.count || left[same] < right[same])
      }.map(\.index)
    }
  }

  /// Sorts `items`, whose names these are, by the bytes of the names.
  func sort(_ items: inout [Item]) {
    var places = sorted()
    // Each item moves to its place, cycle by cycle. A copy of the array would count one more reference of each, and
    // most are in no cache by then.
    for start in places.indices {
      var place = start
      while places[place] != start {
        let next = places[place]
        items.swapAt(place, next)
        places[place] = place
        place = next
      }
      places[place] = place
    }
  }

  private static func sharedCount(
    _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, atMost limit: Int
  ) -> Int {
    let limit = min(limit, right.count)
    for index in 0..<limit where unsafe left[index] != right[index] { return index }
    return limit
  }

  /// The eight bytes after the first `count` as a number in the order of the bytes; zeros follow a shorter name.
  private static func word(of name: UnsafeRawBufferPointer, after count: Int) -> UInt64 {
    if name.count - count >= 8 {
      return unsafe UInt64(bigEndian: name.loadUnaligned(fromByteOffset: count, as: UInt64.self))
    }
    var word: UInt64 = 0
    for index in count..<name.count { unsafe word = word << 8 | UInt64(name[index]) }
    return word << (8 * UInt64(8 - (name.count - count)))
  }
}
