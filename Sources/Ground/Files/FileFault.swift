internal import Glibc

/// Why a file or folder cannot be used. Callers translate it into an error about the thing that the file holds.
@nonexhaustive
public enum FileFault: Error, Sendable, Equatable {
  /// Nothing exists at the path.
  case missing
  /// Something exists at the path already.
  case taken
  /// The last part of the path is a symbolic link.
  case link
  /// It is a folder, a FIFO, a device or a socket instead of a file, or not a folder where one is required.
  case wrongKind
  /// It belongs to a user whom we do not trust.
  case foreignOwner
  /// Its mode gives others a right that only its owner may have.
  case openToOthers(mode: UInt32)
  /// Its size is not in the allowed range.
  case wrongSize
  /// The system's permissions forbid it.
  case denied
  /// Another process held the lock for the whole waiting time.
  case busy
  /// The system failed.
  case storage(StorageFailure)

  package init(errno number: CInt) {
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
      case EFBIG: .storage(.fileTooLarge)
      case ENOMEM: .storage(.memory)
      case EMFILE, ENFILE: .storage(.tooManyFiles)
      case ENOLCK: .storage(.noLocks)
      case ENAMETOOLONG: .storage(.pathTooLong)
      default: .storage(.inputOutput)
      }
  }

  /// The fault as a predicate that follows the name of the thing: "the key file" … "is a symbolic link".
  package var reason: String {
    switch self {
    case .missing: "does not exist"
    case .taken: "already exists"
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

/// The way in which the storage failed; the raw value is the text for messages.
@nonexhaustive
public enum StorageFailure: String, Sendable {
  case full = "the disk is full"
  case readOnly = "the file system is read-only"
  case fileTooLarge = "the file cannot grow any further"
  case inputOutput = "reading or writing failed"
  /// Syncing failed after everything was written, or the files were replaced at that moment: the change may have been made or
  /// not.
  case unconfirmed = "the change could not be confirmed: it may have been made or not"
  case memory = "there is not enough memory"
  case tooManyFiles = "too many files are open"
  case noLocks = "the system has no locks left"
  case pathTooLong = "the path is too long"
  case pathNotText = "the path is not UTF-8"
  case stateFolder = "the state folder cannot be written"
  case forked = "the process that opened the file has forked"
  case replaced = "the group's file was replaced meanwhile"
  case fixedFolder =
    "the group's folder cannot be exchanged: it is a link or a mount point, or in a lower layer of an overlay"
  case noBackupFolder = "the folder above the backup's does not exist"

  /// Whether it concerns one file, so that work on others can go on.
  package var isOfOneFile: Bool { [.replaced, .inputOutput, .fileTooLarge].contains(self) }
}
