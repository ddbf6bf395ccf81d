internal import Sealing

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
  /// - Throws: as ``auditRecords(since:)``; with `isAccepted`, also the error of noting the end.
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
    if report.isWhole || isAccepted, let end, end != known {
      do throws(VaultError) { try registry.group.set(Registry.verifiedAuditName, to: end.serialized()) } catch {
        // Those who accept want the end noted. Others can verify a record where nothing may be written.
        guard !isAccepted else { throw error }
        report.unnoted = error
      }
    }
    return report
  }

  private func auditKey() throws(VaultError) -> RecipientKey {
    let identity = try owner()
    return try sealing(identity.auditKey())
  }
}

private struct AuditCheck {
  private let list: ItemList
  private let known: AuditHead?
  private var report = AuditVerification()
  private var previous: AuditHead
  private let end: AuditHead
  /// Whether `previous` is proved to be in the chain, so that the next link can be computed.
  private var isContinuous = true
  private let start: AuditHead
  private let names: AuditNames

  init(_ group: AccessGroup, _ known: AuditHead?) throws(VaultError) {
    self.known = known
    list = try group.auditList()
    names = try AuditNames(list)
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
    (report.first, report.last, report.link) = (start.sequence + 1, end.sequence, end.link.hexadecimal)
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
    if let known, known.sequence > end.sequence { report.note(.shortened(known: known.sequence)) }
    compare(start)
    // Only whole months before the present one are ever dropped.
    if let known, start.sequence > known.sequence, start.month < known.month || start.month >= AuditMonth(time) {
      report.note(.shortened(known: known.sequence))
    }
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
    // Two clocks may be in different months, and a month that the owner has accepted never goes back.
    if end.month.number > max(AuditMonth(time).number + 1, known?.month.number ?? 0) { report.note(.ahead) }
    if names.strangeCount > 0 { report.note(.strangeItems(names.strangeCount)) }
    return (report, end.sequence == 0 ? nil : end)
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
    // Whole months were dropped, so the first kept batch is of a later one.
    let isInDroppedMonth = report.batchCount == 0 && start.sequence > 0 && batch.month <= start.month
    if !isRightMonth || isInDroppedMonth { report.note(.misplaced(batch.sequence)) }
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
  fileprivate static let verifiedAuditName = "audit/verified"

  /// The end of the record at the last verification.
  fileprivate func verifiedAudit() throws(VaultError) -> AuditHead? {
    guard let bytes = try entry(Registry.verifiedAuditName) else { return nil }
    guard let head = AuditHead(parsing: bytes) else { throw Registry.damaged }
    return head
  }

  /// Forgets the end that an earlier verification saw, because a new record begins.
  func forgetVerifiedAudit() throws(VaultError) {
    if try entry(Registry.verifiedAuditName) != nil { try group.remove(Registry.verifiedAuditName) }
  }
}
