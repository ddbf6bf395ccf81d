public import GroupFile
internal import Sealing

/// The records of a store, oldest first, one at a time. For use on one thread at a time.
///
/// It shows one state of the record, as long as it exists. Only the owner can open it.
public final class AuditRecords {
  private let key: RecipientKey
  private let list: ItemList
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
    list = try group.auditList()
    end = try list.reading { (view) throws(VaultError) in try AuditHead(in: view, AuditHead.name) }
    if let after, let following = AuditRecords.following(after, through: end) {
      earliest = since
      batches = following[...]
      return
    }
    var names = AuditNames()
    // A batch is written after its records were made. The day allows for clocks that were set back.
    earliest = Timestamp(milliseconds: since.milliseconds - min(since.milliseconds, 86_400_000))
    let month = AuditMonth(earliest)
    try names.collect(list) { $0.sequence <= after?.sequence ?? 0 || $0.month < month }
    batches = names.batches[...]
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
      while let record = ready.popFirst() {
        if record.time >= since { return record }
      }
      guard let batch = batches.popFirst() else { return nil }
      let stored: StoredBatch
      do throws(VaultError) { stored = try list.stored(batch) } catch .notFound { continue }
      guard stored.time >= earliest else { continue }
      if let records = stored.records(of: batch, with: key) { ready = records[...] } else { unreadableCount += 1 }
    }
  }
}

extension AccessGroup {
  /// The items of the record.
  fileprivate func auditList() throws(VaultError) -> ItemList {
    do { return try list() } catch .notFound(.group) { throw .notFound(.record) }
  }
}

extension ItemList {
  /// The value of a batch; empty if a writer signed something that does not open.
  fileprivate func stored(_ batch: AuditNames.Batch) throws(VaultError) -> StoredBatch {
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
  /// Whether the item that says where the chain ends is missing or unreadable. Nothing can be recorded then.
  public internal(set) var isEndLost = false
  /// Whether the record was continued after the last existing batch.
  public internal(set) var isTakenUp = false
  /// At most 1,000.
  public internal(set) var findings: [AuditFinding] = []

  /// Whether nothing was found.
  public var isWhole: Bool { findings.isEmpty }

  fileprivate mutating func note(_ finding: AuditFinding) {
    if findings.count < 1_000 { findings.append(finding) }
  }
}

extension SecretStore {
  /// The records since `time`, oldest first.
  ///
  /// - Throws: ``VaultError/notFound(_:)`` if the store keeps no record; ``VaultError/denied(_:)`` for anyone but the
  ///   owner.
  public func auditRecords(since time: Timestamp = Timestamp(milliseconds: 0)) throws(VaultError) -> AuditRecords {
    try AuditRecords(auditKey(), group(.audit), since: time, after: nil)
  }

  /// The records after the state that other records ended with.
  package func auditRecords(after end: AuditHead) throws(VaultError) -> AuditRecords {
    try AuditRecords(auditKey(), group(.audit), since: Timestamp(milliseconds: 0), after: end)
  }

  /// Verifies the chain of the record and opens every batch.
  ///
  /// If nothing is wrong, the end of the chain is noted in the owner's registry, which the service cannot write. A
  /// later verification then notices if the record up to there was shortened or rewritten.
  ///
  /// - Parameters:
  ///   - isAccepted: whether to note the end even if something is wrong, so that the next verification compares with
  ///     it. If the end is lost, the record is continued after the last existing batch.
  ///   - time: the current time.
  ///   - progress: called now and then with the number of batches verified so far.
  /// - Throws: as ``auditRecords(since:)``.
  public func verifyAudit(
    accepting isAccepted: Bool = false, at time: Timestamp = .now, progress: (Int) -> Void = { _ in }
  ) throws(VaultError) -> AuditVerification {
    let key = try auditKey()
    let registry = try registry()
    let known = try registry.verifiedAudit()
    var (report, end) = try AuditCheck(group(.audit), known).run(key, at: time, progress)
    if isAccepted, report.isEndLost, let end {
      try AuditLog(of: self).takeUp(after: end, at: time)
      report.isTakenUp = true
    }
    // If it cannot be noted now, the next verification notes it.
    if report.isWhole || isAccepted, let end, end != known { try? registry.record(verifiedAudit: end) }
    return report
  }

  private func auditKey() throws(VaultError) -> RecipientKey {
    let identity = try owner()
    return try sealing(identity.auditKey())
  }
}

/// One pass over the record.
private struct AuditCheck {
  private let list: ItemList
  private let known: AuditHead?
  private var report = AuditVerification()
  private var previous: AuditHead
  private let end: AuditHead
  /// Whether `previous` is proved to be in the chain, so that the next link can be computed.
  private var isContinuous = true
  private let start: AuditHead
  private var names = AuditNames()

