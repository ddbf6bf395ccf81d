internal import Glibc

/// The frames of a log (https://www.sqlite.org/walformat.html), and which of them readers see.
struct LogFrames: ~Copyable {
  private let file: OpenFile
  private(set) var pages: [UInt32] = []
  /// The frames that readers see instead of the file's pages.
  private(set) var visible = 0..<0
  /// Whether readers have an index from before, and so look neither at the log's header nor at checksums.
  private(set) var isIndexed = false

  /// Copies the log of `place` to the unused `path`, so that nobody can change it while it is read.
  ///
  /// SQLite takes no locks on the log itself, so a second descriptor is safe. No writer is active.
  ///
  /// - Returns: `nil` without a log, or if `source` says that what is there is not to be copied.
  /// - Throws: `damaged` for a log that the copy may not have; `denied`, `storage`.
  init?(
    of place: ContainerPlace, copiedTo path: String, _ shape: ContainerShape = .closed, _ source: CopySource = .trusted,
    ignoringIndex ignoresIndex: Bool = false
  ) throws(VaultError) {
    guard try ContainerPlace.status(place.logPath) != nil else { return nil }
    // One that cannot be read does not count: whoever needs to know what readers see asks for it again.
    let index = ignoresIndex ? nil : try? LogIndex(place)
    guard let file = try LogFrames.copy(place.logPath, to: path, shape, source, index?.frameCount ?? 0) else {
      return nil
    }
    try self.init(file, index)
  }

  /// A frame names a page and has the log's salts, and nothing counts after one that does not, such as a hole; so a log is
  /// copied to its end, however long the file claims to be. But readers with an index from before see the first
  /// `indexedCount` frames, whatever they are.
  private static func copy(
    _ path: String, to target: String, _ shape: ContainerShape, _ source: CopySource, _ indexedCount: Int
  ) throws(VaultError) -> OpenFile? {
    guard let log = try open(path, source) else { return nil }
    let file = try Connection.newFile(target, mode: shape.fileMode)
    var offset = 0
    var salts: [UInt8] = []
    while true {
      let byteCount = offset == 0 ? headerByteCount : frameByteCount
      let bytes = try onDisk(log.read(limit: byteCount, at: offset))
      guard bytes.count == byteCount else { break }
      if offset == 0 {
        salts = Array(bytes[16..<24])
      } else if (offset - headerByteCount) / frameByteCount >= indexedCount,
        !bytes[8..<16].elementsEqual(salts) || bytes.word(at: 0) == 0
      {
        break
      }
      try onDisk(file.write(bytes, at: offset))
      offset += byteCount
    }
    try onDisk(file.synchronize())
    return file
  }

  /// - Returns: `nil` if what is there is not to be copied.
  private static func open(_ path: String, _ source: CopySource) throws(VaultError) -> OpenFile? {
    do throws(FileFault) {
      let log = try OpenFile(leased: path)
      let status = try log.status()
      if status.isRegular, source == .trusted || status.st_nlink == 1 { return log }
    } catch {
      guard error == .wrongKind || error == .missing else { throw VaultError(error) }
    }
    guard source != .toShare else {
      throw .damaged(.container, "a file of the group is not a regular file with a single name")
    }
    return nil
  }

  private init(_ file: consuming OpenFile, _ index: LogIndex?) throws(VaultError) {
    self.file = file
    let header = try onDisk(self.file.read(limit: LogFrames.headerByteCount))
    guard header.count == LogFrames.headerByteCount else { return }
    var sum = Checksum(isBigEndian: header[3] & 1 == 1)
    sum.add(header[..<24])
    // SQLite ignores any other log.
    var isProved =
      header.word(at: 0) & ~1 == 0x377F_0682 && header.word(at: 4) == 3_007_000
      && header.word(at: 8) == UInt32(DatabasePages.size) && sum.isEqual(to: header[24...])
    while let frame = frame(pages.count) {
      pages.append(frame.word(at: 0))
      guard isProved else { continue }
      sum.add(frame[..<8])
      sum.add(frame[24...])
      isProved =
        frame[8..<16].elementsEqual(header[16..<24]) && frame.word(at: 0) != 0 && sum.isEqual(to: frame[16..<24])
      if isProved, frame.word(at: 4) != 0 { visible = 0..<pages.count }
    }
    guard let index else { return }
    let indexed = index.pages.prefix(pages.count)
    let shown = min(index.backfilledCount, indexed.count)..<indexed.count
    isIndexed = shown != visible || indexed != pages[..<indexed.count]
    guard isIndexed else { return }
    visible = shown
    pages.replaceSubrange(..<indexed.count, with: indexed)
  }

  func page(_ index: Int) throws(VaultError) -> [UInt8] {
    guard let frame = frame(index) else { throw .storage(.inputOutput) }
    return Array(frame[24...])
  }

  private func frame(_ index: Int) -> [UInt8]? {
    file.bytes(LogFrames.frameByteCount, at: LogFrames.headerByteCount + index * LogFrames.frameByteCount)
  }

  private static let headerByteCount = 32
  static let frameByteCount = 24 + DatabasePages.size

  /// SQLite's sum of words of four bytes, which goes on from frame to frame.
  struct Checksum {
    let isBigEndian: Bool
    var sums: (UInt32, UInt32) = (0, 0)

    mutating func add(_ bytes: ArraySlice<UInt8>) {
      unsafe bytes.withUnsafeBytes { bytes in
        for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
          for half in [0, 4] {
            let stored = unsafe bytes.loadUnaligned(fromByteOffset: offset + half, as: UInt32.self)
            let word = isBigEndian ? UInt32(bigEndian: stored) : UInt32(littleEndian: stored)
            if half == 0 { sums.0 = sums.0 &+ word &+ sums.1 } else { sums.1 = sums.1 &+ word &+ sums.0 }
          }
        }
      }
    }

    func isEqual(to stored: ArraySlice<UInt8>) -> Bool {
      let bytes = Array(stored)
      return bytes.word(at: 0) == sums.0 && bytes.word(at: 4) == sums.1
    }
  }
}

/// Whose files are copied, and for whom.
enum CopySource {
  /// Nobody else can write in their folder.
  case trusted
  /// Others can. What is no regular file with a single name is no log.
  case untrusted
  /// Others will be able to read the copy, or copies of it, so such a log is refused.
  case toShare
}
