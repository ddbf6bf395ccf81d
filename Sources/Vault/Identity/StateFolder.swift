internal import Glibc
internal import GroupFile
internal import Sealing

/// The file `device.key` in the state folder: 32 random bytes that never leave this machine.
///
/// It is not backed up, because groups bound to it are meant to be lost with the machine.
enum DeviceKeyFile {
  static let name = "device.key"

  /// Reads the device key; `nil` if there is none yet.
  ///
  /// - Throws: the fault: a link, not a regular file, not owned by us, open to others, or not exactly 32 bytes long.
  static func read(in stateFolder: String, user: uid_t = geteuid()) throws(FileFault) -> DeviceKey? {
    do throws(FileFault) {
      let trust = FileTrust(owners: [user], forbiddenMode: 0o077)
      let size = Key.byteCount...Key.byteCount
      let bytes = try SecretFile.read(path(in: stateFolder), trust, size: size)
      do { return DeviceKey(try Key(bytes)) } catch { throw .wrongSize }
    } catch {
      if error == .missing { return nil }
      throw error
    }
  }

  /// Reads the device key, or creates it, durably. An existing one is never replaced, because groups would be lost.
  ///
  /// - Throws: `locked` with the fault of the file or its folder; `storage`.
  static func readOrMake(in stateFolder: String) throws(VaultError) -> DeviceKey {
    do throws(FileFault) {
      if let key = try read(in: stateFolder) { return key }
      // The state folder must be ours, and nobody else may have write access.
      _ = try Folder(stateFolder, .state(), followingLink: true)
      do throws(FileFault) {
        let key: Key
        do { key = try Key.random() } catch { throw .storage(.memory) }
        try SecretFile.Draft(path(in: stateFolder)).place(key)
      } catch {
        // Another process made it just now.
        guard error == .taken else { throw error }
      }
      guard let key = try read(in: stateFolder) else { throw .missing }
      return key
    } catch {
      throw VaultError(error, VaultError.Lock.deviceKey)
    }
  }

  /// Finds the device key that a group is bound to.
  ///
  /// - Throws: `otherDevice`, which says what this machine has instead.
  static func key(_ id: [UInt8], in stateFolder: String?) throws(VaultError) -> Key {
    guard let stateFolder else { throw .otherDevice("no state folder is known, so this machine has no device key") }
    let found: DeviceKey?
    do throws(FileFault) { found = try read(in: stateFolder) } catch {
      throw .otherDevice("the device key here \(error.reason)")
    }
    guard let found else { throw .otherDevice("this machine has no device key") }
    guard found.id == id else { throw .otherDevice("this machine has another device key") }
    return found.key.copy()
  }

  private static func path(in stateFolder: String) -> String { "\(stateFolder)/\(name)" }
}

/// The facts other than witnesses that this machine remembers about a store: the file `settings` in the state folder.
///
/// ```
/// pad16("vault1.settings") ‖ u16 ‖ place of the key file (empty: none) ‖ u64 time of the last backup, ms since 1970
/// (0: none) ‖ H("vault1.set.hash", before)
/// ```
struct Settings: Equatable, Sendable {
  /// The key file that opened the store, as an absolute path.
  var keyFile: String?
  /// When the store was last backed up, in milliseconds since 1970.
  var lastBackup: UInt64?

  static let fileName = "settings"
  private static let pathLimit = 4096
  private static let byteLimit = 16 + 2 + pathLimit + 8 + Digest.byteCount

  init(keyFile: String? = nil, lastBackup: UInt64? = nil) {
    self.keyFile = keyFile
    self.lastBackup = lastBackup
  }

  // MARK: - Bytes

  /// The file's bytes; a path longer than 4,096 bytes is not stored.
  func serialized() -> [UInt8] {
    let path = Array((keyFile ?? "").utf8)
    var writer = ByteWriter()
    writer.write(.settings)
    writer.writeCounted16(path.count > Settings.pathLimit ? [] : path)
    writer.write(lastBackup ?? 0)
    writer.write(Hash.digest(.settingsHash, writer.bytes))
    return writer.bytes
  }

  /// Reads a file's bytes.
  ///
  /// - Throws: `damaged`; `newerFormat`.
  init(parsing bytes: [UInt8]) throws(VaultError) {
    guard let covered = try CheckedFile.covered(bytes, .settings, hash: .settingsHash, level: .settings) else {
      throw .damaged(.settings, "they are not vault settings, or were altered")
    }
    do throws(ByteReader.Failure) {
      var reader = ByteReader(covered)
      try reader.expect(.settings)
      let start = reader.offset
      let path = try reader.readCounted16()
      guard path.count <= Settings.pathLimit, let text = String(validating: path, as: UTF8.self) else {
        throw .unexpected(offset: start)
      }
      keyFile = text.isEmpty ? nil : text
      let time = try reader.readCounter()
      lastBackup = time == 0 ? nil : time
      try reader.finish()
    } catch {
      throw .damaged(.settings, "their fields do not follow the format")
    }
  }

