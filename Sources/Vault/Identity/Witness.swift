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
  private let writing = Locked(Writing())

  private struct Kept: ~Copyable {
    var file: WitnessFile?
    /// What was read last, and when the file had last been changed then; `nil` where it may have changed since unnoticed.
    var record: WitnessRecord?
    var change: WitnessFile.Change?
  }

  /// What a change of the witness needs, open from one to the next.
  private struct Writing: ~Copyable {
    var folder: Folder?
    var file: WitnessFile?
    /// The bytes that were read or written last and what they say: mostly nobody else wrote since.
    var bytes: [UInt8] = []
    var newest: WitnessFile.Newest?
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
      do throws(WitnessFolder.Unusable) {
        let change = kept.file?.change()
        if let change, change == kept.change, let record = kept.record { return .valid(record) }
        // Without a name it witnesses nothing.
        if change?.isLinked != true { kept.file = nil }
        if kept.file == nil {
          guard let folder = try folder.open(), let file = try open(in: folder, O_RDONLY) else { return .absent }
          kept.file = consume file
        }
        let before = kept.file!.change()
        // Two writers in quick succession may leave a reader both records half written; never for long.
        for _ in 0..<4 {
          let bytes: [UInt8]
          do throws(FileFault) { bytes = try kept.file!.bytes() } catch { throw WitnessFolder.Unusable(error) }
          if let record = WitnessFile.newest(in: bytes, of: folder.ownerKey)?.record {
            kept.record = record
            kept.change = before?.isSettled == true ? before : nil
            return .valid(record)
          }
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
    writing.withLock { writing in
      do throws(WitnessFolder.Unusable) {
        for _ in 0..<2 {
          if writing.file == nil { writing.folder = try folder.open(making: true) }
          guard writing.folder != nil else { return false }
          // One lock for all groups of the owner, because the file of this one may still be made. It is held for
          // microseconds.
          do { try writing.folder!.lock(waiting: waiting) } catch { return false }
          defer { writing.folder!.unlock() }
          // Another process may have put a new file, or a new folder, in the place of the one that is open.
          if writing.file?.hasPath(folder.path(of: group)) == false {
            writing.file = nil
            continue
          }
          return try raise(&writing, update)
        }
        return false
      } catch {
        writing.file = nil
        return false
      }
    }
  }

  private func raise(
    _ writing: inout Writing, _ update: (WitnessReading) -> WitnessRecord?
  ) throws(WitnessFolder.Unusable) -> Bool {
    do throws(WitnessFolder.Unusable) {
      if writing.file == nil {
        writing.file = try open(in: writing.folder!, O_RDWR)
        writing.newest = nil
      }
      guard writing.file != nil else { return try make(update(.absent), in: writing.folder!) }
      let bytes: [UInt8]
      do throws(FileFault) { bytes = try writing.file!.bytes() } catch { throw WitnessFolder.Unusable(error) }
      if writing.newest == nil || !bytes.isSame(as: writing.bytes) {
        writing.newest = WitnessFile.newest(in: bytes, of: folder.ownerKey)
        writing.bytes = bytes
      }
      guard let newest = writing.newest else { throw .invalid }
      guard var record = update(.valid(newest.record)) else { return true }
      record.sequence = newest.record.sequence + 1
      guard isWritable(record) else { return false }
      writing.newest = nil
      do { try writing.file!.write(record, after: newest) } catch { return false }
      return true
    } catch .invalid {
      writing.file = nil
      return try make(update(.invalid), in: writing.folder!)
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
}

extension [UInt8] {
  /// As `==`, which compares byte by byte: this happens in every transaction.
  fileprivate func isSame(as other: [UInt8]) -> Bool {
    unsafe count == other.count && memcmp(self, other, count) == 0
  }
}
