import Sealing

/// The associated data of one half of a row: 88 bytes that tie it to its group, generation, name, version and state.
///
/// A half copied to another place, version or group does not open there (format article, "Rows").
struct RowBinding: Sendable {
  /// Which half of a row is sealed.
  enum Half: UInt32 {
    case attributes = 1
    case secret = 2
  }

  private let start: [UInt8]

  private static let byteCount = 88

  /// What all rows of a group's generation share.
  init(groupID: GroupID, generation: UInt64) {
    var writer = ByteWriter(reservingCapacity: 56)
    writer.write(Label.row)
    writer.write(groupID)
    writer.write(generation)
    start = writer.bytes
  }

  /// The 88 bytes for `half` of a row.
  func bytes(token: Token, version: UInt64, state: Row.State, half: Half) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: RowBinding.byteCount) { buffer, initializedCount in
      let bytes = UnsafeMutableRawBufferPointer(buffer)
      unsafe start.span.withUnsafeBytes { unsafe bytes.copyMemory(from: $0) }
      unsafe bytes.storeBytes(of: token.high.bigEndian, toByteOffset: 56, as: UInt64.self)
      unsafe bytes.storeBytes(of: token.low.bigEndian, toByteOffset: 64, as: UInt64.self)
      unsafe bytes.storeBytes(of: version.bigEndian, toByteOffset: 72, as: UInt64.self)
      unsafe bytes.storeBytes(of: half.rawValue.bigEndian, toByteOffset: 80, as: UInt32.self)
      unsafe bytes.storeBytes(of: UInt32(state.rawValue).bigEndian, toByteOffset: 84, as: UInt32.self)
      initializedCount = RowBinding.byteCount
    }
  }
}
