internal import Glibc
internal import Ground

/// The frames of a log (https://www.sqlite.org/walformat.html), and which of them readers see.
struct LogFrames: ~Copyable {
  private let file: OpenFile
  /// The page that each frame has.
  private(set) var pages: [UInt32] = []
  /// The frames that readers see instead of the file's pages.
  private(set) var visible = 0..<0
  /// Whether readers have an index from before, and so look neither at the log's header nor at checksums.
  private(set) var isIndexed = false

  /// Copies the log to the unused `path`, from where it is removed, so that nobody can change it while it is read.
  ///
  /// - Returns: `nil` without a log.
  static func read(_ place: ContainerPlace, through path: String) throws(VaultError) -> LogFrames? {
    guard try ContainerPlace.status(place.logPath)?.isRegular == true else { return nil }
    let index = LogIndex(place)
    try SalvageCopy.copyLog(place.logPath, to: path, atLeast: index?.frameCount ?? 0)
    defer { unsafe unlink(path) }
    return try LogFrames(onDisk(OpenFile(path, O_RDONLY)), index)
  }

  private init(_ file: consuming OpenFile, _ index: LogIndex?) throws(VaultError) {
    self.file = file
    let header = try onDisk(self.file.read(limit: SalvageCopy.logHeaderByteCount))
    guard header.count == SalvageCopy.logHeaderByteCount else { return }
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
    guard let index, index.frameCount <= pages.count, index.pages.count == index.frameCount else { return }
    isIndexed = index.backfilledCount..<index.frameCount != visible || index.pages[...] != pages[..<index.frameCount]
    guard isIndexed else { return }
    visible = index.backfilledCount..<index.frameCount
    pages.replaceSubrange(..<index.frameCount, with: index.pages)
  }

  func page(_ index: Int) throws(VaultError) -> [UInt8] {
    guard let frame = frame(index) else { throw .storage(.inputOutput) }
    return Array(frame[24...])
  }

  private func frame(_ index: Int) -> [UInt8]? {
    var frame = [UInt8](repeating: 0, count: SalvageCopy.frameByteCount)
    let offset = SalvageCopy.logHeaderByteCount + index * frame.count
    return unsafe pread(file.descriptor, &frame, frame.count, offset) == frame.count ? frame : nil
  }

  /// SQLite's sum of words of four bytes, which goes on from frame to frame.
  private struct Checksum {
    let isBigEndian: Bool
    private var sums: (UInt32, UInt32) = (0, 0)

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

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

/// The index of a log, as far as readers use it (https://www.sqlite.org/walformat.html, section 2).
private struct LogIndex {
  let frameCount: Int
  /// How many frames are in the file, where readers look for them.
  let backfilledCount: Int
  /// The page of each frame.
  private(set) var pages: [UInt32] = []

  /// - Returns: `nil` without one that somebody uses: otherwise the next reader makes it anew.
  init?(_ place: ContainerPlace) {
    guard let file = try? place.file(), let status = try? ContainerPlace.status(place.indexPath), status.isRegular,
      let log = try? ContainerPlace.status(place.logPath)
    else { return nil }
    let descriptor = unsafe open(place.indexPath, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    // Closing it would end the locks of this process's connections to the file.
    let isOurs = ConnectionTable.shared.isOpen(file.identity)
    defer { if !isOurs { close(descriptor) } }
    // Everybody who uses the index has a lock on this byte.
    var lock = flock()
    (lock.l_type, lock.l_whence, lock.l_start, lock.l_len) = (Int16(F_WRLCK), Int16(SEEK_SET), 128, 1)
    guard isOurs || (unsafe fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != Int16(F_UNLCK)) else { return nil }
    // Read and not mapped, because somebody could cut the file short.
    func words(_ count: Int, at offset: Int) -> [UInt32]? {
      var words = [UInt32](repeating: 0, count: count)
      return unsafe pread(descriptor, &words, 4 * count, offset) == 4 * count ? words : nil
    }
    guard let header = words(25, at: 0), header[..<12] == header[12..<24], header[0] == 3_007_000,
      header[3] & 0xFF == 1
    else { return nil }
    // A reader makes an index with another checksum anew.
    var sums: (UInt32, UInt32) = (0, 0)
    for index in stride(from: 0, to: 10, by: 2) {
      sums.0 = sums.0 &+ header[index] &+ sums.1
      sums.1 = sums.1 &+ header[index + 1] &+ sums.0
    }
    guard header[10] == sums.0, header[11] == sums.1,
      Int(header[4]) <= log.storedByteCount / SalvageCopy.frameByteCount
    else { return nil }
    (frameCount, backfilledCount) = (Int(header[4]), min(Int(header[24]), Int(header[4])))
    // The first block has fewer, because the header takes part of its space.
    var block = 0
    while pages.count < frameCount {
      let count = min(block == 0 ? 4_062 : 4_096, frameCount - pages.count)
      guard let found = words(count, at: block == 0 ? 136 : block << 15) else { return nil }
      pages += found
      block += 1
    }
  }
}
