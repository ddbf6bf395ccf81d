public import GroupFile
internal import Sealing

/// Collects notices from all threads until they are shown, and knows who wants to hear of each call.
final class NoticeBoard: Sendable {
  private let notices = Locked<[Notice]>([])
  let observers = Locked<[@Sendable (StoreCall) -> Void]>([])

  func post(_ new: [Notice]) {
    for notice in new { post(notice) }
  }

  /// Posts what a change of the roster dropped.
  func post(_ left: LeftBehind, of group: String, keptAside: String?) {
    if left.unsigned > 0 {
      post(.unsignedLeftBehind(group: group, rows: left.unsigned, names: left.unproved))
    }
    if left.lost > 0 || left.lostVersions > 0 {
      post(.unprovedDropped(group: group, items: left.lost, versions: left.lostVersions, names: left.lostNames))
    }
    if let keptAside { post(.groupRemade(group: group, keptAside: keptAside)) }
    if left.losesChain { post(.chainLost(group: group)) }
  }

  func post(_ notice: Notice) {
    notices.withLock { if !$0.contains(notice), $0.count < 100 { $0.append(notice) } }
  }

  func take() -> [Notice] {
    notices.withLock { notices in
      defer { notices = [] }
      return notices
    }
  }
}

/// A call of an access group that has ended, for counters, timers and logs. It contains no item's name and no value.
public struct StoreCall: Sendable {
  /// What the call did.
  public enum Kind: String, Sendable, CaseIterable {
    /// It read or listed items, or their history.
    case read
    /// It changed items, or tried to.
    case write
  }

  public let kind: Kind
  /// The group's name.
  public let group: AccessGroup.Name
  /// How long it took.
  public let duration: Duration
  /// The error that it threw. An error that the closure of a transaction threw itself is `unexpected` here.
  public let error: VaultError?
}

extension SecretStore {
  /// Calls `observer` after every call that reads or changes items of this store's groups.
  ///
  /// A transaction, a bulk set and the beginning of a list are one call each. The looks of a ``GroupWatch`` are not
  /// calls. Observers run on the thread of the call, in the order in which they were added, for as long as the store is
  /// open. An observer must not call the store.
  public func observe(_ observer: @escaping @Sendable (StoreCall) -> Void) {
    notices.observers.withLock { $0.append(observer) }
  }
}

extension AccessGroup {
  /// Runs `body`, which does all of one call, and tells the observers how it ended.
  func observed<Result, Failure>(
    _ kind: StoreCall.Kind, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let observers = notices.observers.withLock { $0 }
    guard !observers.isEmpty else { return try body() }
    let start = SystemClock.monotonic()
    func report(_ error: VaultError?) {
      let call = StoreCall(kind: kind, group: name, duration: SystemClock.monotonic() - start, error: error)
      for observer in observers { observer(call) }
    }
    do {
      let result = try body()
      report(nil)
      return result
    } catch {
      report(error as? VaultError ?? .unexpected("an error of the transaction's closure"))
      throw error
    }
  }
}
