package import Sealing

/// What one signed state of a published group adds to the state before it: the unit that a log of commits orders and
/// keeps (format article, "Commits").
///
/// Everything in it is sealed and signed as it is in the file, so a log can neither read nor forge it. Its fields count
/// only after the commit was proved against the state before.
package struct GroupCommit: Sendable, Equatable {
  package let groupID: GroupID
  package let epoch: UInt64
  /// The link of the state that the commit follows.
  package let previousLink: Digest
  /// The link of the state that the commit makes.
  package let link: Digest
  let manifest: [UInt8]
  /// `nil` if the roster stays.
  let roster: RosterPart?
  /// In the order in which they are written.
  let rows: [SealedRow]

  /// Whether members, rights or settings change.
  package var changesRoster: Bool { roster != nil }

  /// The commit without the values, which may be large.
  package var withoutRows: GroupCommit {
    GroupCommit(
      groupID: groupID, epoch: epoch, previousLink: previousLink, link: link, manifest: manifest, roster: roster,
      rows: [])
  }

  /// A new roster with everything that depends on it.
  struct RosterPart: Sendable, Equatable {
    let header: [UInt8]
    let roster: [UInt8]
    /// The wraps of all members, in the order of the roster.
    let wraps: [[UInt8]]
  }

  /// A row, and its sealed secret if that is too large for the row.
  struct SealedRow: Sendable, Equatable {
    let row: [UInt8]
    let blob: [UInt8]?
  }

  /// The largest commit: 64 MiB. A file of any size can be published, but not a change.
  package static let byteLimit = 64 << 20
}

extension GroupCommit {
  struct Draft {
    private(set) var rows: [SealedRow] = []
    private var byteCount = 0

    mutating func add(_ row: Row, _ blob: [UInt8]?) throws(VaultError) {
      byteCount += row.encoded.count + (blob?.count ?? 0) + 16
      guard byteCount <= GroupCommit.byteLimit - GroupLimits.rosterByteCount * 2 else {
        throw .overLimit("64 MiB in one change of a published group")
      }
      rows.append(SealedRow(row: row.encoded, blob: blob))
    }
  }

  /// The commit from `old` to `new`, which the open transaction of `connection` has stored.
  init(
    from old: VerifiedState, to new: VerifiedState, _ draft: Draft, _ connection: Connection
  ) throws(VaultError) {
    (groupID, epoch) = (new.manifest.groupID, new.manifest.epoch)
    (previousLink, link, manifest, rows) = (old.link, new.link, new.sealedManifest, draft.rows)
    guard new.signedRoster.digest != old.signedRoster.digest else {
      roster = nil
      return
    }
    let wraps = try new.roster.members.map { (member) throws(VaultError) in
      guard let wrap = try connection.wrap(member.slotID) else { throw .damaged(.wrap, "a member's wrap is missing") }
      return wrap
    }
    roster = RosterPart(header: new.header, roster: new.sealedRoster, wraps: wraps)
  }

  package func serialized() -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: 512 + rows.reduce(0) { $0 + $1.row.count + ($1.blob?.count ?? 0) + 16 })
    writer.write(Label.commit)
    writer.write(groupID)
    writer.write(epoch)
    writer.write(previousLink)
    writer.write(link)
    writer.writeCounted32(manifest)
    writer.write(UInt8(roster == nil ? 0 : 1))
    if let roster {
      writer.writeCounted16(roster.header)
      writer.writeCounted32(roster.roster)
      writer.write(UInt32(roster.wraps.count))
      for wrap in roster.wraps { writer.writeCounted16(wrap) }
    }
    writer.write(UInt32(rows.count))
    for row in rows {
      writer.writeCounted32(row.row)
      writer.writeCounted32(row.blob ?? [])
    }
    writer.write(GroupCommit.checksum(of: writer.bytes[...]))
    return writer.bytes
  }

  /// Detects damage, but not forgery: the signatures do that.
  static func checksum(of bytes: ArraySlice<UInt8>) -> Digest { Hash.digest(.commitHash, Array(bytes)) }

  /// Reads a commit; any defect is `damaged(.commit, …)`. Nothing in it is proved yet.
  package init(parsing bytes: [UInt8]) throws(VaultError) {
    do {
      guard bytes.count <= GroupCommit.byteLimit else { throw ByteReader.Failure() }
      var reader = ByteReader(bytes)
      try reader.expect(.commit)
      groupID = try reader.readBytes32()
      epoch = try reader.readCounter()
      previousLink = try reader.readBytes32()
      link = try reader.readBytes32()
      manifest = try reader.readCounted32(limit: SignedManifest.byteCount)
      switch try reader.read(UInt8.self) {
      case 0: roster = nil
      case 1: roster = try RosterPart(reading: &reader)
      default: throw ByteReader.Failure()
      }
      var rows: [SealedRow] = []
      for _ in 0..<(try reader.read(UInt32.self)) {
        // A row takes at least eight bytes of what is left, so a large count ends soon.
        let row = try reader.readCounted32(limit: bytes.count)
        let blob = try reader.readCounted32(limit: Row.blobByteCount.upperBound)
        rows.append(SealedRow(row: row, blob: blob.isEmpty ? nil : blob))
      }
      self.rows = rows
      let checksum = GroupCommit.checksum(of: bytes[..<reader.offset])
      guard try reader.readBytes32() == checksum else { throw ByteReader.Failure() }
      try reader.finish()
    } catch {
      throw .damaged(.commit, "layout")
    }
  }
}

extension GroupCommit.RosterPart {
  fileprivate init(reading reader: inout ByteReader) throws(ByteReader.Failure) {
    header = try reader.readCounted16()
    roster = try reader.readCounted32(limit: GroupLimits.rosterByteCount)
    let count = try reader.read(UInt32.self)
    guard count <= GroupLimits.memberCount else { throw ByteReader.Failure() }
    wraps = try (0..<count).map { (_) throws(ByteReader.Failure) in try reader.readCounted16() }
  }
}

extension Label {
  fileprivate static let commit = Label("vault1.commit")
  fileprivate static let commitHash = Label("vault1.com.hash")
}
