#if Daemon
  import Synchronization
  import VaultFoundation

  /// Counts for Prometheus, in its text format. No label contains the name of a group, an item or an application; copies of
  /// published groups are named by the groups' ids, which the cluster's servers see, too.
  final class DaemonMetrics: Sendable {
    /// The upper bounds of the histogram's buckets, in seconds.
    private static let bounds = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    private struct Counts {
      var requests: [Int: UInt64] = [:]
      /// The last one counts everything above the highest bound.
      var buckets = [UInt64](repeating: 0, count: DaemonMetrics.bounds.count + 1)
      var seconds = 0.0
    }

    fileprivate struct Contents: Sendable {
      var groups = 0
      var expiring = 0
      var backup: Timestamp?
    }

    private let counts = Mutex(Counts())
    /// Counting reads every group, and anyone may ask for it.
    private let look = SharedLook<Contents>(for: .seconds(60))
    private let connections: Connections

    init(_ connections: Connections) { self.connections = connections }

    func count(_ status: Int, _ time: Duration) {
      let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
      let bucket = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
      counts.withLock { counts in
        counts.requests[status, default: 0] += 1
        counts.buckets[bucket] += 1
        counts.seconds += seconds
      }
    }

    func text(_ seal: Seal, _ copies: [CopyCondition]) async throws -> String {
      var lines: [String] = []
      func add(_ name: String, _ type: String, _ help: String, _ values: [(String, String)]) {
        lines += ["# HELP \(name) \(help)", "# TYPE \(name) \(type)"] + values.map { "\(name)\($0.0) \($0.1)" }
      }
      let counts = counts.withLock { $0 }
      let isSealed = await seal.problem() == .sealed
      add(
        "vaultd_requests_total", "counter", "Answered requests, by HTTP status.",
        counts.requests.sorted { $0.key < $1.key }.map { ("{status=\"\($0.key)\"}", String($0.value)) })
      var sum: UInt64 = 0
      var buckets: [(String, String)] = []
      for (index, count) in counts.buckets.enumerated() {
        sum += count
        let bound = index < Self.bounds.count ? String(Self.bounds[index]) : "+Inf"
        buckets.append(("_bucket{le=\"\(bound)\"}", String(sum)))
      }
      add(
        "vaultd_request_duration_seconds", "histogram", "Time to answer a request.",
        buckets + [("_sum", String(counts.seconds)), ("_count", String(sum))])
      add("vaultd_connections", "gauge", "Open connections.", [("", String(connections.count))])
      add("vaultd_sealed", "gauge", "1 if the daemon is sealed.", [("", isSealed ? "1" : "0")])
      func addCopies(_ name: String, _ help: String, _ value: (CopyCondition) -> UInt64?) {
        add(
          "vaultd_published_" + name, "gauge", help,
          copies.compactMap { copy in value(copy).map { ("{group=\"\(copy.id)\"}", String($0)) } })
      }
      if !copies.isEmpty {
        let now = Timestamp.now.milliseconds
        addCopies("age_seconds", "Time since the newest verified state of a published group was signed.", \.age)
        addCopies("age_limit_seconds", "The age above which the group cannot be read.", \.limit)
        addCopies("behind", "1 if the copy is not kept up to date, or a newer state is overdue.") {
          $0.isBehind ? 1 : 0
        }
        addCopies("last_failure_seconds", "Time since the copy last failed to be brought up to date.") { copy in
          copy.lastFailure.map { (now - min(now, $0.milliseconds)) / 1_000 }
        }
      }
      if !isSealed, let opened = seal.current {
        let contents = try await look.value { try await Blocking.read { try Contents(of: opened.store) } }
        add("vaultd_groups", "gauge", "Groups that the daemon opens.", [("", String(contents.groups))])
        add(
          "vaultd_expiring_items", "gauge", "Items that have expired or will within 30 days.",
          [("", String(contents.expiring))])
        if let backup = contents.backup {
          let age = Timestamp.now.milliseconds - min(backup.milliseconds, Timestamp.now.milliseconds)
          add("vaultd_last_backup_age_seconds", "gauge", "Time since the last backup.", [("", String(age / 1_000))])
        }
      }
      return lines.joined(separator: "\n") + "\n"
    }
  }

  extension DaemonMetrics.Contents {
    fileprivate init(of store: SecretStore) throws(VaultError) {
      let query = ItemQuery(expiresBy: Timestamp.now.later(by: 30 * 86_400))
      for name in try store.groupNames() where !name.hasPrefix("vault.") {
        guard let list = try? store.group(name).list(query) else { continue }
        groups += 1
        while (try? list.next()) != nil { expiring += 1 }
      }
      backup = store.lastBackup
    }
  }
#endif
