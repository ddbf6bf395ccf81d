/// What the system failed at; the raw value is how a message says it.
package enum StorageFailure: String, Equatable, Sendable {
  case full = "the disk is full"
  case readOnly = "the file system is read-only"
  case inputOutput = "reading or writing failed"
  /// Syncing failed after everything was written: the change may be found later, or not.
  case unconfirmed = "the disk did not confirm the change, which may have been made or not"
  case memory = "there is too little memory"
  case tooManyFiles = "too many files are open"
  case pathTooLong = "the path of the store is too long"
  case stateFolder = "the state folder cannot be written"
  case forked = "the process that opened the file has forked"
}