  // MARK: - File

  /// Reads the settings; if the state folder or the file does not exist, they are empty.
  ///
  /// - Throws: `damaged`, `newerFormat`, `denied`, `storage`.
  static func read(in stateFolder: String, user: uid_t = geteuid()) throws(VaultError) -> Settings {
    let folder: Folder
    do throws(FileFault) {
      folder = try Folder(stateFolder, .state(user: user), followingLink: true)
    } catch {
      if error == .missing { return Settings() }
      throw VaultError(error, at: .state)
    }
    let bytes: [UInt8]
    do throws(FileFault) {
      bytes = try folder.read(fileName, .state(user: user), limit: byteLimit)
    } catch {
      if error == .missing { return Settings() }
      throw VaultError(error, at: .settings)
    }
    return try Settings(parsing: bytes)
  }

  /// Changes the settings, and keeps other processes from changing them meanwhile; damaged settings are replaced.
  ///
  /// - Throws: `denied`, `busy`, `storage`; the settings are unchanged then.
  static func change(
    in stateFolder: String, user: uid_t = geteuid(), _ body: (inout Settings) -> Void
  ) throws(VaultError) {
    do throws(FileFault) {
      let folder = try Folder(stateFolder, .state(user: user), followingLink: true)
      try folder.file.lock(waiting: 10_000)
      let before = try? Settings(parsing: try folder.read(fileName, .state(user: user), limit: byteLimit))
      var settings = before ?? Settings()
      body(&settings)
      if settings != before { try folder.replace(fileName, with: settings.serialized()) }
    } catch {
      throw VaultError(error, at: .settings)
    }
  }
}

extension Label {
  fileprivate static let settings = Label("vault1.settings")
  fileprivate static let settingsHash = Label("vault1.set.hash")
}

/// This user's decisions about project files on this machine: one file per project in the state folder, named after the
/// project's path.
extension StoreLocation {
  package enum ProjectStanding: Equatable, Sendable {
    case unknown, allowed, denied
    /// It was allowed, and its content has changed since.
    case changed
  }

  private static let projectsName = "projects"

  /// - Parameter path: the project's file, absolute and without links.
  /// - Throws: ``VaultError/noStore(path:)``; the error of reading the decision. A damaged decision counts as none.
  package func standing(ofProject path: String, _ content: [UInt8]) throws(VaultError) -> ProjectStanding {
    let state = try stateFolderPath()
    let said: [UInt8]
    do throws(FileFault) {
      let folder = try Folder(state, .state(), followingLink: true)
      said = try folder.folder(StoreLocation.projectsName, .state()).read(fileName(path), .state(), limit: 8_192)
    } catch {
      if error == .missing { return .unknown }
      throw VaultError(error, at: .state)
    }
    if said == answer(path, nil) { return .denied }
    if said == answer(path, content) { return .allowed }
    return said.count > 64 && said.dropFirst(64) == answer(path, []).dropFirst(64) ? .changed : .unknown
  }

  /// Allows the file of a project with its current content.
  ///
  /// - Parameter content: the file's content, or nil to deny the file whatever its content.
  /// - Throws: ``VaultError/noStore(path:)``; the error of writing the decision. The previous decision is kept then.
  package func allow(project path: String, _ content: [UInt8]?) throws(VaultError) {
    try changeProjects { (folder) throws(FileFault) in try folder.replace(fileName(path), with: answer(path, content)) }
  }

  /// Deletes the decision about a project's file.
  ///
  /// - Throws: as ``allow(project:_:)``.
  package func forget(project path: String) throws(VaultError) {
    try changeProjects { (folder) throws(FileFault) in try folder.remove(fileName(path)) }
  }

  private func changeProjects(_ body: (borrowing Folder) throws(FileFault) -> Void) throws(VaultError) {
    let state = try stateFolderPath()
    do throws(FileFault) {
      try Folder.make(state)
      let folder = try Folder(state, .state(), followingLink: true)
      try folder.makeFolder(StoreLocation.projectsName)
      let projects = try folder.folder(StoreLocation.projectsName, .state())
      try projects.file.lock(waiting: 10_000)
      try body(projects)
    } catch {
      throw VaultError(error, at: .state)
    }
  }

  private func stateFolderPath() throws(VaultError) -> String {
    guard let path = try all().first(where: { $0.what == "state" })?.path else { throw .noStore(path: home) }
    return path
  }

  private func fileName(_ path: String) -> String { String(Fingerprint.of(Array(path.utf8)).prefix(32)) }

  /// The path is included for people, and because the file's name is only a short hash of it.
  private func answer(_ path: String, _ content: [UInt8]?) -> [UInt8] {
    let word = content.map { Fingerprint.of($0) } ?? "denied"
    return Array("\(word) \(path)\n".utf8)
  }
}
