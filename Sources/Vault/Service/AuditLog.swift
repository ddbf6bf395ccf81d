internal import Sealing

/// The record of decisions: the group `vault.audit`, to which the service and the owner append.
///
/// Batches of records are sealed to a key of the owner, so a writer cannot read them back. Each batch is an item
/// `YYYY-MM/NNNNNNNNNNNN`, chained to the one before (format article, "The record").
///
/// Safe from any number of threads and processes.
package final class AuditLog: Sendable {
  let group: AccessGroup
  private let ownersKey: Bytes32
  private let witness: Witness

  /// Opens the record of `store`, as the service or as the owner.
  ///
  /// - Throws: ``VaultError/notFound(_:)`` if the store keeps no record; ``VaultError/denied(_:)``; the error of a
  ///   group that fails verification.
  package init(of store: SecretStore) throws(VaultError) {
    group = store.group(.audit)
    witness = store.witness(.audit)
    let key = try store.ownersItem(AuditLog.keyName)
    guard let key, let ownersKey = Bytes32(key) else { throw .damagedServiceRow("the key of the record") }
    // Whoever has only the key that unlocks the items could have put another one there.
    if store.access.isOwners, !store.access.lacksIdentity {
      let identity = try store.owner()
      let own = try sealing(identity.auditKey().publicKey)
      guard own == ownersKey else { throw .damagedServiceRow("the key of the record") }
    }
    self.ownersKey = ownersKey
  }

  /// How many batches are dropped in one transaction, which takes about 20 ms.
  private static let dropLimit = 256

  /// The item of the group `vault.service` with the public key that batches are sealed to.
  static let keyName = "audit-key"

  /// Appends records in one durable transaction.
  ///
  /// - Throws: ``VaultError/storage(_:)`` and the other errors of a group; nothing is appended then.
  @discardableResult
  package func append(_ records: [AuditRecord], at time: Timestamp = .now) throws(VaultError) -> AuditHead {
    guard !records.isEmpty else { return try head() }
    let batches = AuditBatch.split(records)
    return try group.writing { (edit) throws(VaultError) in
      var head = try AuditHead(endIn: edit)
      for batch in batches { head = try append(batch, after: head, at: time, in: edit) }
      try edit.set(head.serialized(), at: AuditHead.name)
      return head
    }
  }

  private func append(
    _ batch: [[UInt8]], after head: AuditHead, at time: Timestamp, in edit: WriteTransaction
  ) throws(VaultError) -> AuditHead {
    guard head.sequence < AuditHead.sequenceLimit else { throw .overLimit("10^12 batches of the record") }
    let sequence = head.sequence + 1
    let time = Timestamp(milliseconds: min(time.milliseconds, ByteReader.counterLimit - 1))
    let box: [UInt8]
    do {
      box = try RecipientKey.seal(AuditBatch.serialized(batch, sequence: sequence, time: time), to: ownersKey)
    } catch {
      throw .damaged(.row, "the key of the record")
    }
    // Months never go back, even if the clock does, so that dropping whole months drops the beginning of the chain.
    let next = AuditHead(
      sequence: sequence, link: AuditHead.link(after: head.link, sequence, box[...]),
      month: max(head.month, AuditMonth(time)))
    let value = StoredBatch(link: next.link, time: time, box: box).bytes
    // Version 0: an existing batch is never overwritten.
    try edit.set(value, at: next.batchName, ifVersion: 0)
    return next
  }

  /// Checks that records can be appended, and changes nothing.
  ///
  /// - Throws: the errors of ``append(_:at:)`` that come from the group, its end, its folder and its witness.
  package func requireWritable() throws(VaultError) {
    let file = try group.file
    do throws(VaultError) {
      let transaction = try file.beginWriting()
      defer { transaction.rollback() }
      _ = try AuditHead(endIn: transaction)
    } catch {
      throw error.named(group.name.description)
    }
    guard witness.raise({ _ in nil }) else {
      throw .witnessUnavailable(group: group.name.description, reason: "it cannot be written")
    }
  }

  package func head() throws(VaultError) -> AuditHead {
    try group.reading { (view) throws(VaultError) in try AuditHead(endIn: view) }
  }

  /// Continues a record whose end was removed or is unreadable, after `end`, and records that.
  ///
  /// - Throws: as ``append(_:at:)``.
  func takeUp(after end: AuditHead, at time: Timestamp) throws(VaultError) {
    let record = AuditRecord(
      time: time, caller: .ownersProcess, action: .repair, group: group.name.description,
      detail: "the end of the record, after batch \(end.sequence)")
    try group.writing { (edit) throws(VaultError) in try append(record, after: end, at: time, in: edit) }
  }

  private func append(
    _ record: AuditRecord, after head: AuditHead, at time: Timestamp, in edit: WriteTransaction
  ) throws(VaultError) {
    let next = try append([record.serialized()], after: head, at: time, in: edit)
    try edit.set(next.serialized(), at: AuditHead.name)
  }

  /// Drops all batches except those of the newest `count` months that have any, and notes where the chain now begins. A
  /// clock that is ahead does not cost the record: months without batches do not count, nor the newest one after such.
  ///
  /// - Parameter count: at least 1.
  @discardableResult
  package func dropMonths(
    keeping count: Int, by caller: AuditRecord.Caller, at time: Timestamp = .now
  ) throws(VaultError) -> Int {
    guard count >= 1 else { throw .invalid("the record keeps at least one month") }
    let batches = try AuditNames(group.list()).batches
    let months = Set(batches.map(\.month)).sorted()
    let isAhead = months.count > 1 && months[months.count - 2] < months[months.count - 1].earlier(by: 1)
    guard let oldest = months.suffix(min(count, AuditMonth.limit) + (isAhead ? 1 : 0)).first else { return 0 }
    let dropped = batches.prefix { $0.month < oldest }
    guard !dropped.isEmpty else { return 0 }
    let record = AuditRecord(
      time: time, caller: caller, action: .dropMonths, group: group.name.description,
      detail: "before \(oldest), \(dropped.count) batches")
    // A few at a time, because nothing is answered while the record is locked. The first change says what will be dropped;
    // if the process ends before the last one, the next call goes on.
    for start in stride(from: 0, to: dropped.count, by: AuditLog.dropLimit) {
      let slice = dropped.dropFirst(start).prefix(AuditLog.dropLimit)
      guard let end = slice.last else { break }
      try group.writing { (edit) throws(VaultError) in
        guard let link = StoredBatch(try edit.view.bytes(of: edit.present(end.name))).link else {
          throw .damaged(.row, "a batch of the record")
        }
        let anchor = AuditHead(sequence: end.sequence, link: link, month: end.month)
        for batch in slice { try edit.destroy(batch.name) }
        try edit.set(anchor.serialized(), at: AuditHead.anchorName)
        if start == 0 { try append(record, after: AuditHead(endIn: edit), at: time, in: edit) }
      }
    }
    // Frees the space. If this fails, the next call does it.
    _ = try? group.file.compact()
    return dropped.count
  }
}
