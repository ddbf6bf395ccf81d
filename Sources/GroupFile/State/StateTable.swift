internal import Glibc
import Sealing

/// The three parts of table `state`.
enum StatePart: Int64 {
  /// Group id ‖ generation ‖ flags ‖ device key id, not encrypted, because they are needed to find the wrap.
  case header = 1
  case roster = 2
  case manifest = 3
}

/// Tables `state`, `wrap` and `chain`.
extension Connection {
  /// The bytes of `part`, unproved.
  ///
  /// - Throws: `damaged(.container, …)` if they are missing.
  func part(_ part: StatePart) throws(GroupFileError) -> [UInt8] {
    let statement = try statement("SELECT bytes FROM state WHERE part = ?")
    defer { statement.reset() }
    try statement.bind(1, part.rawValue)
    guard try statement.step() else { throw .damaged(.container, "a part of the state is missing") }
    return unsafe Array(try statement.blob(0, count: 1...GroupLimits.rosterByteCount + 1_024))
  }

  /// Whether `part` holds exactly `bytes`: a cheap check that every transaction makes.
  func part(_ part: StatePart, equals bytes: [UInt8]) throws(GroupFileError) -> Bool {
    let statement = try statement("SELECT bytes FROM state WHERE part = ?")
    defer { statement.reset() }
    try statement.bind(1, part.rawValue)
    guard try statement.step() else { throw .damaged(.container, "a part of the state is missing") }
    let stored = unsafe try statement.blob(0, count: 1...GroupLimits.rosterByteCount + 1_024)
    return unsafe stored.count == bytes.count
      && bytes.withUnsafeBytes { unsafe memcmp(stored.baseAddress!, $0.baseAddress!, $0.count) == 0 }
  }

  func storePart(_ part: StatePart, _ bytes: [UInt8]) throws(GroupFileError) {
    let statement = try statement("REPLACE INTO state(part, bytes) VALUES(?, ?)")
    defer { statement.reset() }
    try statement.bind(1, part.rawValue)
    try statement.bind(2, bytes)
    _ = try statement.step()
  }

  /// The wrap of `slotID`.
  func wrap(_ slotID: [UInt8]) throws(GroupFileError) -> [UInt8]? {
    let statement = try statement("SELECT sealed FROM wrap WHERE slot = ?")
    defer { statement.reset() }
    try statement.bind(1, slotID)
    guard try statement.step() else { return nil }
    return unsafe Array(try statement.blob(0, count: 1...1_024))
  }

  /// Stores a wrap, replacing an existing one: a future member may know the slot of their wrap, and could have filled
  /// it.
  func storeWrap(_ slotID: [UInt8], _ sealed: [UInt8]) throws(GroupFileError) {
    let statement = try statement("REPLACE INTO wrap(slot, sealed) VALUES(?, ?)")
    defer { statement.reset() }
    try statement.bind(1, slotID)
    try statement.bind(2, sealed)
    _ = try statement.step()
  }

  /// The chain's rows with epochs above `epoch`, in rising order; at most as many as the chain keeps.
  func chain(after epoch: UInt64) throws(GroupFileError) -> [(epoch: UInt64, rest: Digest)] {
    let statement = try statement("SELECT epoch, rest FROM chain WHERE epoch > ? ORDER BY epoch")
    defer { statement.reset() }
    try statement.bind(1, Int64(epoch))
    var rows: [(epoch: UInt64, rest: Digest)] = []
    var last = epoch
    while try statement.step() {
      let next = UInt64(try statement.integer(0, in: 1...Int64(ByteReader.counterLimit - 1)))
      guard next > last, rows.count < GroupLimits.chainLength else { throw .damaged(.chain, "order") }
      last = next
      rows.append((next, unsafe Digest(try statement.blob(1, count: 32...32))!))
    }
    return rows
  }

  /// Adds the row of `epoch` and drops those that the chain no longer keeps. An existing row of this epoch was
  /// not written by Vault, because nothing was signed there, and is replaced.
  func appendChain(_ epoch: UInt64, _ rest: Digest) throws(GroupFileError) {
    let insert = try statement("REPLACE INTO chain(epoch, rest) VALUES(?, ?)")
    defer { insert.reset() }
    try insert.bind(1, Int64(epoch))
    try insert.bind(2, rest.bytes)
    _ = try insert.step()
    guard epoch > GroupLimits.chainLength else { return }
    let drop = try statement("DELETE FROM chain WHERE epoch <= ?")
    defer { drop.reset() }
    try drop.bind(1, Int64(epoch - GroupLimits.chainLength))
    _ = try drop.step()
  }
}

/// Part 1 of the state.
struct StateHeader: Equatable {
  var groupID: GroupID
  var generation: UInt64
  var flags: Roster.Flags
  var deviceKeyID: [UInt8]

  init(of roster: Roster) {
    groupID = roster.groupID
    generation = roster.generation
    flags = roster.flags
    deviceKeyID = roster.deviceKeyID
  }

  init(parsing bytes: [UInt8]) throws(GroupFileError) {
    do {
      var reader = ByteReader(bytes)
      groupID = try reader.readBytes32()
      generation = try reader.readCounter()
      flags = Roster.Flags(rawValue: try reader.read(UInt32.self))
      deviceKeyID = Array(try reader.read(count: 16))
      try reader.finish()
    } catch {
      throw .damaged(.container, "the state's header")
    }
    guard flags.areKnown, flags.contains(.thisDeviceOnly) == deviceKeyID.contains(where: { $0 != 0 }) else {
      throw .damaged(.container, "the state's header")
    }
  }

  func serialized() -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: 60)
    writer.write(groupID)
    writer.write(generation)
    writer.write(flags.rawValue)
    writer.write(deviceKeyID)
    return writer.bytes
  }
}
