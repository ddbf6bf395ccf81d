internal import CZlib
internal import Exchange

/// Reads stored or deflated files of a zip archive, using the directory at its end. Encrypted archives, multi-part
/// archives and those above 4 GiB are refused.
struct ZipFile {
  private struct Place {
    let method: Int
    let sum: UInt32
    let packed: Int
    let unpacked: Int
    /// The offset of its own header.
    let start: Int
  }

  private let bytes: [UInt8]
  private var places: [String: Place] = [:]
  /// The number of bytes that may still be unpacked from all files.
  private var budget: Int

  private static let mostFiles = 50_000

  private static var damaged: ImportFault { ImportFault("it is not a zip archive, or is damaged", .damaged) }

  /// - Parameter limit: the maximum unpacked size of all files together.
  init(_ bytes: [UInt8], limit: Int) throws(ImportFault) {
    self.bytes = bytes
    budget = limit
    // A comment of at most 65,535 bytes follows the directory.
    let lowest = max(0, bytes.count - 22 - 65_535)
    guard bytes.count >= 22,
      let end = (lowest...(bytes.count - 22)).last(where: { bytes[$0...].starts(with: [0x50, 0x4B, 5, 6]) })
    else { throw Self.damaged }
    var cursor = ByteCursor(bytes, at: end + 10)
    let count = Int(try cursor.number(UInt16.self))
    _ = try cursor.number(UInt32.self)
    let start = Int(try cursor.number(UInt32.self))
    guard count <= Self.mostFiles, start <= end else { throw Self.damaged }
    var directory = ByteCursor(bytes, at: start)
    for _ in 0..<count { try addPlace(&directory) }
  }

  private mutating func addPlace(_ directory: inout ByteCursor) throws(ImportFault) {
    guard try directory.take(4) == [0x50, 0x4B, 1, 2] else { throw Self.damaged }
    _ = try directory.take(4)
    let flags = try directory.number(UInt16.self)
    let method = Int(try directory.number(UInt16.self))
    _ = try directory.take(4)
    let sum = try directory.number(UInt32.self)
    let packed = Int(try directory.number(UInt32.self))
    let unpacked = Int(try directory.number(UInt32.self))
    let lengths = try (0..<3).map { _ throws(ImportFault) in Int(try directory.number(UInt16.self)) }
    _ = try directory.take(8)
    let start = Int(try directory.number(UInt32.self))
    let name = String(decoding: try directory.take(lengths[0]), as: UTF8.self)
    _ = try directory.take(lengths[1] + lengths[2])
    guard flags & 1 == 0 else { throw ImportFault("it is an encrypted zip archive", .unsupported) }
    guard method == 0 || method == 8, start < bytes.count else { throw Self.damaged }
    places[name] = Place(method: method, sum: sum, packed: packed, unpacked: unpacked, start: start)
  }

  var names: some Sequence<String> { places.keys }

  /// The content of a file; nil if there is none with that name.
  ///
  /// - Throws: `damaged`, also if the content's checksum differs from the directory's; `overLimit`.
  mutating func file(_ name: String) throws(ImportFault) -> [UInt8]? {
    guard let place = places[name] else { return nil }
    guard place.unpacked <= budget else {
      throw ImportFault("it holds too much when it is unpacked", .overLimit)
    }
    var cursor = ByteCursor(bytes, at: place.start)
    guard try cursor.take(4) == [0x50, 0x4B, 3, 4] else { throw Self.damaged }
    _ = try cursor.take(22)
    let lengths = try (0..<2).map { _ throws(ImportFault) in Int(try cursor.number(UInt16.self)) }
    _ = try cursor.take(lengths[0] + lengths[1])
    let packed = try cursor.take(place.packed)
    let content = place.method == 0 ? packed : try Inflate.bytes(packed, .raw, limit: place.unpacked)
    guard content.count == place.unpacked, Self.sum(content) == place.sum else { throw Self.damaged }
    budget -= content.count
    return content
  }

  private static func sum(_ bytes: [UInt8]) -> UInt32 {
    unsafe UInt32(truncatingIfNeeded: crc32(0, bytes, UInt32(bytes.count)))
  }
}
