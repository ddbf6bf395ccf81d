internal import GroupFile
internal import Sealing

/// How old the newest proved state of a published group may be when it is read.
///
/// The age is that of the newest signature that this machine has proved, by the clocks of its writer and of this machine. So
/// whoever withholds commits is noticed when the age is over, and not before.
extension SecretStore {
  /// - Throws: `tooOld`.
  func requireRecent(_ state: VerifiedState, _ name: AccessGroup.Name) throws(GroupFileError) {
    guard state.isPublished, let limit = maxAge(of: name.description) else { return }
    let now = ages.now()
    let age = now > state.manifest.time ? (now - state.manifest.time) / 1_000 : 0
    guard age <= limit else { throw .tooOld(seconds: age, limit: limit) }
  }

  /// In seconds; `nil` for any age. An application learns it from its credential, the owner and the service from their
  /// group, which is asked again after half a minute.
  private func maxAge(of group: String) -> UInt64? {
    if case .application(let credential) = access, let remote = credential.remote {
      return remote.maxAge.map(UInt64.init)
    }
    return ages.age(of: group) {
      guard let publication = try? publications().first(where: { $0.group == group }),
        let remote = try? remotes().first(where: { $0.name == publication.remote })
      else { return nil }
      return remote.maxAge.map(UInt64.init)
    }
  }
}

/// What a store has found out about the greatest ages of its groups.
final class KnownAges: Sendable {
  private let known = Locked<[String: (age: UInt64?, until: Duration)]>([:])
  /// The clock that ages are measured by, in milliseconds since 1970, in the place of the system's.
  let testOnlyNow = Locked<UInt64?>(nil)

  func now() -> UInt64 { testOnlyNow.withLock { $0 } ?? SystemClock.milliseconds() }

  func age(of group: String, _ find: () -> UInt64?) -> UInt64? {
    let time = SystemClock.monotonic()
    if let found = known.withLock({ $0[group] }), found.until > time { return found.age }
    let age = find()
    known.withLock { $0[group] = (age, time + .seconds(30)) }
    return age
  }
}

extension AccessGroup {
  /// As `reading`, for what users read: a copy of a published group may be too old for it.
  func readingItems<Result>(
    _ body: (ReadTransaction) throws(GroupFileError) -> Result
  ) throws(VaultError) -> Result {
    try reading { (transaction) throws(GroupFileError) in
      try requireRecent(transaction.view.state)
      return try body(transaction)
    }
  }
}
