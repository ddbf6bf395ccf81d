import Sealing

/// The associated data of one half of a row: 88 bytes that tie it to its group, generation, name, version and state.
///
/// A half copied to another place, version or group does not open there (format article, "Rows").
struct RowBinding {
  /// Which half of a row is sealed.
  enum Half: UInt32 {
    case attributes = 1
    case secret = 2
  }

  private let start: [UInt8]

  /// What all rows of a group's generation share.
  init(groupID: GroupID, generation: UInt64) {
    var writer = ByteWriter(reservingCapacity: 88)
    writer.write(Label.row)
    writer.write(groupID)
    writer.write(generation)
    start = writer.bytes
  }

  /// The 88 bytes for `half` of a row.
  func bytes(token: Token, version: UInt64, state: Row.State, half: Half) -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: 88)
    writer.write(start)
    writer.write(token)
    writer.write(version)
    writer.write(half.rawValue)
    writer.write(UInt32(state.rawValue))
    return writer.bytes
  }
}
