internal import Glibc
internal import Sealing

/// The witness of one group: `witness/OWNER/GROUP` in the state folder (format article, "The witness").
///
/// Two records are written alternately, in place. So a full disk does not stop it, and if a crash tears one record the
/// other one is intact. Reading is one call on a descriptor that is kept open.
final class Witness: Witnessing {
  private let folder: WitnessFolder
  private let group: String
  private let waiting: Int
  private let kept = Locked(Kept())
  private let writing = Locked(Writing())

  private struct Kept: ~Copyable {
    var file: WitnessFile?
    /// The record read last, and the file's last change at that time; `nil` if the file may have changed unnoticed
    /// since.
    var record: WitnessRecord?
    var change: ChangeTime?
    /// The bytes that hold `record`.
    var bytes: [UInt8] = []
  }

  /// The open files that changing the witness needs, kept from one change to the next.
  private struct Writing: ~Copyable {
    var folder: Folder?
    var file: WitnessFile?
    /// The bytes that were read or written last; usually no other process has written since.
    var bytes: [UInt8] = []
    /// The record that counts in these bytes.
    var newest: WitnessFile.Newest?
  }

  /// - Parameter milliseconds: how long a change waits for other processes.
  init(of group: String, in folder: WitnessFolder, waiting milliseconds: Int = 10_000) {
    precondition(FolderName.isValid(group))
    (self.group, self.folder, waiting) = (group, folder, milliseconds)
  }

  func read() -> WitnessReading {
    kept.withLock { kept in
      do throws(WitnessReading) {
        let status = kept.file?.status()
        // A deleted file, kept open, is not a witness. Deleting it changes it, too.
        if let status, ChangeTime(status) == kept.change, let record = kept.record { return .valid(record) }
        if status?.st_nlink ?? 0 == 0 { kept.file = nil }
        if kept.file == nil {
          guard let folder = try folder.open(), let file = try open(in: folder, O_RDONLY) else { return .absent }
          kept.file = consume file
        }
        let before = kept.file!.status().map { ChangeTime($0) }
        // Two writers in quick succession may make a reader find both records half written, but only briefly.
        for _ in 0..<4 {
          let bytes = try kept.file!.bytes()
          let isKnown = kept.record != nil && bytes == kept.bytes
          if let record = isKnown ? kept.record : WitnessFile.newest(in: bytes, of: folder.ownerKey)?.record {
            (kept.record, kept.bytes) = (record, bytes)
            kept.change = before?.isSettled == true ? before : nil
            return .valid(record)
          }
          usleep(500)
        }
        throw .invalid
      } catch {
        // Forget the file, so that a repaired one is noticed.
        kept.file = nil
        return error
      }
    }
  }

  func readToWrite() -> WitnessReading {
    // Mostly this process wrote last. `read` would also ask for the time of the last change, after which the next write
    // would have to note a precise one, and the sync of the log that comes before it would write the log's inode, too.
    let known = writing.withLock { writing -> WitnessRecord? in
      guard let newest = writing.newest, writing.file?.hasPath(folder.path(of: group)) == true,
        let bytes = try? writing.file?.bytes(), bytes == writing.bytes
      else { return nil }
      return newest.record
    }
    return known.map(WitnessReading.valid) ?? read()
  }

