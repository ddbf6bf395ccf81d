package import Sealing

/// The owner's signed list of a group's members, with their rights and the key (format article, "The roster").
package struct Roster: Sendable, Equatable {
  /// The owner's settings for the whole group.
  package struct Flags: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The group is removed when its application is uninstalled.
    package static let purgedAtUninstall = Flags(rawValue: 1)
    /// The group opens only with this machine's device key.
    package static let thisDeviceOnly = Flags(rawValue: 2)
    private static let known: Flags = [.purgedAtUninstall, .thisDeviceOnly]
    /// Bits 8 to 23: read and write version, each less 1.
    private static let versionBits: UInt32 = 0x00FF_FF00

    package var version: FormatVersion {
      FormatVersion(read: UInt16(rawValue >> 8 & 0xFF) + 1, write: UInt16(rawValue >> 16 & 0xFF) + 1)
    }

    /// These flags with `version`, whose numbers are 1...256.
    func with(_ version: FormatVersion) -> Flags {
      Flags(rawValue: rawValue & ~Flags.versionBits | UInt32(version.read - 1) << 8 | UInt32(version.write - 1) << 16)
    }

    /// Whether all flags are known. Flags of a later format are accepted, because this program cannot know them.
    var areKnown: Bool {
      version.read > FormatVersion.known.read || rawValue & ~Flags.versionBits & ~Flags.known.rawValue == 0
    }
  }

  package var groupID: GroupID
  package var ownerKey: PublicKey
  /// The roster's own number; every change adds 1.
  package var revision: UInt64
  /// The group key's number; every rotation adds 1.
  package var generation: UInt64
  package var keyCommitment: Digest
  /// Digest of the previous roster; zeros at revision 1.
  package var previous: Digest
  /// The epoch of the manifest that was committed together with this roster.
  package var firstEpoch: UInt64
  package var flags: Flags
  /// Identifies the device key of a group bound to a device; zeros otherwise. 16 bytes.
  package var deviceKeyID: [UInt8]
  /// How many versions of each item are kept, the current one included: 1...1,000.
  package var keep: UInt16
  package var groupName: String
  /// Sorted by signing key.
  package var members: [Member]
  /// Sorted by application, issue, epoch.
  package var removed: [RemovedMember]

  package func member(signing key: PublicKey) -> Member? { members.first { $0.signingKey == key } }
}

