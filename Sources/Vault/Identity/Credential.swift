internal import Sealing

typealias Credential = ApplicationCredential

/// An application's credential: what opens its groups, and where they are (format article, "The credential").
public struct ApplicationCredential: Sendable {
  /// The number of the application's identity; a replaced credential has a lower one.
  public let issue: UInt32
  /// The key of the owner whose rosters this application trusts.
  let ownerKey: PublicKey
  /// The application's id.
  public let application: String
  let member: MemberSeed
  /// Sorted by group name.
  package let floors: [Floor]
  /// Where the application's groups are published; `nil` if the credential does not say.
  public let remote: Remote?

  /// The newest state of one group that the owner knew when issuing the credential; an older one is a rollback.
  package struct Floor: Equatable, Sendable {
    package let group: String
    package let state: WitnessRecord
  }

  /// The largest size of a credential in bytes, with a remote.
  static let byteLimit = 131_072
  /// The highest number of floors that fit into a credential.
  static let floorLimit = 256

  /// What a file of the credential's label holds. Its first bytes contain these numbers.
  enum Version: UInt16 {
    case plain = 1
    /// Sealed with a passphrase.
    case sealed = 2
    case withRemote = 3
    case sealedWithRemote = 4

    init(of credential: Credential, sealed isSealed: Bool) {
      self = credential.remote == nil ? (isSealed ? .sealed : .plain) : isSealed ? .sealedWithRemote : .withRemote
    }

    var isSealed: Bool { self == .sealed || self == .sealedWithRemote }
    var byteLimit: Int { self == .plain || self == .sealed ? 65_536 : Credential.byteLimit }
  }

  // The position of the member's seed.
  private static let seedRange = 56..<88

  init(
    issue: UInt32, ownerKey: PublicKey, application: String, member: MemberSeed, floors: [Floor], remote: Remote? = nil
  ) {
    precondition(FolderName.isValid(application) && floors.allSatisfy { FolderName.isValid($0.group) })
    precondition(floors.count <= Credential.floorLimit)
    (self.issue, self.ownerKey, self.application) = (issue, ownerKey, application)
    (self.member, self.remote) = (member, remote)
    self.floors = floors.sorted { $0.group.utf8.lexicographicallyPrecedes($1.group.utf8) }
  }

