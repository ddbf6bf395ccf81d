/// The first 100 bytes of a group's file (https://www.sqlite.org/fileformat.html, section 1.3): what they must say.
enum ContainerHeader {
  /// "VLT1": marks the file as a group's.
  static let applicationID: UInt32 = 0x564C_5431
  static let pageSize = 4096
  static let byteCount = 100

  /// Looks at the header before SQLite parses a thing: at what never changes in a file's life. Which versions it states counts
  /// only beside those that the owner signed.
  ///
  /// - Parameter bytes: 100 bytes.
  static func check(_ bytes: [UInt8]) throws(GroupFileError) {
    func word(_ offset: Int) -> UInt32 { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    guard bytes.count == byteCount, bytes[..<16].elementsEqual("SQLite format 3\0".utf8), word(68) == applicationID
    else {
      throw .altered("it is not a vault file")
    }
    guard bytes[16] == 0x10, bytes[17] == 0, bytes[20] == 0 else { throw .altered("the file's page size is not 4096") }
    // Anything but 2 means a rollback journal, whose recovery could delete files; it is never switched back.
    guard bytes[18] == 2, bytes[19] == 2 else { throw .altered("the file does not use a write-ahead log") }
    guard word(44) == 4, word(56) == 1 else { throw .altered("the file's encoding is not UTF-8") }
    guard word(52) == 0, word(64) == 0 else { throw .altered("the file vacuums itself") }
  }
}
