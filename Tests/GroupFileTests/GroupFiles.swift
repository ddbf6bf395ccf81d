import Foundation

@testable import GroupFile

/// The bytes of a group's file and log, as somebody who can write the storage sees them.
struct GroupFiles {
  var main: [UInt8]
  var log: [UInt8]

  /// Takes a copy of what lies in `folder`; the process keeps nothing of it open.
  init(in folder: String) throws {
    try ConnectionPool.closeIdle(at: ContainerPlace(folder: folder))
    main = [UInt8](FileManager.default.contents(atPath: folder + "/group.vault") ?? Data())
    log = [UInt8](FileManager.default.contents(atPath: folder + "/group.vault-wal") ?? Data())
  }

  /// Puts the files into `folder`, in place of what is there.
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
  /// The group's files as they are now.
  func files() throws -> GroupFiles { try GroupFiles(in: folder) }

  /// Puts other files in the place of the group's.
  func replace(with files: GroupFiles) throws { try files.put(into: folder) }

  /// Moves the log into the main file.
  func checkpoint() throws {
    let connection = try Connection(folder: folder, access: .writing)
    defer { connection.close() }
    try connection.truncatingCheckpoint()
  }

  /// Changes rows behind the back of everything that proves them, as whoever can write the file may.
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

  /// Looks at rows without proving them.
  func peek<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    let connection = try Connection(folder: folder, access: .reading)
    defer { connection.close() }
    try connection.begin(.reading)
    return try body(connection)
  }
}
