internal import GroupFile
internal import Sealing

/// Limits how old the newest proved state of a published group may be when it is read.
///
/// The age is the time since the newest signature that this machine has proved, by the clocks of the writer and of this
/// machine. So someone who withholds commits is noticed when the limit has passed, and not before.
extension SecretStore {
  /// - Throws: `unordered(.tooOld)`.
  func requireRecent(_ state: VerifiedState, _ name: AccessGroup.Name) throws(VaultError) {
    guard state.isPublished, let limit = maxAge(of: name.description) else { return }
    let now = ages.now()
    let age = now > state.manifest.time ? (now - state.manifest.time) / 1_000 : 0
    guard age <= limit else { throw .unordered(.tooOld(seconds: age, limit: limit)) }
  }

  /// In seconds; `nil` for no limit. An application knows it from its credential. The owner and the service read it
  /// from their group, at most every half minute.
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

/// The age limits of groups that a store has looked up.
final class KnownAges: Sendable {
  private let known = Locked<[String: (age: UInt64?, until: Duration)]>([:])
  /// The time that ages are measured by, in milliseconds since 1970; `nil` for the system's clock.
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
  /// Like `reading`, for reads on behalf of users, which fail if the copy of a published group is too old.
  func readingItems<Result>(
    _ body: (ReadTransaction) throws(VaultError) -> Result
  ) throws(VaultError) -> Result {
    try reading { (transaction) throws(VaultError) in
      try requireRecent(transaction.view.state)
      return try body(transaction)
    }
  }
}
