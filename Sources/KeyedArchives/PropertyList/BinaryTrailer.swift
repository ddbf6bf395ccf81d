/// The last 32 bytes of a binary property list, checked against its size.
struct BinaryTrailer {
  static let byteCount = 32

  let offsetSize: Int
  let referenceSize: Int
  let objectCount: Int
  let top: Int
  /// The start of the offset table, which is also the end of the objects.
  let offsetTable: Int

  /// Reads and checks the trailer of `bytes`, which begin with the magic number.
  init(_ bytes: [UInt8]) throws(ArchiveError) {
    let start = bytes.count - Self.byteCount
    guard start > BinaryPropertyList.magic.count else { throw .brokenPropertyList(.truncated, offset: bytes.count) }
    func number(_ position: Int) -> UInt64 {
      bytes[(start + position)..<(start + position + 8)].reduce(0) { $0 << 8 | UInt64($1) }
    }
    offsetSize = Int(bytes[start + 6])
    referenceSize = Int(bytes[start + 7])
    let (count, top, table) = (number(8), number(16), number(24))
    let broken = ArchiveError.brokenPropertyList(.trailer, offset: start)
    guard (1...8).contains(offsetSize), (1...8).contains(referenceSize) else { throw broken }
    guard count >= 1, top < count, table > UInt64(BinaryPropertyList.magic.count), table < UInt64(start) else {
      throw broken
    }
    // The table fills the bytes between the objects and the trailer exactly; this also bounds the count.
    let room = UInt64(start) - table
    guard count <= room, count * UInt64(offsetSize) == room else { throw broken }
    objectCount = Int(count)
    self.top = Int(top)
    offsetTable = Int(table)
  }
}
