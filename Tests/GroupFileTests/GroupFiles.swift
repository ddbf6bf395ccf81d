import Foundation

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
