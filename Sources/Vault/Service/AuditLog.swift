internal import Glibc
internal import GroupFile
package import Sealing

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
  /// - Throws: ``VaultError/notFound(_:)`` if the store keeps no record; ``VaultError/denied(_:)``; the error of a group
  ///   that fails verification.
  package init(of store: SecretStore) throws(VaultError) {
    group = store.group(.audit)
    witness = store.witness(.audit)
    let key = try store.ownersItem(AuditLog.keyName)
    guard let key, let ownersKey = Bytes32(key.bytes) else {
      throw .damaged(group: AccessGroup.Name.service.description, level: .row, detail: "the key of the record")
    }
    self.ownersKey = ownersKey
  }

  /// The item of the group `vault.service` with the public key that batches are sealed to.
  static let keyName = "audit-key"

  /// Appends records in one durable transaction.
  ///
  /// - Returns: the new end of the chain.
  /// - Throws: ``VaultError/storage(_:)`` and the other errors of a group; nothing is appended then.
  @discardableResult
  package func append(_ records: [AuditRecord], at time: Timestamp = .now) throws(VaultError) -> AuditHead {
    guard !records.isEmpty else { return try head() }
    let batches = AuditBatch.split(records)
    return try group.writing { (edit) throws(VaultError) in
      var head = try AuditHead(endIn: edit)
      for batch in batches { head = try append(batch, after: head, at: time, in: edit) }
      try head.store(AuditHead.name, in: edit)
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

  /// The end of the chain.
  package func head() throws(VaultError) -> AuditHead {
    try group.reading { (view) throws(VaultError) in try AuditHead(endIn: view) }
  }

  /// Continues a record whose end was removed or is unreadable: after `end`, with a record of this.
  ///
  /// - Parameter end: the last batch that exists.
  /// - Throws: as ``append(_:at:)``.
  func takeUp(after end: AuditHead, at time: Timestamp) throws(VaultError) {
    let record = AuditRecord(
      time: time, caller: .ownersProcess, action: .repair, group: group.name.description,
      detail: "the end of the record, after batch \(end.sequence)")
    try group.writing { (edit) throws(VaultError) in
      let next = try append([record.serialized()], after: end, at: time, in: edit)
      try next.store(AuditHead.name, in: edit)
    }
  }

  /// Drops all batches except those of the newest `count` months, and notes where the chain now begins.
  ///
  /// - Parameters:
  ///   - count: at least 1; the month of `time` counts as one, even without a batch.
  ///   - caller: who drops them, for the record of this, which the same transaction appends.
  /// - Returns: the number of dropped batches.
  @discardableResult
  package func dropMonths(
    keeping count: Int, by caller: AuditRecord.Caller, at time: Timestamp = .now
  ) throws(VaultError) -> Int {
    guard count >= 1 else { throw .invalid("the record keeps at least one month") }
    let names = try AuditNames(of: group)
    let oldest = AuditMonth(time).earlier(by: count - 1)
    let dropped = names.batches.prefix { $0.month < oldest }
    guard let last = dropped.last else { return 0 }
    let record = AuditRecord(
      time: time, caller: caller, action: .dropMonths, group: group.name.description,
      detail: "before \(oldest), \(dropped.count) batches")
    try group.writing { (edit) throws(VaultError) in
      let anchor = AuditHead(sequence: last.sequence, link: try edit.auditLink(of: last), month: last.month)
      for batch in dropped { try edit.destroy(batch.name) }
      try anchor.store(AuditHead.anchorName, in: edit)
      let head = try AuditHead(endIn: edit)
      let next = try append([record.serialized()], after: head, at: time, in: edit)
      try next.store(AuditHead.name, in: edit)
    }
    // Frees the space. If this fails, the next call does it.
    _ = try? group.file.compact { _ in }
    return dropped.count
  }
}

/// The value of an item in the record: the link of the chain, the time of writing, and a box.
struct StoredBatch {
  /// If it is shorter than a link and a time, it is not a batch.
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  init(link: Digest, time: Timestamp, box: [UInt8]) {
    var writer = ByteWriter(reservingCapacity: StoredBatch.headerByteCount + box.count)
    writer.write(link)
    writer.write(time.milliseconds)
    writer.write(box)
    bytes = writer.bytes
  }

  private static let headerByteCount = Digest.byteCount + 8

  var link: Digest? { Digest(bytes.prefix(Digest.byteCount)) }
  /// The time that the writer claims outside the box. The box contains it, too.
  var time: Timestamp {
    let digits = bytes.dropFirst(Digest.byteCount).prefix(8)
    return Timestamp(milliseconds: digits.reduce(0) { $0 << 8 | UInt64($1) })
  }
  var box: ArraySlice<UInt8> { bytes.dropFirst(StoredBatch.headerByteCount) }

  /// The records; `nil` if the box does not open, contains something else, or was made for another place or time.
  func records(of place: AuditNames.Batch, with key: borrowing RecipientKey) -> [AuditRecord]? {
    guard let opened = try? key.openUnguarded(box), let batch = try? AuditBatch(parsing: opened),
      batch.sequence == place.sequence, batch.time == time
    else { return nil }
    return batch.records
  }
}

/// A place in the chain of the record: the last batch and its link.
package struct AuditHead: Sendable, Equatable, CustomStringConvertible {
  /// The number of the last batch; 0 if there is none.
  package let sequence: UInt64
  package let link: Digest
  let month: AuditMonth

  /// A line for the journal: the number and the link.
  package var description: String { "\(sequence) \(link.hexadecimal)" }

  static let name = "head"
  /// The item that names the last dropped batch; missing if none was dropped.
  static let anchorName = "anchor"
  /// Batch numbers have twelve digits.
  static let sequenceLimit: UInt64 = 999_999_999_999

  var batchName: String { AuditNames.Batch(month: month, sequence: sequence).name }

  init(sequence: UInt64, link: Digest, month: AuditMonth) {
    self.sequence = sequence
    self.link = link
    self.month = month
  }

  /// The link of a batch: the chain covers its number, its box and every earlier batch.
  static func link(after previous: Digest, _ sequence: UInt64, _ box: ArraySlice<UInt8>) -> Digest {
    var start = ByteWriter(reservingCapacity: Bytes32.byteCount + 8)
    start.write(previous)
    start.write(sequence)
    var hash = Hash(.auditLink)
    hash.update(start.bytes)
    unsafe box.withUnsafeBytes { unsafe hash.update($0) }
    return hash.finish()
  }

  // MARK: Bytes

  private enum Tag: UInt8 {
    case sequence = 1
    case link, month
  }

  /// Reads the end of the chain.
  ///
  /// - Throws: ``VaultError``, even if the item is merely missing after the record has begun: a second chain beside
  ///   the first one would hide that something was removed.
  init(endIn view: some ItemReading) throws(VaultError) {
    try self.init(in: view, AuditHead.name)
    guard sequence > 0 || view.view.state.manifest.itemCount == 0 else {
      throw .damaged(.row, "the end of the record was removed")
    }
  }

  /// Reads the item `name`. Without it, the chain has not begun. Its link is then the group's id, so that batches of
  /// another group's chain do not continue this one.
  init(in view: some ItemReading, _ name: String) throws(VaultError) {
    let state = view.view.state
    guard let item = try view.stored(name), item.isPresent else {
      self.init(sequence: 0, link: state.roster.groupID, month: AuditMonth(number: 0))
      return
    }
    guard let head = AuditHead(parsing: Array(try view.view.bytes(of: item).prefix(256))) else {
      throw .damaged(.row, "the \(name) of the record")
    }
    self = head
  }

  init?(parsing bytes: [UInt8]) {
    var reader = FieldReader(bytes, in: bytes.indices, limit: 64)
    var sequence: UInt64?
    var link: Digest?
    var month: UInt64?
    do {
      while let (tag, field) = try reader.next() {
        switch Tag(rawValue: tag) {
        case .sequence: sequence = try FieldReader.number(field)
        case .link: link = Digest(field)
        case .month: month = try FieldReader.number(field)
        case nil: return nil
        }
      }
    } catch {
      return nil
    }
    guard let sequence, sequence <= AuditHead.sequenceLimit, let link, let month, month <= AuditMonth.limit else {
      return nil
    }
    self.init(sequence: sequence, link: link, month: AuditMonth(number: Int(month)))
  }

  func serialized() -> [UInt8] {
    var fields = FieldWriter()
    fields.write(Tag.sequence.rawValue, sequence)
    fields.write(Tag.link.rawValue, link.bytes)
    fields.write(Tag.month.rawValue, UInt64(month.number))
    return fields.bytes
  }

  func store(_ name: String, in edit: WriteTransaction) throws(VaultError) {
    try edit.set(serialized(), at: name, ifVersion: nil)
  }
}

extension WriteTransaction {
  fileprivate func set(_ bytes: [UInt8], at name: String, ifVersion expected: UInt64?) throws(VaultError) {
    guard let name = try? Item.Name(name) else { throw .damaged(.row, "a name of the record") }
    let secret = try unsafe bytes.span.withUnsafeBytes { (bytes) throws(VaultError) in
      try unsafe OpenedSecret(copying: bytes)
    }
    _ = try set(name, to: NewValue(secret: secret, kind: .bytes), Details(), ifVersion: expected)
  }
}

extension ItemReading {
  /// The link in the item of `batch`.
  func auditLink(of batch: AuditNames.Batch) throws(VaultError) -> Digest {
    guard let link = Digest(try view.bytes(of: present(batch.name)).prefix(Digest.byteCount)) else {
      throw .damaged(.row, "a batch of the record")
    }
    return link
  }
}

extension Label {
  fileprivate static let auditLink = Label("vault1.audit.lnk")
}
