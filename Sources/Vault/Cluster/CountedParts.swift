internal import GroupFile
internal import Sealing

/// Parts that each have their byte count as `u32` before them.
enum CountedParts {
  /// - Throws: ``VaultError/storage(_:)`` if memory is short.
  static func joined(_ open: [[UInt8]], _ secrets: [OpenedSecret?]) throws(VaultError) -> GuardedBytes {
    let count = open.reduce(0) { $0 + 4 + $1.count } + secrets.reduce(0) { $0 + 4 + ($1?.count ?? 0) }
    let bytes = try sealing(GuardedBytes(count: count))
    unsafe bytes.withUnsafeMutableBytes { bytes in
      var offset = 0
      func append(_ part: UnsafeRawBufferPointer) {
        unsafe bytes.storeBytes(of: UInt32(part.count).bigEndian, toByteOffset: offset, as: UInt32.self)
        unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[(offset + 4)...]).copyMemory(from: part)
        offset += 4 + part.count
      }
      for part in open { unsafe part.withUnsafeBytes { unsafe append($0) } }
      for secret in secrets {
        if let secret {
          unsafe secret.withUnsafeBytes { unsafe append($0) }
        } else {
          unsafe append(.init(start: nil, count: 0))
        }
      }
    }
    return bytes
  }

  /// The secret in one part; `nil` if the part is empty.
  static func secret(_ bytes: UnsafeRawBufferPointer, _ part: Range<Int>) throws(VaultError) -> OpenedSecret? {
    if part.isEmpty { return nil }
    return try unsafe Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[part])).opened
  }

  /// The ranges of the parts; `nil` if the bytes are not exactly such parts.
  static func ranges(_ bytes: UnsafeRawBufferPointer) -> [Range<Int>]? {
    var parts: [Range<Int>] = []
    var offset = 0
    while offset < bytes.count {
      guard bytes.count - offset >= 4 else { return nil }
      let count = Int(UInt32(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
      offset += 4
      guard count <= bytes.count - offset else { return nil }
      parts.append(offset..<offset + count)
      offset += count
    }
    return parts
  }
}
