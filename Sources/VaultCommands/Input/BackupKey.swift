internal import Vault

/// An open backup, and the slot that the new store gets in addition to the one that opened the backup.
struct OpenedBackup: ~Copyable {
  let recovery: StoreRecovery
  let slot: NewSlot?
}

/// The key that opens a backup: the one named on the command line if it opens a slot of the backup, and otherwise one
/// that is asked for.
struct BackupKey {
  private let named: KeySource.Named?
  private let recoveryDescriptor: Int32?
  private let backup: String
  private let session: Session

  init(_ named: KeySource.Named?, _ recoveryDescriptor: Int32?, _ backup: String, _ session: Session) {
    self.named = named
    self.recoveryDescriptor = recoveryDescriptor
    self.backup = backup
    self.session = session
  }

  /// - Parameter new: returns the additional slot of the store.
  /// - Returns: no slot if the named key opened the backup.
  func open(new: () throws -> NewSlot) throws -> OpenedBackup {
    if let recoveryDescriptor {
      let opened = try recovery { _ in .recoveryCode(try session.recoveryCode(descriptor: recoveryDescriptor)) }
      return OpenedBackup(recovery: opened, slot: try new())
    }
    switch named {
    case .keyFile(let path)?:
      do {
        return OpenedBackup(recovery: try recovery { _ in .keyFile(path) }, slot: nil)
      } catch VaultError.wrongKey, VaultError.locked(.keyFile(.missing, _)), VaultError.locked(.noSlot) {
        // The key file is new, or the backup has no slot for key files. Nobody types a code for a file that is unfit.
      }
    case .passphrase(let descriptor)?:
      let line = try KeySource.passphraseLine(descriptor: descriptor)
      do {
        return OpenedBackup(recovery: try recovery { _ in .passphrase(try line.secret()) }, slot: nil)
      } catch VaultError.wrongKey, VaultError.locked {
        return OpenedBackup(recovery: try asked(), slot: .passphrase(try line.secret()))
      }
    default: break
    }
    let opened = try asked()
    return OpenedBackup(recovery: opened, slot: named == nil && opened.hasPassphrase ? nil : try new())
  }

  private func asked() throws -> StoreRecovery {
    let place = session.shown(backup)
    return try recovery { kinds in
      let missing = VaultError.locked(
        .nobodyToAsk("there is no terminal to ask for the recovery code (--recovery-fd N)"))
      if kinds.contains(.recoveryCode) || !kinds.contains(.passphrase) {
        let instead = kinds.contains(.passphrase) ? " (press Enter to use its passphrase instead)" : ""
        let code = try session.askSecret("recovery code of \(place)\(instead): ", else: missing)
        if code.count > 0 || !kinds.contains(.passphrase) { return .recoveryCode(code) }
      }
      return .passphrase(try session.askSecret("passphrase of \(place): ", else: missing))
    }
  }

  /// Rethrows the store's errors. The session reports all others.
  private func recovery(_ key: (Set<Slot.Kind>) throws -> SlotKey) throws -> StoreRecovery {
    var failure: (any Error)?
    do {
      return try StoreRecovery(from: backup, at: StoreLocation(environment: session.environment)) {
        (kinds) throws(VaultError) in
        do { return try key(kinds) } catch {
          failure = error
          throw error as? VaultError ?? .locked(.nobodyToAsk("nothing was given"))
        }
      }
    } catch {
      throw failure ?? error
    }
  }
}
