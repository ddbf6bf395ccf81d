#if Daemon
  import Ground
  import Sealing

  extension Label {
    static let logHead = Label("vault-log-head")
    static let logCommit = Label("vault-log-commit")
    static let logParts = Label("vault-log-parts")
    static let logBase = Label("vault-log-base")
    static let logSweep = Label("vault-log-sweep")
    static let logPart = Label("vault-log-part")
  }

  // The values that the log stores. Each begins with a label of 16 bytes; numbers are big-endian. A reader refuses every
  // other label, missing bytes and bytes left over.

  /// `label · epoch (8) · link (32)`.
  enum HeadValue {
    static func bytes(epoch: UInt64, link: CommitLink) -> [UInt8] {
      var writer = ByteWriter()
      writer.write(.logHead)
      writer.write(epoch)
      writer.write(link.bytes)
      return writer.bytes
    }

    static func head(_ bytes: [UInt8], _ revision: LogRevision) -> LogHead? {
      var reader = ByteReader(bytes)
      guard (try? reader.expect(.logHead)) != nil, let epoch = try? reader.read(UInt64.self),
        let link = reader.readLink(), reader.remaining == 0
      else { return nil }
      return LogHead(epoch: epoch, link: link, revision: revision)
    }
  }

  /// `label · epoch (8) · link (32) · the commit's bytes`, or for one in parts `label · epoch (8) · link (32) · parts`.
  enum CommitValue {
    case whole(UInt64, CommitLink, [UInt8])
    case inParts(UInt64, CommitLink, PartList)

    var bytes: [UInt8] {
      var writer = ByteWriter()
      switch self {
      case .whole(let epoch, let link, let bytes):
        writer.write(.logCommit)
        writer.write(epoch)
        writer.write(link.bytes)
        writer.write(bytes)
      case .inParts(let epoch, let link, let parts):
        writer.write(.logParts)
        writer.write(epoch)
        writer.write(link.bytes)
        parts.write(to: &writer)
      }
      return writer.bytes
    }

    /// - Parameter expected: the epoch in the value's key, if it must be that.
    init?(_ bytes: [UInt8], _ expected: UInt64? = nil) {
      var reader = ByteReader(bytes)
      let isWhole = (try? reader.expect(.logCommit)) != nil
      if !isWhole {
        reader = ByteReader(bytes)
        guard (try? reader.expect(.logParts)) != nil else { return nil }
      }
      guard let epoch = try? reader.read(UInt64.self), let link = reader.readLink(), epoch == expected ?? epoch else {
        return nil
      }
      if isWhole {
        guard reader.remaining <= LogLimits.part, let rest = try? reader.read(count: reader.remaining) else {
          return nil
        }
        self = .whole(epoch, link, Array(rest))
      } else {
        guard let parts = PartList(&reader, limit: LogLimits.commit), reader.remaining == 0 else { return nil }
        self = .inParts(epoch, link, parts)
      }
    }
  }

  /// `label · epoch (8) · link (32) · parts`.
  struct BaseValue {
    let epoch: UInt64
    let link: CommitLink
    let parts: PartList

    var bytes: [UInt8] {
      var writer = ByteWriter()
      writer.write(.logBase)
      writer.write(epoch)
      writer.write(link.bytes)
      parts.write(to: &writer)
      return writer.bytes
    }

    init(epoch: UInt64, link: CommitLink, parts: PartList) {
      (self.epoch, self.link, self.parts) = (epoch, link, parts)
    }

    init?(_ bytes: [UInt8]) {
      var reader = ByteReader(bytes)
      guard (try? reader.expect(.logBase)) != nil, let epoch = try? reader.read(UInt64.self),
        let link = reader.readLink(), let parts = PartList(&reader, limit: LogLimits.base), reader.remaining == 0,
        // No two parts of a compacted file are equal. Naming one again and again would fill the disks of those who fetch it.
        Set(parts.digests).count == parts.digests.count
      else { return nil }
      self.init(epoch: epoch, link: link, parts: parts)
    }
  }

  /// `byte count (8) · number of parts (4) · the digest (32) of each part`. All parts but the last are full.
  struct PartList: Sendable {
    private(set) var byteCount = 0
    private(set) var digests: [Digest] = []

    init() {}

    init(of bytes: [UInt8]) {
      for part in Self.pieces(of: bytes) { append(Hash.digest(.logPart, Array(part)), byteCount: part.count) }
    }

    init?(_ reader: inout ByteReader, limit: Int) {
      guard let count = try? reader.read(UInt64.self), count <= UInt64(limit),
        let number = try? reader.read(UInt32.self),
        Int(number) == (Int(count) + LogLimits.part - 1) / LogLimits.part,
        reader.remaining == Int(number) * Digest.byteCount
      else { return nil }
      for _ in 0..<number {
        guard let digest = try? reader.readBytes32() else { return nil }
        digests.append(digest)
      }
      byteCount = Int(count)
    }

    mutating func append(_ digest: Digest, byteCount: Int) {
      digests.append(digest)
      self.byteCount += byteCount
    }

    func write(to writer: inout ByteWriter) {
      writer.write(UInt64(byteCount))
      writer.write(UInt32(digests.count))
      for digest in digests { writer.write(digest) }
    }

    /// How many bytes the part at `index` has.
    func byteCount(at index: Int) -> Int { min(LogLimits.part, byteCount - index * LogLimits.part) }

    static func pieces(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
      stride(from: 0, to: bytes.count, by: LogLimits.part).map { bytes[$0..<min($0 + LogLimits.part, bytes.count)] }
    }
  }

  /// The value of the mark that a host puts before it removes parts. Only the mark's revision says anything; the numbers
  /// were a time and a revision in older logs.
  enum SweepMark {
    static let bytes = {
      var writer = ByteWriter()
      writer.write(.logSweep)
      for _ in 0..<2 { writer.write(UInt64(0)) }
      return writer.bytes
    }()
  }

  extension ByteReader {
    fileprivate mutating func readLink() -> CommitLink? {
      (try? read(count: CommitLink.byteCount)).flatMap { CommitLink($0) }
    }
  }
#endif
