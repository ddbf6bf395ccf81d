#if Metrics
  public import Metrics
  import Synchronization
  public import Vault

  extension SecretStore {
    /// Counts and times every call, from now on.
    ///
    /// `vault.calls` counts the calls and `vault.call.duration` times them. Their dimensions are `group`, `call` (`read` or
    /// `write`) and `outcome` (`success`, or the name of the error's exit status: `not-found`, `denied`, `damaged`).
    /// No dimension contains an item's name. A `VaultService` calls this, and records `vault.opens` and `vault.open.duration`
    /// too.
    public func recordMetrics(in factory: any MetricsFactory = MetricsSystem.factory) {
      let meters = Meters(factory)
      observe { call in
        let (counter, timer) = meters.of(call)
        counter.increment()
        timer.record(duration: call.duration)
      }
    }
  }

  /// Counts and times an attempt to open a store.
  func recordOpening(_ error: (any Error)?, _ duration: Duration) {
    let dimensions = [("outcome", error.map { ($0 as? VaultError)?.name ?? "unexpected" } ?? "success")]
    Counter(label: "vault.opens", dimensions: dimensions).increment()
    Metrics.Timer(label: "vault.open.duration", dimensions: dimensions).record(duration: duration)
  }

  /// One counter and one timer for each combination of dimensions, made on first use.
  private final class Meters: Sendable {
    private struct Key: Hashable {
      let group: AccessGroup.Name
      let kind: StoreCall.Kind
      let outcome: String
    }

    private let factory: any MetricsFactory
    private let meters = Mutex<[Key: (Counter, Metrics.Timer)]>([:])

    init(_ factory: any MetricsFactory) { self.factory = factory }

    func of(_ call: StoreCall) -> (Counter, Metrics.Timer) {
      let key = Key(group: call.group, kind: call.kind, outcome: call.error?.name ?? "success")
      return meters.withLock { meters in
        if let known = meters[key] { return known }
        let dimensions = [
          ("group", key.group.description), ("call", key.kind.rawValue), ("outcome", key.outcome),
        ]
        let new = (
          Counter(label: "vault.calls", dimensions: dimensions, factory: factory),
          Metrics.Timer(label: "vault.call.duration", dimensions: dimensions, factory: factory)
        )
        meters[key] = new
        return new
      }
    }
  }
#endif
