internal import Glibc

/// A log's index (https://www.sqlite.org/walformat.html) that somebody uses; not mapped, because others could cut it short.
package struct LogIndex {
  /// Its pages, of 32 KiB each.
  let bytes: [UInt8]
  let frameCount: Int
  /// How many frames are in the file, where readers look for them.
  let backfilledCount: Int

  /// - Returns: `nil` if nobody uses one, so the next reader makes it anew, or if it leads out of its pages.
  /// - Throws: `busy` if somebody may use one that cannot be read, so that nobody knows what readers see.
  init?(_ place: ContainerPlace) throws(VaultError) {
    guard let file = try? place.file(), let status = try? ContainerPlace.status(place.indexPath), status.isRegular,
      let log = try? ContainerPlace.status(place.logPath)
    else { return nil }
    let storedCount = log.storedByteCount / LogFrames.frameByteCount
    var bytes = [UInt8](repeating: 0, count: LogIndex.pageByteCount * LogIndex.pageCount(storedCount))
    let readCount = ConnectionPool.shared.withLockedFile(at: place.indexPath, of: file.identity) { descriptor, isOurs in
      guard descriptor >= 0 else { return -1 }
      // Everybody who uses the index has a lock on this byte.
      var lock = flock()
      (lock.l_type, lock.l_whence, lock.l_start, lock.l_len) = (Int16(F_WRLCK), Int16(SEEK_SET), 128, 1)
      let isUsed = unsafe isOurs || (fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != Int16(F_UNLCK))
      return isUsed ? unsafe pread(descriptor, &bytes, bytes.count, 0) : 0
    }
    func word(_ index: Int) -> UInt32 { LogIndex.word(index, of: bytes) }
    guard readCount >= 0 else { throw .busy(group: nil) }
    guard readCount > 0, bytes[..<48] == bytes[48..<96], word(0) == 3_007_000, word(3) & 0xFF != 0 else { return nil }
    // A reader makes an index with another checksum anew.
    var sum = LogFrames.Checksum(isBigEndian: 1.bigEndian == 1)
    sum.add(bytes[..<40])
    guard sum.sums == (word(10), word(11)) else { return nil }
    // Readers miss what is not in the log only when they need it.
    frameCount = min(Int(word(4)), storedCount)
    backfilledCount = min(Int(word(24)), frameCount)
    let byteCount = LogIndex.pageByteCount * LogIndex.pageCount(frameCount)
    guard readCount >= byteCount else { throw .busy(group: nil) }
    self.bytes = Array(bytes[..<byteCount])
    // SQLite believes it: a count that overflows leads to a place before the first page, a slot to any behind a page.
    guard word(4) <= Int32.max, word(24) <= word(4), hasValidSlots else { return nil }
  }

  private var hasValidSlots: Bool {
    unsafe bytes.withUnsafeBytes { bytes in
      stride(from: LogIndex.pageByteCount / 2, to: bytes.count, by: 2).allSatisfy { place in
        let isSlot = place % LogIndex.pageByteCount >= LogIndex.pageByteCount / 2
        let limit = place < LogIndex.pageByteCount ? 4_062 : 4_096
        return unsafe !isSlot || bytes.loadUnaligned(fromByteOffset: place, as: UInt16.self) <= limit
      }
    }
  }

  /// The page of the file that each frame has.
  var pages: [UInt32] {
    (0..<frameCount).map { frame in
      // The first page of the index has fewer, because the header takes part of its space.
      let place = frame < 4_062 ? 34 + frame : (frame - 4_062) / 4_096 * 8_192 + 8_192 + (frame - 4_062) % 4_096
      return LogIndex.word(place, of: bytes)
    }
  }

  private static let pageByteCount = 32_768

  private static func pageCount(_ frameCount: Int) -> Int { frameCount <= 4_062 ? 1 : 2 + (frameCount - 4_063) / 4_096 }

  private static func word(_ index: Int, of bytes: [UInt8]) -> UInt32 {
    unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self) }
  }
}
