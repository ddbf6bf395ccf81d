/// Why a group's file cannot be read or written as a container, before any of its content is looked at.
package enum ContainerError: Error, Equatable, Sendable {
  /// The file, or one that lies beside it, is not what Vault wrote; the text says which rule it breaks.
  case altered(String)
  /// A later version of Vault wrote the file, and this one may not read it, or not write it.
  case newerFormat(read: UInt16, write: UInt16)
  /// Others kept the file locked for as long as was waited.
  case busy
  /// The system could not store or fetch bytes.
  case storage(StorageFailure)
  /// The system's permissions forbid it.
  case denied
  /// There is no such file.
  case missing
  /// There is such a file already.
  case exists
  /// The file at the path is no longer the one that was opened.
  case moved
  /// The folder lies on a file system, of this kind, that does not keep the locks of several machines apart.
  case networkFileSystem(String)
}

/// What the system failed at; the raw value is how a message says it.
package enum StorageFailure: String, Equatable, Sendable {
  case full = "the disk is full"
  case readOnly = "the file system is read-only"
  case inputOutput = "reading or writing failed"
  case memory = "there is too little memory"
  case tooManyFiles = "too many files are open"
  case pathTooLong = "the path of the store is too long"
  case forked = "the process that opened the file has forked"
}
