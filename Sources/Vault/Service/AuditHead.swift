package import Sealing

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

  /// The link of a batch: the chain covers its number, its box and every earlier batch.
  static func link(after previous: Digest, _ sequence: UInt64, _ box: ArraySlice<UInt8>) -> Digest {
    var start = ByteWriter(reservingCapacity: Bytes32.byteCount + 8)
    start.write(previous)
    start.write(sequence)
    return Hash.digest(.auditLink, start.bytes + box)
  }
}

extension AuditHead {
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
    guard let bytes = try view.bytes(of: name) else {
      self.init(sequence: 0, link: state.roster.groupID, month: AuditMonth(number: 0))
      return
    }
    guard let head = AuditHead(parsing: Array(bytes.prefix(256))) else {
      throw .damaged(.row, "the \(name) of the record")
    }
    self = head
  }

  init?(parsing bytes: [UInt8]) {
    guard let fields = try? Fields<Tag>(bytes, limit: 64, unknown: ByteReader.Failure()),
      let sequence = try? fields.number(.sequence), sequence <= AuditHead.sequenceLimit,
      let link = fields[.link].flatMap({ Digest($0) }), let month = try? fields.number(.month),
      month <= AuditMonth.limit
    else { return nil }
    self.init(sequence: sequence, link: link, month: AuditMonth(number: Int(month)))
  }

  func serialized() -> [UInt8] {
    var fields = FieldWriter()
    fields.write(Tag.sequence.rawValue, sequence)
    fields.write(Tag.link.rawValue, link.bytes)
    fields.write(Tag.month.rawValue, UInt64(month.number))
    return fields.bytes
  }
}

extension Label { fileprivate static let auditLink = Label("vault1.audit.lnk") }