  /// The credential's bytes, in guarded memory because they contain the seed.
  func serialized() throws(VaultError) -> GuardedBytes {
    var writer = ByteWriter()
    writer.write(.credential)
    writer.write(Version(of: self, sealed: false).rawValue)
    writer.write(UInt16(0))
    writer.write(issue)
    writer.write(ownerKey)
    // The seed must not be in the writer's memory, which is not wiped.
    writer.writeZeros(Key.byteCount)
    writer.writeCounted16(Array(application.utf8))
    writer.write(UInt16(floors.count))
    for floor in floors { floor.write(to: &writer) }
    let remote = try self.remote?.serialized().opened
    if let remote { writer.write(UInt32(remote.count)) }
    let open = writer.bytes
    let covered = open.count + (remote?.count ?? 0)
    let bytes = try sealing(GuardedBytes(count: covered + Digest.byteCount))
    unsafe bytes.withUnsafeMutableBytes { bytes in
      unsafe bytes.copyBytes(from: open)
      unsafe member.withUnsafeBytes { seed in
        unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[Credential.seedRange]).copyMemory(from: seed)
      }
      unsafe remote?.withUnsafeBytes { remote in
        unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[open.count..<covered]).copyMemory(from: remote)
      }
      let digest = unsafe Hash.digest(.credentialHash, UnsafeRawBufferPointer(rebasing: bytes[..<covered]))
      unsafe digest.withUnsafeBytes { digest in
        unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[covered...]).copyMemory(from: digest)
      }
    }
    return bytes
  }

  init(parsing bytes: GuardedBytes) throws(VaultError) {
    let version = try Credential.version(of: bytes)
    guard !version.isSealed else { throw .newerFormat(read: nil, write: nil) }
    let openCount = try Credential.openCount(of: bytes, version)
    do throws(ByteReader.Failure) {
      var reader = ByteReader(Credential.openPart(of: bytes, openCount))
      _ = try reader.read(count: 20)
      issue = try reader.read(UInt32.self)
      ownerKey = try reader.readBytes32()
      _ = try reader.read(count: Key.byteCount)
      application = try Credential.readName(&reader)
      let count = Int(try reader.read(UInt16.self))
      guard count <= Credential.floorLimit else { throw ByteReader.Failure() }
      var floors: [Floor] = []
      for _ in 0..<count {
        let floor = try Floor(from: &reader, of: ownerKey)
        if let last = floors.last, !last.group.utf8.lexicographicallyPrecedes(floor.group.utf8) {
          throw ByteReader.Failure()
        }
        floors.append(floor)
      }
      self.floors = floors
      try reader.finish()
    } catch {
      throw Credential.disorder
    }
    remote =
      version == .plain
      ? nil
      : try unsafe bytes.withUnsafeBytes { (bytes) throws(VaultError) in
        let place = openCount + 4..<bytes.count - Digest.byteCount
        return try unsafe Remote(parsing: UnsafeRawBufferPointer(rebasing: bytes[place]), orThrow: Credential.disorder)
      }
    member = try unsafe sealing(
      MemberSeed(
        bytes.withUnsafeBytes { (bytes) throws(SealingError) in
          try unsafe Key(copying: UnsafeRawBufferPointer(rebasing: bytes[Credential.seedRange]))
        }))
  }

  private static let disorder = VaultError.damaged(.credential, "its fields do not follow the format")

  /// The version of a whole credential, sealed or not.
  ///
  /// - Throws: `damaged`; `newerFormat`.
  static func version(of bytes: GuardedBytes) throws(VaultError) -> Version {
    let start = unsafe bytes.withUnsafeBytes { unsafe Array($0.prefix(20)) }
    if CheckedFile.isNewer(start.prefix(16), than: .credential) { throw .newerFormat(read: nil, write: nil) }
    let count = bytes.count - Digest.byteCount
    let version = start.count < 20 ? nil : Version(rawValue: UInt16(start[16]) << 8 | UInt16(start[17]))
    guard count >= seedRange.upperBound, bytes.count <= version?.byteLimit ?? byteLimit,
      start.starts(with: Label.credential.padded)
    else { throw .damaged(.credential, "it is not a vault credential") }
    guard let version else { throw .newerFormat(read: nil, write: nil) }
    let isWhole = unsafe bytes.withUnsafeBytes { bytes in
      let covered = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<count])
      return unsafe Hash.digest(.credentialHash, covered) == Digest(UnsafeRawBufferPointer(rebasing: bytes[count...]))
    }
    guard isWhole else { throw .damaged(.credential, "it was altered or truncated") }
    guard start[18..<20].elementsEqual([0, 0]) else { throw .damaged(.credential, "it has an unknown flag") }
    return version
  }

  /// The number of bytes before the remote, which must be exactly what follows the floors, or before the hash if there
  /// is none.
  private static func openCount(of bytes: GuardedBytes, _ version: Version) throws(VaultError) -> Int {
    let end = bytes.count - Digest.byteCount
    guard version == .withRemote else { return end }
    return try unsafe bytes.withUnsafeBytes { (bytes) throws(VaultError) in
      var offset = seedRange.upperBound
      func number(_ size: Int) throws(VaultError) -> Int {
        guard end - offset >= size else { throw disorder }
        defer { offset += size }
        return unsafe bytes[offset..<offset + size].reduce(0) { $0 << 8 | Int($1) }
      }
      offset += try number(2)
      let floorCount = try number(2)
      for _ in 0..<floorCount { offset += try number(2) + Floor.fixedByteCount }
      let open = offset
      guard try number(4) == end - offset else { throw disorder }
      return open
    }
  }

  /// The first `count` bytes with zeros in place of the seed: these may be kept in ordinary memory.
  private static func openPart(of bytes: GuardedBytes, _ count: Int) -> [UInt8] {
    unsafe bytes.withUnsafeBytes { bytes in
      let seed = repeatElement(UInt8(0), count: Key.byteCount)
      return unsafe Array(bytes[..<seedRange.lowerBound]) + seed + Array(bytes[seedRange.upperBound..<count])
    }
  }

  fileprivate static func readName(_ reader: inout ByteReader) throws(ByteReader.Failure) -> String {
    let name = String(decoding: try reader.readCounted16(), as: UTF8.self)
    guard FolderName.isValid(name) else { throw ByteReader.Failure() }
    return name
  }
}

extension Credential.Floor {
  fileprivate static let fixedByteCount = 2 * Digest.byteCount + 3 * 8

  fileprivate func write(to writer: inout ByteWriter) {
    writer.writeCounted16(Array(group.utf8))
    writer.write(state.groupID)
    writer.write(state.rosterRevision)
    writer.write(state.generation)
    writer.write(state.epoch)
    writer.write(state.link)
  }

  fileprivate init(from reader: inout ByteReader, of ownerKey: PublicKey) throws(ByteReader.Failure) {
    group = try Credential.readName(&reader)
    state = WitnessRecord(
      groupID: try reader.readBytes32(), ownerKey: ownerKey, rosterRevision: try reader.readCounter(),
      generation: try reader.readCounter(), epoch: try reader.readCounter(), link: try reader.readBytes32())
  }
}

extension Label {
  static let credential = Label("vault1.app.cred")
  static let credentialHash = Label("vault1.cred.hash")
}