  func raise(durably isDurable: Bool, _ update: (WitnessReading) -> WitnessRecord?) -> Bool {
    writing.withLock { writing in
      do throws(WitnessReading) {
        for _ in 0..<2 {
          if writing.file == nil { writing.folder = try folder.open(making: true) }
          guard writing.folder != nil else { return false }
          // One lock for all groups of the owner, because the file of this group may not exist yet. It is held for
          // microseconds.
          do { try writing.folder!.lock(waiting: waiting) } catch { return false }
          defer { writing.folder!.unlock() }
          // Another process may have replaced the open file or folder.
          if writing.file?.hasPath(folder.path(of: group)) == false {
            writing.file = nil
            continue
          }
          let isRaised = try raise(&writing, update)
          return isRaised && (!isDurable || writing.file?.synchronize() != false)
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
  ) throws(WitnessReading) -> Bool {
    do throws(WitnessReading) {
      if writing.file == nil {
        writing.file = try open(in: writing.folder!, O_RDWR)
        writing.newest = nil
      }
      guard writing.file != nil else { return try make(update(.absent), in: writing.folder!) }
      let bytes = try writing.file!.bytes()
      if writing.newest == nil || bytes != writing.bytes {
        writing.newest = WitnessFile.newest(in: bytes, of: folder.ownerKey)
        writing.bytes = bytes
      }
      guard let newest = writing.newest else { throw .invalid }
      guard var record = update(.valid(newest.record)) else { return true }
      record.sequence = newest.record.sequence + 1
      guard let written = serialized(record) else { return false }
      writing.newest = nil
      do { writing.bytes = try writing.file!.write(written, after: newest, in: bytes) } catch { return false }
      writing.newest = (record, 1 - newest.position)
      return true
    } catch WitnessReading.invalid {
      writing.file = nil
      return try make(update(.invalid), in: writing.folder!)
    }
  }

  /// Creates the file, or replaces one that is not a valid witness.
  private func make(_ record: WitnessRecord?, in folder: borrowing Folder) throws(WitnessReading) -> Bool {
    guard var record else { return true }
    record.sequence = 1
    guard let written = serialized(record) else { return false }
    // The second record is empty.
    do { try folder.replace(group, with: written + Array(repeating: 0, count: written.count)) } catch { return false }
    return true
  }

  // A record that a reader would refuse is never written.
  private func serialized(_ record: WitnessRecord) -> [UInt8]? {
    let bytes = record.serialized()
    return record.ownerKey == folder.ownerKey && (try? WitnessRecord(parsing: bytes)) == record ? bytes : nil
  }

  private func open(in folder: borrowing Folder, _ flags: CInt) throws(WitnessReading) -> WitnessFile? {
    do throws(FileFault) { return try WitnessFile(group, in: folder, flags, .state(user: self.folder.user)) } catch {
      if error == .missing { return nil }
      throw WitnessReading(error)
    }
  }
}

extension WitnessReading {
  /// The reading of a file or folder that cannot be used.
  fileprivate init(_ fault: FileFault) {
    self =
      switch fault {
      case .denied, .busy, .storage: .unavailable(reason: "the witness \(fault.reason)")
      default: .invalid
      }
  }
}

/// The folder of the witnesses of one owner's groups: `witness/OWNER` in the state folder.
struct WitnessFolder: Sendable {
  /// `nil` if the place of the state folder cannot be determined.
  let stateFolder: String?
  let ownerKey: PublicKey
  let user: uid_t
  /// Computed once: every write of every group opens the folder.
  private let ownerName: String

  static let name = "witness"

  init(stateFolder: String?, ownerKey: PublicKey, user: uid_t = geteuid()) {
    (self.stateFolder, self.ownerKey, self.user) = (stateFolder, ownerKey, user)
    ownerName = ownerKey.shortName
  }

  /// - Parameter making: whether to create it. The state folder itself is not created: see
  ///   ``StoreLocation/makeStateFolder(of:)``.
  /// - Returns: `nil` if it does not exist.
  func open(making: Bool = false) throws(WitnessReading) -> Folder? {
    guard let stateFolder else { throw .unavailable(reason: "there is no home folder for the state folder") }
    let trust = FileTrust.state(user: user)
    let state: Folder
    do { state = try Folder(stateFolder, trust, followingLink: true) } catch {
      throw .unavailable(reason: "the state folder \(error.reason)")
    }
    do throws(FileFault) {
      do throws(FileFault) { return try folder(in: state, trust) } catch {
        guard error == .missing, making else { throw error }
      }
      try state.makeFolder(WitnessFolder.name)
      try state.folder(WitnessFolder.name, trust).makeFolder(ownerName)
      return try folder(in: state, trust)
    } catch {
      if error == .missing { return nil }
      throw WitnessReading(error)
    }
  }

  private func folder(in state: borrowing Folder, _ trust: FileTrust) throws(FileFault) -> Folder {
    try state.folder(WitnessFolder.name, trust).folder(ownerName, trust)
  }

  /// The path of the witness of `group`; `nil` if the place of the state folder cannot be determined.
  func path(of group: String) -> String? { stateFolder.map { "\($0)/\(WitnessFolder.name)/\(ownerName)/\(group)" } }

  /// The groups that have a witness, sorted: the groups of the owner that this machine has seen.
  func groups() throws(WitnessReading) -> [String] {
    guard let folder = try open() else { return [] }
    do { return try folder.names().filter(FolderName.isValid) } catch { throw WitnessReading(error) }
  }
}

/// The open file of one witness: two records, of which the valid one with the higher sequence counts.
struct WitnessFile: ~Copyable {
  private let file: OpenFile
  private let identity: FileIdentity

  static let byteCount = 2 * WitnessRecord.byteCount

  /// - Throws: `missing`, or the reason why it is not a valid witness.
  init(_ name: String, in folder: borrowing Folder, _ flags: CInt, _ trust: FileTrust) throws(FileFault) {
    let file = try folder.open(name, flags)
    _ = try file.requireRegular(trust, size: WitnessFile.byteCount...WitnessFile.byteCount)
    identity = FileIdentity(try file.status())
    self.file = file
  }

  func status() -> stat? { try? file.status() }

  /// Whether it is on the disk.
  func synchronize() -> Bool { (try? file.synchronize()) != nil }

  func hasPath(_ path: String?) -> Bool {
    guard let path else { return false }
    return (try? ContainerPlace.identity(of: path)) == identity
  }

  typealias Newest = (record: WitnessRecord, position: Int)

  func bytes() throws(WitnessReading) -> [UInt8] {
    do { return try file.read(limit: WitnessFile.byteCount) } catch { throw WitnessReading(error) }
  }

  /// The record in `bytes` that counts; `nil` if neither is a valid record of this owner.
  static func newest(in bytes: [UInt8], of ownerKey: PublicKey) -> Newest? {
    (0...1).compactMap { position -> Newest? in
      let half = bytes.dropFirst(position * WitnessRecord.byteCount).prefix(WitnessRecord.byteCount)
      guard let record = try? WitnessRecord(parsing: Array(half)), record.ownerKey == ownerKey else { return nil }
      return (record, position)
    }.max { $0.record.sequence < $1.record.sequence }
  }

  /// Writes a record with the bytes `record` over the record that does not count; returns the bytes of both records,
  /// which were `bytes` before.
  func write(_ record: [UInt8], after newest: Newest, in bytes: [UInt8]) throws(FileFault) -> [UInt8] {
    let start = (1 - newest.position) * WitnessRecord.byteCount
    try file.write(record, at: start)
    var both = bytes
    both.replaceSubrange(start..<start + record.count, with: record)
    return both
  }
}
