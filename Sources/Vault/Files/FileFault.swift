internal import Glibc
internal import GroupFile

/// Why a file or folder is not taken as it is. A caller says what that means for the thing the file holds.
enum FileFault: Error, Equatable {
  /// There is nothing at the path.
  case missing
  /// There is something at the path already.
  case taken
  /// The last part of the path is a symbolic link.
  case link
  /// It is a folder, a FIFO, a device or a socket where a file is meant, or no folder where one is meant.
  case wrongKind
  /// It belongs to somebody whom we do not trust.
  case foreignOwner
  /// Its mode lets others do what only its owner may.
  case openToOthers(mode: UInt32)
  /// It has more or fewer bytes than it may have.
  case wrongSize
  /// The system's permissions forbid it.
  case denied
  /// Another process kept it locked for as long as was waited.
  case busy
  /// The system failed.
  case storage(StorageFailure)

  /// What a system call that set `errno` to `number` has met.
  init(errno number: CInt) {
    self =
      switch number {
      case ENOENT: .missing
      case EEXIST: .taken
      case ELOOP: .link
      case ENOTDIR, EISDIR, ENXIO, ENODEV: .wrongKind
      case EACCES, EPERM: .denied
      case EWOULDBLOCK: .busy
      case ENOSPC, EDQUOT: .storage(.full)
      case EROFS: .storage(.readOnly)
      case ENOMEM: .storage(.memory)
      case EMFILE, ENFILE: .storage(.tooManyFiles)
      case ENAMETOOLONG: .storage(.pathTooLong)
      default: .storage(.inputOutput)
      }
  }
}

/// Who may own a file that we trust, and what its mode must not allow.
struct FileTrust: Equatable {
  var owners: [uid_t]
  var forbiddenMode: mode_t
  /// The same for a file of root's.
  var forbiddenModeOfRoots: mode_t

  init(owners: [uid_t], forbiddenMode: mode_t, forbiddenModeOfRoots: mode_t? = nil) {
    self.owners = owners
    self.forbiddenMode = forbiddenMode
    self.forbiddenModeOfRoots = forbiddenModeOfRoots ?? forbiddenMode
  }

  /// For secrets: ours or root's, and closed to everybody else.
  static func secret(user: uid_t = geteuid()) -> FileTrust { FileTrust(owners: [user, 0], forbiddenMode: 0o077) }

  /// For a credential that the system hands over: ours and closed to everybody else, or root's and readable by one Unix group.
  ///
  /// Kubernetes gives a Secret to the pod's group that way. systemd puts the service's user on the access list of root's file,
  /// and the bits of the file's group then say what the list allows at most. Either way root alone decided who may read it.
  static func handedOver(user: uid_t = geteuid()) -> FileTrust {
    FileTrust(owners: [user, 0], forbiddenMode: 0o077, forbiddenModeOfRoots: 0o037)
  }

  /// For what others may see but not change.
  static func visible(user: uid_t = geteuid()) -> FileTrust { FileTrust(owners: [user, 0], forbiddenMode: 0o022) }

  /// Checks what the system says of a file.
  func check(_ status: stat) throws(FileFault) {
    guard owners.contains(status.st_uid) else { throw .foreignOwner }
    let mode = status.st_mode & 0o7777
    guard mode & (status.st_uid == 0 ? forbiddenModeOfRoots : forbiddenMode) == 0 else {
      throw .openToOthers(mode: mode)
    }
  }
}

extension FileFault {
  /// Whether the system failed, rather than the file.
  var isOfStorage: Bool { if case .storage = self { true } else { false } }

  /// What is wrong, to follow the name of the thing: "the key file" … "is a symbolic link".
  var reason: String {
    switch self {
    case .missing: "is not there"
    case .taken: "is there already"
    case .link: "is a symbolic link"
    case .wrongKind: "is not the kind of file or folder that belongs here"
    case .foreignOwner: "belongs to another user"
    case .openToOthers(let mode): "is open to other users (mode \(String(mode, radix: 8)))"
    case .wrongSize: "has the wrong size"
    case .denied: "cannot be opened: permission denied"
    case .busy: "is locked by another process"
    case .storage(let failure): "cannot be used: \(failure.rawValue)"
    }
  }
}