  init(_ group: AccessGroup, _ known: AuditHead?) throws(VaultError) {
    self.known = known
    list = try group.auditList()
    try names.collect(list)
    (start, isContinuous) = try AuditCheck.head(AuditHead.anchorName, in: list)
    let (noted, isReadable) = try AuditCheck.head(AuditHead.name, in: list)
    report.isEndLost = noted.sequence == 0 && (!names.batches.isEmpty || !isReadable)
    // What the last existing batch says of itself. Whether it continues the chain is checked below.
    if report.isEndLost, let last = names.batches.last {
      end = AuditHead(sequence: last.sequence, link: try list.stored(last).link ?? .zero, month: last.month)
    } else {
      end = noted
    }
    previous = start
    report.first = start.sequence + 1
    report.last = end.sequence
    report.link = end.link.hexadecimal
    if !isContinuous || !isReadable { report.note(.unknownEnd) }
    if report.isEndLost, isReadable { report.note(.endRemoved(last: end.sequence)) }
  }

  private static func head(_ name: String, in list: ItemList) throws(VaultError) -> (head: AuditHead, isReadable: Bool)
  {
    do throws(VaultError) {
      return (try list.reading { (view) throws(VaultError) in try AuditHead(in: view, name) }, true)
    } catch .damaged(_, .row, _) {
      return (AuditHead(sequence: 0, link: .zero, month: AuditMonth(number: 0)), false)
    }
  }

  consuming func run(
    _ key: borrowing RecipientKey, at time: Timestamp, _ progress: (Int) -> Void
  ) throws(VaultError) -> (report: AuditVerification, end: AuditHead?) {
    compareBeginning()
    for batch in names.batches {
      guard batch.sequence > start.sequence, batch.sequence <= end.sequence else {
        report.note(.outside(batch.sequence))
        continue
      }
      guard batch.sequence > previous.sequence else {
        report.note(.misplaced(batch.sequence))
        continue
      }
      try check(batch, key)
      report.batchCount += 1
      if report.batchCount % 256 == 0 { progress(report.batchCount) }
    }
    if previous.sequence < end.sequence {
      report.note(.missing(from: previous.sequence + 1, through: end.sequence))
    } else if previous.link != end.link {
      report.note(.wrongEnd)
    }
    // The clocks of two machines may be in different months.
    if end.month.number > AuditMonth(time).number + 1 { report.note(.ahead) }
    if names.strangeCount > 0 { report.note(.strangeItems(names.strangeCount)) }
    return (report, end.sequence == 0 ? nil : end)
  }

  private mutating func compareBeginning() {
    guard let known else { return }
    if known.sequence > end.sequence { report.note(.shortened(known: known.sequence)) }
    if known.sequence == start.sequence { compare(start) }
  }

  private mutating func compare(_ head: AuditHead) {
    guard let known, known.sequence == head.sequence else { return }
    if known.link == head.link {
      report.confirmed = known.sequence
    } else {
      report.note(.rewritten(known: known.sequence))
    }
  }

  private mutating func check(_ batch: AuditNames.Batch, _ key: borrowing RecipientKey) throws(VaultError) {
    if batch.sequence > previous.sequence + 1 {
      report.note(.missing(from: previous.sequence + 1, through: batch.sequence - 1))
      isContinuous = false
    }
    let stored = try list.stored(batch)
    var month = previous.month
    var isRightMonth = batch.month >= month
    if let records = stored.records(of: batch, with: key) {
      report.recordCount += records.count
      month = max(month, AuditMonth(stored.time))
      // A missing batch may have advanced the month.
      isRightMonth = isContinuous ? batch.month == month : batch.month >= month
    } else {
      report.note(.unreadable(batch.sequence))
    }
    if !isRightMonth { report.note(.misplaced(batch.sequence)) }
    let link = stored.link ?? .zero
    if isContinuous, link != AuditHead.link(after: previous.link, batch.sequence, stored.box) {
      report.note(.altered(batch.sequence))
    }
    // After a gap, verification continues with the link in this batch, so that each replaced batch is named once.
    isContinuous = stored.link != nil
    previous = AuditHead(sequence: batch.sequence, link: link, month: max(month, batch.month))
    compare(previous)
  }
}

extension Registry {
  private static let verifiedAuditName = "audit/verified"

  /// The end of the record at the last verification.
  fileprivate func verifiedAudit() throws(VaultError) -> AuditHead? {
    guard let bytes = try entry(Registry.verifiedAuditName) else { return nil }
    guard let head = AuditHead(parsing: bytes) else { throw Registry.damaged }
    return head
  }

  fileprivate func record(verifiedAudit head: AuditHead) throws(VaultError) {
    try group.set(Registry.verifiedAuditName, to: head.serialized())
  }

  /// Forgets the end that an earlier verification saw, because a new record begins.
  func forgetVerifiedAudit() throws(VaultError) {
    if try entry(Registry.verifiedAuditName) != nil { try group.remove(Registry.verifiedAuditName) }
  }
}
