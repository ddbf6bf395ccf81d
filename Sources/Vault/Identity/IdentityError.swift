internal import GroupFile
internal import Sealing

/// What can go wrong with the identity, its slots and what lies beside them. No payload holds a secret.
enum IdentityError: Error, Equatable {
  /// There is no store at `path`.
  case noStore(path: String)
  /// Nothing says where the store would be: no `VAULT_HOME`, no `HOME`, and no home folder in the system's list of users.
  case noHome
  /// Nothing that opens the store can be used.
  case locked(Lock)
  /// The passphrase or the key is not the one of the slot.
  case wrongKey(Slot.Use)
  /// What was typed is no recovery code; no key was tried.
  case mistypedCode(RecoveryCode.Defect)
  /// The bytes, or the shape, of a file are not what was written.
  case damaged(Level, String)
  /// A later version of Vault wrote the file.
  case newerFormat(Level)
  /// There is one already.
  case exists(What)
  /// The last slot cannot be removed: nothing would open the store any more.
  case lastSlot
  /// The store is being recovered, or that did not end: groups are missing.
  case recovering
  /// There is no slot of this number.
  case noSlot(Int)
  /// The system could not store or fetch bytes.
  case storage(StorageFailure)
  /// The system's permissions forbid it, or a file's owner or mode is not as it must be.
  case denied(Level, FileFault)
  /// More than the format allows.
  case overLimit(String)
  /// Another process held the lock for too long.
  case busy
  /// The store would lie on a file system, of this kind, that does not keep the locks of several machines apart.
  case networkFileSystem(String)

  /// Why the store stays locked.
  enum Lock: Equatable {
    /// The key file is not there, or not as it must be.
    case keyFile(FileFault)
    /// The folder that a new key file is to be made in is not there, or not as it must be.
    case keyFileFolder(FileFault)
    /// The key file lies inside the store that it opens.
    case keyFileInsideStore
    /// The credential is not there, or not as it must be.
    case credential(FileFault)
    /// The device key, or the state folder that holds it, is not as it must be.
    case deviceKey(FileFault)
    /// The store has no slot for a passphrase, or none for a key of this use.
    case noSlot(Slot.Use)
  }

  /// Which bytes were refused.
  enum Level: String {
    case store, identity, slot, credential, settings, state
  }

  /// What is there already.
  enum What: String {
    case store = "a store"
    case recovery = "a store whose recovery was begun"
    case passphraseSlot = "a passphrase slot"
    case keyFileSlot = "a slot for this key file"
    case file = "a file of this name"
  }

  init(_ error: SealingError) {
    self =
      switch error {
      case .overLimit: .overLimit("the costs of a passphrase, or its length")
      case .outOfMemory, .doesNotOpen, .wrongPadding, .wrongCount: .storage(.memory)
      }
  }

  /// What a fault of a file means where no caller knows better.
  init(_ fault: FileFault, at level: Level) {
    self =
      switch fault {
      case .missing: .damaged(level, "it is not there")
      case .taken: .damaged(level, "something else has its name")
      case .link: .damaged(level, "it is a symbolic link")
      case .wrongKind: .damaged(level, "it is not the kind of file or folder that belongs here")
      case .wrongSize: .damaged(level, "it is longer than it can be")
      case .foreignOwner, .openToOthers, .denied: .denied(level, fault)
      case .busy: .busy
      case .storage(let failure): .storage(failure)
      }
  }
}

/// Runs `body`, which deals with files of one level, and says what its faults mean there.
func atLevel<Result: ~Copyable>(
  _ level: IdentityError.Level, _ body: () throws(FileFault) -> Result
) throws(IdentityError) -> Result {
  do { return try body() } catch { throw IdentityError(error, at: level) }
}

/// Runs `body`, in which only memory can be lacking.
func sealing<Result: ~Copyable>(_ body: () throws(SealingError) -> Result) throws(IdentityError) -> Result {
  do { return try body() } catch { throw IdentityError(error) }
}
