#if Daemon
  import Glibc
  import Ground
  import Sealing
  import Synchronization
  import VaultFoundation

  /// A complete file, read in the pieces that a log takes.
  struct FilePieces: Sendable {
    private let path: String

    init(_ path: String) { self.path = path }

    /// - Returns: `nil` behind the end of the file.
    func piece(_ index: Int) throws(LogError) -> [UInt8]? {
      let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
      guard descriptor >= 0 else { throw .stopped }
      defer { close(descriptor) }
      var bytes = [UInt8](repeating: 0, count: LogLimits.part)
      var filled = 0
      while filled < bytes.count {
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
          unsafe pread(
            descriptor, UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).baseAddress, buffer.count - filled,
            off_t(index * LogLimits.part + filled))
        }
        guard count >= 0 || errno == EINTR else { throw .stopped }
        if count == 0 { break }
        filled += max(count, 0)
      }
      return filled == 0 ? nil : Array(bytes[..<filled])
    }
  }

  /// A file that is being fetched.
  final class NewFile: Sendable {
    private let descriptor: CInt
    private let wasFull = Atomic(false)

    /// Whether the disk, or the user's share of it, was used up.
    var isFull: Bool { wasFull.load(ordering: .relaxed) }

    /// - Parameter descriptor: is closed at the end.
    init(descriptor: CInt) { self.descriptor = descriptor }

    init(_ path: String) throws(VaultError) {
      descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw .storage(errno == ENOSPC || errno == EDQUOT ? .full : .inputOutput) }
    }

    deinit { close(descriptor) }

    func append(_ piece: [UInt8]) throws(LogError) {
      var rest = piece[...]
      while !rest.isEmpty {
        let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else {
          if count < 0, errno == EINTR { continue }
          if errno == ENOSPC || errno == EDQUOT { wasFull.store(true, ordering: .relaxed) }
          throw .stopped
        }
        rest = rest.dropFirst(count)
      }
    }
  }

  extension PublishedFile {
    /// - Throws: ``VaultError/invalid(_:)``.
    init(decoding bytes: [UInt8]) throws(VaultError) {
      do {
        var reader = ByteReader(bytes)
        guard let path = String(validating: try reader.readCounted16(), as: UTF8.self) else {
          throw ByteReader.Failure()
        }
        let previous = PublishedState(
          groupID: try reader.readBytes32(), epoch: try reader.readCounter(), link: try reader.readBytes32())
        let state = PublishedState(
          groupID: previous.groupID, epoch: try reader.readCounter(), link: try reader.readBytes32())
        try reader.finish()
        self.init(path: path, state: state, previous: previous)
      } catch {
        throw .invalid("a request that does not follow the protocol")
      }
    }
  }

  extension Replica {
    /// Writes the complete file `base` to a new file at `path`.
    func fetch(_ base: LogBase, to path: String) throws(VaultError) {
      let file = try NewFile(path)
      do {
        try Blocking.wait { [self] in
          try await log.readBase(base) { piece throws(LogError) in
            guard !isEnded else { throw .stopped }
            try file.append(piece)
          }
        }
      } catch let error as LogError {
        throw file.isFull ? .storage(.full) : meaning(of: error, isChange: false)
      } catch {
        throw .unexpected("an error of a log")
      }
    }

    /// The pieces of the complete file at `path`.
    func pieces(of path: String) -> BasePieces {
      let file = FilePieces(path)
      return { [self] index throws(LogError) in
        guard !isEnded else { throw .stopped }
        return try file.piece(index)
      }
    }

    /// The commits that follow a complete file; none if the next one is missing or cannot be read.
    static func commits(
      after epoch: UInt64, of group: String, from log: any CommitLog
    ) throws(VaultError) -> [[UInt8]] {
      let found: Result<[StoredCommit], LogError>
      do {
        found = try Blocking.wait {
          await result { () async throws(LogError) in try await log.commits(after: epoch, limit: 256) }
        }
      } catch {
        throw .unexpected("an error of a log")
      }
      switch found {
      case .success(let commits): return commits.map(\.commit.bytes)
      case .failure(.baseNeeded), .failure(.damaged): return []
      case .failure(let error): throw meaning(of: error, group, isChange: false)
      }
    }
  }
#endif
