internal import GroupFile
internal import Sealing

extension SecretStore {
  /// Lets every program of this user open the store without being asked, for a time: the kernel keeps the key to the items,
  /// but not the one that changes members, groups and slots, for which the store is opened anew.
  ///
  /// - Parameters:
  ///   - location: by default what this process's environment names.
  ///   - unlocking: what opens the store; that it is unlocked already does not count.
  ///   - duration: at least a second, at most a week.
  /// - Returns: when it ends; sooner with ``lock(at:)``, or when the machine stops.
  /// - Throws: what keeps the store from being opened; ``VaultError/denied(_:)`` for an application, whose credential opens its
  ///   groups without; ``VaultError/noKeyring(_:)`` where the kernel keeps no keys; ``VaultError/invalid(_:)``.
  @discardableResult
  public static func unlock(
    at location: StoreLocation? = nil, unlocking: consuming Unlocking = .automatic(), for duration: Duration
  ) throws(VaultError) -> Timestamp {
    guard (.seconds(1)...longestUnlocking).contains(duration) else {
      throw .invalid("a store is unlocked for a second to 7 days")
    }
    let location = if let location { location } else { try StoreLocation.standard() }
    guard case .owner(let identity) = try StoreAccess.open(location, unlocking, usesKeyring: false) else {
      throw .denied(.ownerOnly)
    }
    let seconds = duration.components.seconds
    let deadline = SystemClock.milliseconds() + UInt64(seconds) * 1_000
    let record: UnlockedRecord
    do {
      record = try UnlockedRecord(identity.ownerKey, try identity.personalMember(), until: deadline)
    } catch {
      throw .storage(StorageFailure.memory.rawValue)
    }
    do { try record.keep(for: UInt32(seconds), as: identity.ownerKey) } catch { throw .noKeyring(error.reason) }
    return Timestamp(milliseconds: deadline)
  }

  private static let longestUnlocking = Duration.milliseconds(UnlockedRecord.longest)

  /// Ends what ``unlock(at:unlocking:for:)`` began. Programs that have the store open keep it open.
  ///
  /// - Returns: whether the store was unlocked.
  /// - Throws: ``VaultError/noStore(path:)`` and what keeps the identity file from being read.
  @discardableResult
  public static func lock(at location: StoreLocation? = nil) throws(VaultError) -> Bool {
    let location = if let location { location } else { try StoreLocation.standard() }
    return UnlockedRecord.forget(try location.identityFile().ownerKey)
  }
}
