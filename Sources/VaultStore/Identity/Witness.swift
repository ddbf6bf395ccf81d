internal import Glibc
internal import GroupFile
internal import Sealing

/// The witness of one group: `witness/OWNER/GROUP` in the state folder (format article, "The witness").
///
/// Two records are written in turn, in place: a full disk does not stop it, and of a record torn by a crash the other one
/// is left. Reading is one call on a descriptor that is kept open.
final class Witness: Witnessing {
  private let folder: WitnessFolder
  private let group: String
  private let waiting: Int
  private let kept = Locked(Kept())

  private struct Kept: ~Copyable {
    var file: WitnessFile?
    /// The bytes read last and what they say: most readings find the same, and need no hash.
    var bytes: [UInt8] = []
    var record: WitnessRecord?
  }

  /// - Parameter milliseconds: how long a change waits for other processes.
  init(of group: String, in folder: WitnessFolder, waiting milliseconds: Int = 10_000) {
    precondition(FolderName.isValid(group))
    self.group = group
    self.folder = folder
    waiting = milliseconds
  }

  func read() -> WitnessReading {
    kept.withLock { kept in
      if kept.file?.isLinked == false { kept.file = nil }
      do throws(WitnessFolder.Unusable) {
        if kept.file == nil {
          guard let folder = try folder.open(), let file = try open(in: folder, O_RDONLY) else { return .absent }
          kept.file = consume file
        }
        // Two writers in quick succession may leave a reader both records half written; never for long.
        for _ in 0..<4 {
          let bytes: [UInt8]
          do throws(FileFault) { bytes = try kept.file!.bytes() } catch { throw WitnessFolder.Unusable(error) }
          if !bytes.isSame(as: kept.bytes) {
            kept.record = WitnessFile.newest(in: bytes, of: folder.ownerKey)?.record
            kept.bytes = bytes
          }
          if let record = kept.record { return .valid(record) }
          usleep(500)
        }
        throw .invalid
      } catch {
        // So that a file put right is seen.
        kept.file = nil
        return error.reading
      }
    }
  }

  func raise(_ update: (WitnessReading) -> WitnessRecord?) -> Bool {
    do throws(WitnessFolder.Unusable) {
      guard let open = try folder.open(making: true) else { return false }
      // One lock for all groups of the owner, because the file of this one may still be made. It is held for microseconds.
      do { try open.file.lock(waiting: waiting) } catch { return false }
      defer { open.file.unlock() }
      return try raise(in: open, update)
    } catch {
      return false
    }
  }

  private func raise(
    in folder: borrowing Folder, _ update: (WitnessReading) -> WitnessRecord?
  ) throws(WitnessFolder.Unusable) -> Bool {
    do throws(WitnessFolder.Unusable) {
      guard let file = try open(in: folder, O_RDWR) else { return try make(update(.absent), in: folder) }
      guard let newest = try newest(in: file) else { throw .invalid }
      guard var record = update(.valid(newest.record)) else { return true }
      record.sequence = newest.record.sequence + 1
      guard isWritable(record) else { return false }
      do { try file.write(record, after: newest) } catch { return false }
      return true
    } catch .invalid {
      return try make(update(.invalid), in: folder)
    }
  }

  /// Puts a new file in the place of none, or of one that is no witness.
  private func make(
    _ record: WitnessRecord?, in folder: borrowing Folder
  ) throws(WitnessFolder.Unusable) -> Bool {
    guard var record else { return true }
    record.sequence = 1
    guard isWritable(record) else { return false }
    do { try folder.replace(group, with: WitnessFile.initial(record)) } catch { return false }
    return true
  }

  // A record that reading would refuse is never written.
  private func isWritable(_ record: WitnessRecord) -> Bool {
    record.ownerKey == folder.ownerKey && (try? WitnessRecord(parsing: record.serialized())) == record
  }

  private func open(in folder: borrowing Folder, _ flags: CInt) throws(WitnessFolder.Unusable) -> WitnessFile? {
    do throws(FileFault) {
      return try WitnessFile(group, in: folder, flags, .state(user: self.folder.user))
    } catch {
      if error == .missing { return nil }
      throw WitnessFolder.Unusable(error)
    }
  }

  private func newest(in file: borrowing WitnessFile) throws(WitnessFolder.Unusable) -> WitnessFile.Newest? {
    do { return try file.newest(of: folder.ownerKey) } catch { throw WitnessFolder.Unusable(error) }
  }
}

extension [UInt8] {
  /// As `==`, which compares byte by byte: this happens in every transaction.
  fileprivate func isSame(as other: [UInt8]) -> Bool {
    unsafe count == other.count && memcmp(self, other, count) == 0
  }
}
