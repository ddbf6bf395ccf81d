internal import Sealing

/// The records of one item, sealed together and bound to their place in the chain.
struct AuditBatch {
  let sequence: UInt64
  let time: Timestamp
  let records: [AuditRecord]

  private static let version: UInt16 = 1
  private static let headerByteCount = 38
  /// The maximum size of a batch before it is sealed, in bytes.
  static let byteCount = 768 << 10

  /// Groups serialized records into batches that fit into one item each.
  static func split(_ records: [AuditRecord]) -> [[[UInt8]]] {
    var batches: [[[UInt8]]] = []
    var batch: [[UInt8]] = []
    var count = headerByteCount
    for record in records {
      let bytes = record.serialized()
      if count + 4 + bytes.count > byteCount, !batch.isEmpty {
        batches.append(batch)
        (batch, count) = ([], headerByteCount)
      }
      batch.append(bytes)
      count += 4 + bytes.count
    }
    return batch.isEmpty ? batches : batches + [batch]
  }

  static func serialized(_ records: [[UInt8]], sequence: UInt64, time: Timestamp) -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: headerByteCount + records.reduce(0) { $0 + 4 + $1.count })
    writer.write(.auditBatch)
    writer.write(version)
    writer.write(sequence)
    writer.write(time.milliseconds)
    writer.write(UInt32(records.count))
    for record in records { writer.writeCounted32(record) }
    return writer.bytes
  }

  /// Reads an opened batch. Memory stays in proportion to the bytes.
  init(parsing bytes: [UInt8]) throws {
    var reader = ByteReader(bytes)
    try reader.expect(.auditBatch)
    guard try reader.read(UInt16.self) == AuditBatch.version else { throw ByteReader.Failure() }
    sequence = try reader.readCounter()
    time = Timestamp(milliseconds: try reader.readCounter())
    let count = try reader.read(UInt32.self)
    var records: [AuditRecord] = []
    for _ in 0..<count {
      let size = Int(try reader.read(UInt32.self))
      guard size <= AuditRecord.byteCount else { throw ByteReader.Failure() }
      let start = reader.offset
      _ = try reader.read(count: size)
      records.append(try AuditRecord(parsing: bytes, in: start..<start + size))
    }
    try reader.finish()
    self.records = records
  }
}

extension Label { fileprivate static let auditBatch = Label("vault1.audit.log") }

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
