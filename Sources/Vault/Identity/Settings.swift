internal import Sealing

/// The facts other than witnesses that this machine remembers about a store: the file `settings-OWNER` in the state
/// folder, which several stores may share.
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

  static func fileName(of ownerKey: PublicKey) -> String { "settings-\(ownerKey.shortName)" }
  /// The file of earlier versions, without the owner in its name. It is read if there is no other.
  private static let formerName = "settings"
  private static let pathLimit = 4096
  private static let byteLimit = 16 + 2 + pathLimit + 8 + Digest.byteCount
}

extension Settings {
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

  init(parsing bytes: [UInt8]) throws(VaultError) {
    guard var reader = try CheckedFile.reader(of: bytes, .settings, hash: .settingsHash) else {
      throw .damaged(.settings, "they are not vault settings, or were altered")
    }
    do throws(ByteReader.Failure) {
      let path = try reader.readCounted16()
      guard path.count <= Settings.pathLimit, let text = String(validating: path, as: UTF8.self) else {
        throw ByteReader.Failure()
      }
      keyFile = text.isEmpty ? nil : text
      let time = try reader.readCounter()
      lastBackup = time == 0 ? nil : time
      try reader.finish()
    } catch {
      throw .damaged(.settings, "their fields do not follow the format")
    }
  }

  /// Reads the settings; if the state folder is not known, or it or the file does not exist, they are empty.
  ///
  /// - Throws: `damaged`, `newerFormat`, `denied`, `storage`.
  static func read(in stateFolder: String?, of ownerKey: PublicKey) throws(VaultError) -> Settings {
    guard let stateFolder else { return Settings() }
    let folder: Folder
    do throws(FileFault) { folder = try Folder(stateFolder, .state(), followingLink: true) } catch {
      if error == .missing { return Settings() }
      throw VaultError(error, at: .state)
    }
    for name in [fileName(of: ownerKey), formerName] {
      let bytes: [UInt8]
      do throws(FileFault) { bytes = try folder.read(name, .state(), limit: byteLimit) } catch {
        if error == .missing { continue }
        throw VaultError(error, at: .settings)
      }
      return try Settings(parsing: bytes)
    }
    return Settings()
  }

  /// Changes the settings, and keeps other processes from changing them meanwhile; damaged settings are replaced.
  ///
  /// - Throws: `locked` if no state folder is known; `newerFormat`, `denied`, `busy`, `storage`; the settings are
  ///   unchanged then.
  static func change(
    in stateFolder: String?, of ownerKey: PublicKey, _ body: (inout Settings) -> Void
  ) throws(VaultError) {
    guard let stateFolder else { throw .locked(.noStateFolder) }
    let folder = try atLevel(.settings) { () throws(FileFault) in
      let folder = try Folder(stateFolder, .state(), followingLink: true)
      try folder.lock(waiting: 10_000)
      return folder
    }
    var before: Settings?
    do throws(VaultError) { before = try read(in: stateFolder, of: ownerKey) } catch .damaged {}
    var settings = before ?? Settings()
    body(&settings)
    guard settings != before else { return }
    try atLevel(.settings) { () throws(FileFault) in
      try folder.replace(fileName(of: ownerKey), with: settings.serialized())
    }
  }
}

extension Label {
  fileprivate static let settings = Label("vault1.settings")
  fileprivate static let settingsHash = Label("vault1.set.hash")
}
