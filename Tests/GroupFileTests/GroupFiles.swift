import Foundation
import Sealing

@testable import GroupFile

/// The bytes of a group's file and log, as seen by someone who can write the storage.
struct GroupFiles {
  var main: [UInt8]
  var log: [UInt8]

  /// Copies the files in `folder`. This process keeps none of them open.
  init(in folder: String) throws {
    try ConnectionPool.closeIdle(at: ContainerPlace(folder: folder))
    main = [UInt8](FileManager.default.contents(atPath: folder + "/group.vault") ?? Data())
    log = [UInt8](FileManager.default.contents(atPath: folder + "/group.vault-wal") ?? Data())
  }

  /// Puts the files into `folder`, replacing those in it.
  func put(into folder: String) throws {
    if let place = try? ContainerPlace(folder: folder) { ConnectionPool.closeIdle(at: place) }
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    for (name, bytes) in [("group.vault", main), ("group.vault-wal", log), ("group.vault-shm", [])] {
      let path = folder + "/" + name
      if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
  }
}

extension GroupFixture {
  /// The group's files in their current state.
  func files() throws -> GroupFiles { try GroupFiles(in: folder) }

  /// Replaces the group's files.
  func replace(with files: GroupFiles) throws { try files.put(into: folder) }

  /// Moves the log into the main file.
  func checkpoint() throws {
    let connection = try Connection(folder: folder, access: .writing)
    defer { connection.close() }
    try connection.truncatingCheckpoint()
  }

  /// Changes rows without updating anything that proves them, as someone who can write the file may.
  func tamper(_ body: (Connection) throws -> Void) throws {
    try GroupFixture.tamper(in: folder, body)
  }

  static func tamper(in folder: String, _ body: (Connection) throws -> Void) throws {
    let connection = try Connection(folder: folder, access: .writing)
    defer { connection.close() }
    try connection.begin(.immediate)
    try body(connection)
    try connection.commit()
  }

  /// Reads rows without proving them.
  func peek<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    let connection = try Connection(folder: folder, access: .reading)
    defer { connection.close() }
    try connection.begin(.reading)
    return try body(connection)
  }
}

extension Connection {
  convenience init(folder: String, access: Access) throws(VaultError) {
    try self.init(at: ContainerPlace(folder: folder), access: access)
  }
}

/// Records as SQLite would store them, on pages that no table reaches.
extension GroupFixture {
  /// Appends a page with records of manifests, as table `state` has them.
  ///
  /// - Parameter claimed: whether the file counts the page as its own.
  func appendJunkPage(claimed: Bool, records: [[UInt8]] = (0..<4).map { _ in Randomness.bytes(336) }) throws {
    // Each payload is a header, which names NULL and a blob's type, and the blob.
    let payloads = records.map { record in
      let type = record.count * 2 + 12
      return [4, 0, UInt8(0x80 | type >> 7), UInt8(type & 0x7F)] + record
    }
    try appendPages(.tableLeaf, payloads, rowID: 3, claimed: claimed)
  }

  /// Appends pages with one cell for each payload.
  func appendPages(_ kind: RecordPage.Kind, _ payloads: [[UInt8]], rowID: UInt8 = 0, claimed: Bool) throws {
    try checkpoint()
    var files = try files()
    var rest = payloads[...]
    while !rest.isEmpty {
      var page = [UInt8](repeating: 0, count: 4_096)
      var end = page.count
      var count = 0
      while let payload = rest.first {
        var cell = [UInt8(0x80 | payload.count >> 7), UInt8(payload.count & 0x7F)]
        if kind == .tableLeaf { cell.append(rowID) }
        cell += payload
        guard end - cell.count >= 10 + 2 * count else { break }
        end -= cell.count
        page.replaceSubrange(end..<end + cell.count, with: cell)
        page[8 + 2 * count] = UInt8(end >> 8)
        page[9 + 2 * count] = UInt8(end & 0xFF)
        count += 1
        rest.removeFirst()
      }
      page[0] = kind.rawValue
      page[4] = UInt8(count)
      page[5] = UInt8(end >> 8)
      page[6] = UInt8(end & 0xFF)
      files.main += page
    }
    if claimed {
      let count = UInt32(files.main.count / 4_096)
      for index in 0..<4 { files.main[28 + index] = UInt8(truncatingIfNeeded: count >> (24 - 8 * UInt32(index))) }
    }
    try replace(with: files)
  }
}
