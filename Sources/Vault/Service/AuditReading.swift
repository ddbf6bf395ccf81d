internal import Sealing

/// The records of a store, oldest first, one at a time. For use on one thread at a time.
///
/// It shows the batches that there were when it was made; those that are dropped meanwhile are left out. Only the owner
/// can open it.
public final class AuditRecords {
  private let key: RecipientKey
  private let group: AccessGroup
  private let since: Timestamp
  /// Batches that were written before this time are skipped.
  private let earliest: Timestamp
  private var batches: ArraySlice<AuditNames.Batch>
  private var ready: ArraySlice<AuditRecord> = []
  /// How many batches could not be read so far; ``SecretStore/verifyAudit(accepting:at:progress:)`` names them.
  public private(set) var unreadableCount = 0
  /// The last batch of the state that is shown, to continue from.
  package let end: AuditHead

  init(_ key: consuming RecipientKey, _ group: AccessGroup, since: Timestamp, after: AuditHead?) throws(VaultError) {
    self.key = key
    self.since = since
    self.group = group
    let list = try group.auditList()
    end = try list.reading { (view) throws(VaultError) in try AuditHead(in: view, AuditHead.name) }
    if let after, let following = AuditRecords.following(after, through: end) {
      earliest = since
      batches = following[...]
      return
    }
    // A batch is written after its records were made. The day allows for clocks that were set back.
    earliest = Timestamp(milliseconds: since.milliseconds - min(since.milliseconds, 86_400_000))
    let month = AuditMonth(earliest)
    batches = try AuditNames(list) { $0.sequence <= after?.sequence ?? 0 || $0.month < month }.batches[...]
  }

  /// The possible names of the batches after `start`, if there are few. That is cheaper than listing all items.
  private static func following(_ start: AuditHead, through end: AuditHead) -> [AuditNames.Batch]? {
    guard start.sequence <= end.sequence else { return [] }
    let months = Set([start.month, end.month]).sorted()
    guard end.sequence - start.sequence <= 10_000, end.month.number - start.month.number <= 1 else { return nil }
    return (start.sequence..<end.sequence).flatMap { sequence in
      months.map { AuditNames.Batch(month: $0, sequence: sequence + 1) }
    }
  }

  /// The next record; `nil` after the last. A batch that cannot be read is skipped and counted.
  ///
  /// - Throws: ``VaultError/storage(_:)`` and ``VaultError/damaged(group:level:detail:)`` for damage outside the
  ///   record's batches.
  public func next() throws(VaultError) -> AuditRecord? {
    while true {
      while let record = ready.popFirst() { if record.time >= since { return record } }
      guard !batches.isEmpty else { return nil }
      try readAhead()
    }
  }

  /// Opens the next batches in one state and releases it: as long as a state is shown, the log of the group cannot be
  /// emptied, and the caller may wait for a reader of its output for hours.
  private func readAhead() throws(VaultError) {
    let list = try group.auditList()
    var (records, byteCount) = ([AuditRecord](), 0)
    while byteCount < AuditRecords.readAheadByteCount, let batch = batches.popFirst() {
      let stored: StoredBatch
      do throws(VaultError) { stored = try list.stored(batch) } catch .notFound { continue } catch {
        // The records before it are shown first, and the next call meets the error again.
        guard !records.isEmpty else { throw error }
        batches = [batch] + batches
        break
      }
      byteCount += stored.bytes.count
      guard stored.time >= earliest else { continue }
      if let opened = stored.records(of: batch, with: key) { records += opened } else { unreadableCount += 1 }
    }
    ready = records[...]
  }

  private static let readAheadByteCount = 1 << 20
}

extension AccessGroup {
  func auditList() throws(VaultError) -> ItemList {
    do { return try list() } catch .notFound(.group) { throw .notFound(.record) }
  }
}

extension ItemList {
  /// The value of a batch; empty if a writer signed something that does not open.
  func stored(_ batch: AuditNames.Batch) throws(VaultError) -> StoredBatch {
    do throws(VaultError) {
      return StoredBatch(try unsafe open(batch.name).secret.withUnsafeBytes { unsafe Array($0) })
    } catch .damaged(_, .row, _) {
      return StoredBatch([])
    }
  }
}

/// Something wrong with the record. Numbers are those of batches.
@nonexhaustive
public enum AuditFinding: Sendable, Equatable {
  /// Batches are missing.
  case missing(from: UInt64, through: UInt64)
  /// The batch does not continue the chain: it, or one before it, was replaced.
  case altered(UInt64)
  /// The batch is in another month than it was written in, or exists twice.
  case misplaced(UInt64)
  /// The batch does not open, does not follow the format, or was sealed for another place in the chain.
  case unreadable(UInt64)
  /// The batch has a number outside the chain.
  case outside(UInt64)
  /// The chain ends with another link than the one noted.
  case wrongEnd
  /// The item that says where the chain begins or ends does not follow the format.
  case unknownEnd
  /// The item that says where the chain ends was removed. Batches up to this one exist; if there were later ones, they
  /// are lost.
  case endRemoved(last: UInt64)
  /// Items that do not belong to the record.
  case strangeItems(Int)
  /// The record has reached a month in the future. Batches of that month would never be dropped.
  case ahead
  /// An earlier verification saw the chain up to this batch, and now it ends earlier.
  case shortened(known: UInt64)
  /// An earlier verification saw another chain up to this batch.
  case rewritten(known: UInt64)
}

/// The result of verifying the record.
public struct AuditVerification: Sendable, Equatable {
  /// The number of batches, and of the records in those that could be read.
  public internal(set) var batchCount = 0
  public internal(set) var recordCount = 0
  /// The number of the first kept batch; earlier ones were dropped.
  public internal(set) var first: UInt64 = 1
  /// The number of the last batch; 0 if there is none.
  public internal(set) var last: UInt64 = 0
  /// The link of the last batch, in hexadecimal, to compare with the journal.
  public internal(set) var link = ""
  /// The batch up to which an earlier verification on this store saw the same chain; `nil` if there was none, or if
  /// that part was dropped since then.
  public internal(set) var confirmed: UInt64?
  /// Why the end could not be noted although nothing was found: a later verification does not notice if the record is
  /// shortened or rewritten after ``confirmed``.
  public internal(set) var unnoted: VaultError?
  /// Whether the item that says where the chain ends is missing or unreadable. Nothing can be recorded then.
  public internal(set) var isEndLost = false
  /// Whether the record was continued after the last existing batch.
  public internal(set) var isTakenUp = false
  /// At most 1,000.
  public internal(set) var findings: [AuditFinding] = []

  /// Whether nothing was found.
  public var isWhole: Bool { findings.isEmpty }

  mutating func note(_ finding: AuditFinding) { if findings.count < 1_000 { findings.append(finding) } }
}
