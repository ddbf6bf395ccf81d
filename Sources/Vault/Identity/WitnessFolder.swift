internal import Glibc
internal import GroupFile
internal import Sealing

/// Where the witnesses of one owner's groups are: `witness/OWNER` in the state folder.
struct WitnessFolder: Sendable {
  /// `nil` where nothing says where the state folder would be.
  let stateFolder: String?
  let ownerKey: PublicKey
  let user: uid_t
  /// Computed once: every write of every group opens the folder.
  private let ownerName: String

  static let name = "witness"

  init(stateFolder: String?, ownerKey: PublicKey, user: uid_t = geteuid()) {
    self.stateFolder = stateFolder
    self.ownerKey = ownerKey
    self.user = user
    ownerName = ownerKey.shortName
  }

  /// Why there is nothing to read or write.
  enum Unusable: Error, Equatable {
    /// The machine does not let us: a reason that a user can act on.
    case unavailable(String)
    /// What is there is no witness.
    case invalid

    init(_ fault: FileFault) {
      self =
        switch fault {
        case .denied, .busy, .storage: .unavailable("the witness \(fault.reason)")
        default: .invalid
        }
    }

    var reading: WitnessReading {
      switch self {
      case .unavailable(let reason): .unavailable(reason: reason)
      case .invalid: .invalid
      }
    }
  }

  /// Opens the folder.
  ///
  /// - Parameter making: whether it is made; the state folder itself never is, see ``Locations/makeStateFolder(of:)``.
  /// - Returns: `nil` if it is not there.
  func open(making: Bool = false) throws(Unusable) -> Folder? {
    guard let stateFolder else { throw .unavailable("there is no home folder for the state folder") }
    let trust = FileTrust.state(user: user)
    let state: Folder
    do { state = try Folder(stateFolder, trust, followingLink: true) } catch {
      throw .unavailable("the state folder \(error.reason)")
    }
    do throws(FileFault) {
      return try folder(in: state, trust)
    } catch {
      guard error == .missing else { throw Unusable(error) }
    }
    guard making else { return nil }
    do throws(FileFault) {
      try state.makeFolder(WitnessFolder.name)
      try state.folder(WitnessFolder.name, trust).makeFolder(ownerName)
      return try folder(in: state, trust)
    } catch {
      if error == .missing { return nil }
      throw Unusable(error)
    }
  }

  private func folder(in state: borrowing Folder, _ trust: FileTrust) throws(FileFault) -> Folder {
    try state.folder(WitnessFolder.name, trust).folder(ownerName, trust)
  }

  /// Where the witness of `group` lies; `nil` where nothing says where the state folder would be.
  func path(of group: String) -> String? {
    stateFolder.map { "\($0)/\(WitnessFolder.name)/\(ownerName)/\(group)" }
  }

  /// The groups that have a witness, sorted: what this machine has seen of the owner.
  ///
  /// - Throws: why it cannot be told.
  func groups() throws(Unusable) -> [String] {
    guard let folder = try open() else { return [] }
    do { return try folder.names().filter(FolderName.isValid) } catch { throw Unusable(error) }
  }
}

/// The open file of one witness: two records, of which the valid one with the higher sequence counts.
struct WitnessFile: ~Copyable {
  private let file: OpenFile

  /// The number of bytes: 512.
  static let byteCount = 2 * WitnessRecord.byteCount

  /// - Throws: `missing`, or why it is no witness.
  init(_ name: String, in folder: borrowing Folder, _ flags: CInt, _ trust: FileTrust) throws(FileFault) {
    let file = try folder.open(name, flags)
    _ = try file.requireRegular(trust, size: WitnessFile.byteCount...WitnessFile.byteCount)
    self.file = file
  }

  /// The bytes of a new file.
  static func initial(_ record: WitnessRecord) -> [UInt8] {
    record.serialized() + [UInt8](repeating: 0, count: WitnessRecord.byteCount)
  }

  /// Which change of the file was its last one.
  struct Change: Equatable {
    let isLinked: Bool
    private let seconds: Int
    private let nanoseconds: Int

    fileprivate init(_ status: stat) {
      isLinked = status.st_nlink > 0
      seconds = status.st_ctim.tv_sec
      nanoseconds = status.st_ctim.tv_nsec
    }

    /// Whether any later change will show as another one: the clock that stamps them goes on in steps of some milliseconds.
    var isSettled: Bool {
      var now = timespec()
      unsafe clock_gettime(CLOCK_REALTIME_COARSE, &now)
      return (now.tv_sec - seconds) * 1_000_000_000 + now.tv_nsec - nanoseconds > 100_000_000
    }
  }

  /// The last change of the file, by the system's clock, which nobody sets for a single file; `nil` where that is not told.
  func change() -> Change? { (try? file.status()).map(Change.init) }

  /// Whether it is this file that lies at `path`.
  func hasPath(_ path: String?) -> Bool {
    var found = stat()
    guard let path, let own = try? file.status(), unsafe lstat(path, &found) == 0 else { return false }
    return found.st_dev == own.st_dev && found.st_ino == own.st_ino
  }

  /// The record that counts, and which of the two it is.
  struct Newest {
    let record: WitnessRecord
    let position: Int
  }

  /// Both records as they lie there.
  func bytes() throws(FileFault) -> [UInt8] { try file.read(limit: WitnessFile.byteCount) }

  /// The record in `bytes` that counts; `nil` if neither is a valid one of this owner.
  static func newest(in bytes: [UInt8], of ownerKey: PublicKey) -> Newest? {
    (0...1).compactMap { position -> Newest? in
      let half = bytes.dropFirst(position * WitnessRecord.byteCount).prefix(WitnessRecord.byteCount)
      guard let record = try? WitnessRecord(parsing: Array(half)), record.ownerKey == ownerKey else { return nil }
      return Newest(record: record, position: position)
    }.max { $0.record.sequence < $1.record.sequence }
  }

  /// Writes `record` over the one that does not count.
  func write(_ record: WitnessRecord, after newest: Newest) throws(FileFault) {
    try file.write(record.serialized(), at: (1 - newest.position) * WitnessRecord.byteCount)
  }
}