extension Roster {
  /// The bytes that the owner signs.
  package func body() -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: 512)
    writer.write(Label.roster)
    writer.write(groupID)
    writer.write(ownerKey)
    writer.write(revision)
    writer.write(generation)
    writer.write(keyCommitment)
    writer.write(previous)
    writer.write(firstEpoch)
    writer.write(flags.rawValue)
    writer.write(deviceKeyID)
    writer.write(keep)
    writer.writeCounted16(Array(groupName.utf8))
    writer.write(UInt32(members.count))
    for member in members {
      writer.write(member.kind.rawValue)
      writer.write(member.rights.code)
      writer.write(member.issue)
      writer.writeCounted16(Array(member.application.utf8))
      writer.write(member.signingKey)
      writer.write(member.slotID)
      writer.write(member.wrapDigest)
    }
    writer.write(UInt32(removed.count))
    for entry in removed {
      writer.write(entry.issue)
      writer.writeCounted16(Array(entry.application.utf8))
      writer.write(entry.lastGeneration)
      writer.write(entry.epoch)
    }
    return writer.bytes
  }

  /// Reads a body, and checks every rule of the format that can be checked without other data.
  ///
  /// - Throws: `newerFormat` for a read version above this program's; `damaged(.roster, …)`.
  package init(parsing body: [UInt8]) throws(VaultError) {
    do {
      var reader = ByteReader(body)
      try reader.expect(.roster)
      groupID = try reader.readBytes32()
      ownerKey = try reader.readBytes32()
      revision = try reader.readCounter()
      generation = try reader.readCounter()
      keyCommitment = try reader.readBytes32()
      previous = try reader.readBytes32()
      firstEpoch = try reader.readCounter()
      flags = Flags(rawValue: try reader.read(UInt32.self))
      // A later format may have changed everything after the flags.
      try flags.version.check(.reading)
      deviceKeyID = Array(try reader.read(count: 16))
      keep = try reader.read(UInt16.self)
      groupName = try String(reader.readCounted16(), at: .roster)
      members = try Roster.readMembers(&reader)
      removed = try Roster.readRemoved(&reader)
      guard revision >= 1, generation >= 1, firstEpoch >= 1, flags.areKnown, flags.version.write >= flags.version.read,
        GroupLimits.keptVersions.contains(keep), (revision == 1) == (previous == .zero),
        flags.contains(.thisDeviceOnly) == deviceKeyID.contains(where: { $0 != 0 })
      else { throw VaultError.damaged(.roster, "fields") }
      try reader.finish()
    } catch {
      throw error as? VaultError ?? .damaged(.roster, "layout")
    }
  }

  private static func readMembers(_ reader: inout ByteReader) throws -> [Member] {
    let count = try reader.read(UInt32.self)
    guard count <= GroupLimits.memberCount else { throw VaultError.damaged(.roster, "number of members") }
    var members: [Member] = []
    for _ in 0..<count {
      guard let kind = Member.Kind(rawValue: try reader.read(UInt8.self)),
        let rights = MemberRights(code: try reader.read(UInt8.self))
      else { throw VaultError.damaged(.roster, "member") }
      let member = Member(
        kind: kind, rights: rights, issue: try reader.read(UInt32.self),
        application: try String(reader.readCounted16(), at: .roster), signingKey: try reader.readBytes32(),
        slotID: Array(try reader.read(count: 16)), wrapDigest: try reader.readBytes32())
      if let last = members.last, last.signingKey >= member.signingKey {
        throw VaultError.damaged(.roster, "order of members")
      }
      if kind == .owner, rights != .write || member.issue != 0 || !member.application.isEmpty {
        throw VaultError.damaged(.roster, "owner's entry")
      }
      if kind == .application, member.application.isEmpty || member.issue == 0 {
        throw VaultError.damaged(.roster, "application's entry")
      }
      members.append(member)
    }
    guard members.count(where: { $0.kind == .owner }) == 1 else { throw VaultError.damaged(.roster, "owner's entry") }
    return members
  }

  private static func readRemoved(_ reader: inout ByteReader) throws -> [RemovedMember] {
    let count = try reader.read(UInt32.self)
    guard count <= GroupLimits.removedCount else { throw VaultError.damaged(.roster, "number of removed members") }
    var removed: [RemovedMember] = []
    for _ in 0..<count {
      let entry = RemovedMember(
        issue: try reader.read(UInt32.self), application: try String(reader.readCounted16(), at: .roster),
        lastGeneration: try reader.readCounter(), epoch: try reader.readCounter())
      if let last = removed.last, !RemovedMember.rises(from: last, to: entry) {
        throw VaultError.damaged(.roster, "order of removed members")
      }
      removed.append(entry)
    }
    return removed
  }
}

extension String {
  /// The text of `bytes`; throws `damaged` at `level` if they are not UTF-8.
  init(_ bytes: [UInt8], at level: VaultError.Level) throws(VaultError) {
    // `String(validating:as:)` is not specialized.
    guard let text = try? UTF8Span(validating: bytes.span) else { throw .damaged(level, "text") }
    self.init(copying: text)
  }
}

extension RemovedMember {
  /// The size of the entry in a roster's body.
  var byteCount: Int { 22 + application.utf8.count }

  /// Whether `right` may follow `left` in a roster.
  static func rises(from left: RemovedMember, to right: RemovedMember) -> Bool {
    let leftID = Array(left.application.utf8)
    let rightID = Array(right.application.utf8)
    if leftID != rightID { return leftID.lexicographicallyPrecedes(rightID) }
    return (left.issue, left.epoch) < (right.issue, right.epoch)
  }
}

extension Label {
  static let roster = Label("vault1.roster")
  static let rosterHash = Label("vault1.ros.hash")
  fileprivate static let rosterBinding = Label("vault1.meta.ros")
}

