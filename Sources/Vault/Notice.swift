public import GroupFile
internal import KeyedArchives
internal import Sealing

extension Notice {
  /// The notice as text: lower case, no full stop.
  public var message: String {
    switch self {
    case .witnessUnavailable(let reason):
      "an older copy of the store would not be noticed: \(reason)"
    case .witnessInvalid(let group):
      "the witness of '\(group)' is damaged; nothing is written to the group until you run: vault group accept \(group)"
    case .gap(let group, let from, let to):
      "'\(group)' moved from epoch \(from) to \(to), too far to prove that nothing was rolled back between"
    case .groupLeftOut(let group, let reason):
      "'\(group)' was left out: \(reason)"
    case .unsignedLeftBehind(let group, let rows, let names):
      "'\(group)' held \(rows) rows that nobody signed; the new key leaves them behind" + Notice.list(names)
    case .unprovedDropped(let group, let items, let versions, let names):
      "'\(group)' lost \(items) items and \(versions) older versions that could not be proved" + Notice.list(names)
    case .groupRemade(let group, let keptAside):
      "the file of '\(group)' was damaged or kept locked, and was replaced; the old one is in \(Printable.name(keptAside))"
    case .unrecorded(let reason):
      "this is done, but is not in the record of decisions: \(reason)"
    case .chainLost(let group):
      "machines that have not seen the last state of '\(group)' refuse it; on each of them: vault group accept \(group)"
    }
  }

  private static func list(_ names: [String]) -> String {
    guard !names.isEmpty else { return "" }
    let shown = names.prefix(20).map { "'\(Printable.name($0))'" }.joined(separator: ", ")
    return ": " + shown + (names.count > 20 ? " and others" : "")
  }
}

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