/// A roster with its signature, and its stored form.
///
/// `N 24 ‖ seal(meta key, N, binding, u32 length ‖ body ‖ signature ‖ zeros to a multiple of 256)`: the padding hides
/// the exact number of members (format article, "The roster").
package struct SignedRoster: Sendable, Equatable {
  package let roster: Roster
  let signed: [UInt8]

  /// `H("vault1.ros.hash", body ‖ signature)`: identifies the roster in manifests.
  package let digest: Digest

  package init(_ roster: Roster, by owner: SigningKey) {
    let body = roster.body()
    self.roster = roster
    signed = body + owner.sign(body)
    digest = Hash.digest(.rosterHash, signed)
  }

  /// Opens a stored roster and checks that `ownerKey` signed it.
  init(
    opening stored: [UInt8], with keys: GroupKeys, ownerKey: PublicKey, isProved: Bool = false
  ) throws(VaultError) {
    guard let content = keys.openMeta(stored, .rosterBinding) else { throw .damaged(.roster, "seal") }
    var reader = ByteReader(content)
    guard content.count % SignedRoster.block == 0,
      let signed = try? reader.readCounted32(limit: GroupLimits.rosterByteCount), signed.count > 64,
      (try? reader.expectZeros(reader.remaining)) != nil,
      content.count == SignedRoster.paddedCount(signed.count)
    else { throw .damaged(.roster, "padding") }
    let body = Array(signed.dropLast(64))
    // The caller's key decides who the owner is; the file must not.
    guard isProved || ownerKey.verifies(Array(signed.suffix(64)), of: body) else {
      throw .damaged(.roster, "signature")
    }
    roster = try Roster(parsing: body)
    guard roster.ownerKey == ownerKey else { throw .damaged(.roster, "owner") }
    self.signed = signed
    digest = Hash.digest(.rosterHash, signed)
  }

  func sealed(with keys: GroupKeys) -> [UInt8] {
    var content = ByteWriter(reservingCapacity: SignedRoster.paddedCount(signed.count))
    content.writeCounted32(signed)
    content.writeZeros(SignedRoster.paddedCount(signed.count) - 4 - signed.count)
    return keys.sealMeta(content.bytes, .rosterBinding)
  }

  /// The largest body whose stored form is within the limit: without nonce and tag a multiple of 256 bytes, which
  /// begins with a count and ends with the signature.
  static let bodyByteCount = (GroupLimits.rosterByteCount - 40) / block * block - 4 - 64

  private static let block = 256

  private static func paddedCount(_ count: Int) -> Int { (4 + count + block - 1) / block * block }
}

/// The rights of a member in a group.
public enum MemberRights: String, Sendable, Comparable {
  case read
  /// To read and to write.
  case write

  public static func < (left: Self, right: Self) -> Bool { left == .read && right == .write }

  init?(code: UInt8) {
    guard code == 1 || code == 2 else { return nil }
    self = code == 1 ? .read : .write
  }

  var code: UInt8 { self == .read ? 1 : 2 }
}

/// A member of a group: one entry of its roster, with their rights and their wrap of the group's key.
public struct Member: Sendable, Equatable {
  package enum Kind: UInt8, Sendable {
    /// The owner, with their personal member seed (in the owner's registry: with the registry seed).
    case owner = 0
    /// An application whose seed the owner derives.
    case application = 1
  }

  package var kind: Kind
  public package(set) var rights: MemberRights
  /// The issue number of an application's seed; 0 for the owner.
  package var issue: UInt32
  /// The application's id; empty for the owner.
  package var application: String
  /// The key that signs this member's manifests.
  package var signingKey: PublicKey
  /// The slot of this member's wrap: 16 bytes.
  package var slotID: [UInt8]
  /// `H("vault1.wrap.hash", slot id ‖ wrap)`.
  package var wrapDigest: Digest

  /// The member, as items name their writer.
  public var who: Writer { Writer(kind: kind, issue: issue, application: application) }
}

/// A removed member, kept in the roster to determine which values they could read.
package struct RemovedMember: Sendable, Equatable {
  package var issue: UInt32
  package var application: String
  /// The last generation whose key they held.
  package var lastGeneration: UInt64
  package var epoch: UInt64
}
