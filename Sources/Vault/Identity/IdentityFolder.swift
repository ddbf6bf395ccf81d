internal import Glibc
internal import Sealing

/// The folder `identity` of a store: reads, creates and changes the identity file in it.
///
/// The file is never changed in place: a reader always finds a whole file, and a full disk leaves the old one.
struct IdentityFolder: Sendable {
  let store: String
  private let user: uid_t
  private let waiting: Int

  /// - Parameter milliseconds: how long a change waits for other processes.
  init(store: String, user: uid_t = geteuid(), waiting milliseconds: Int = 10_000) {
    (self.store, self.user, waiting) = (store, user, milliseconds)
  }

  static let folderName = "identity"
  static let fileName = "identity"
  static let lockName = "lock"
  static let groupsName = "groups"
  /// The folder of the copies of joined applications' credentials, one file for each id.
  static let joinedName = "joined"
  /// A file that exists while the store is being recovered; the recovering process holds its lock.
  static let recoveryMarkName = "recovering"

  /// Reads the identity file, which needs no write access. Others may be able to read it if all its slots are opened by
  /// keys of full entropy, but not if one has a passphrase, which could be guessed from it.
  func read() throws(VaultError) -> IdentityFile {
    let home = try openHome()
    do throws(VaultError) {
      return try IdentityFile(parsing: try bytes(in: home))
    } catch {
      guard let file = try? IdentityFile(parsing: bytes(in: home, .visible(user: user))),
        !file.slots.contains(where: { $0.kind == .passphrase })
      else { throw error }
      return file
    }
  }

  /// Creates the folders of a new store, and its identity file.
  ///
  /// - Throws: `exists`; `damaged` if there are groups of another identity; `denied`; `busy`; `networkFileSystem`;
  ///   `storage`. Existing files are unchanged then.
  func create(_ file: IdentityFile) throws(VaultError) {
    let home = try makeHome()
    let folder = try identityFolder(in: home)
    let lock = try lock(folder)
    defer { lock.unlock() }
    if folder.contains(IdentityFolder.recoveryMarkName) { throw .exists(.storeInRecovery) }
    if folder.contains(IdentityFolder.fileName) { throw .exists(.store) }
    try refuseOrphanedGroups(home)
    try replace(file, in: folder)
  }

  /// Changes the identity file, and keeps other processes from changing it meanwhile.
  ///
  /// - Parameter body: gets the file, and a function that writes the changed one.
  /// - Throws: what ``read()`` throws, what `body` throws, `busy`. The file is not changed then.
  func change<Result>(
    _ body: (IdentityFile, (IdentityFile) throws(VaultError) -> Void) throws(VaultError) -> Result
  ) throws(VaultError) -> Result {
    let home = try openHome()
    // Read before locking, so that no lock file is created where there is no store.
    _ = try bytes(in: home)
    let folder = try identityFolder(in: home)
    let lock = try lock(folder)
    defer { lock.unlock() }
    let file = try IdentityFile(parsing: try bytes(in: home))
    return try body(file) { (changed) throws(VaultError) in if changed != file { try replace(changed, in: folder) } }
  }

  /// Throws if a store exists, or groups without an identity, unless its recovery was begun and not finished.
  func refuseStore() throws(VaultError) {
    guard !isRecovering, let home = try? openHome() else { return }
    if (try? identityFolder(in: home).contains(IdentityFolder.fileName)) == true { throw .exists(.store) }
    try refuseOrphanedGroups(home)
  }

  /// Whether a recovery of the store was begun and not finished.
  var isRecovering: Bool { (try? identityFolder(in: openHome()).contains(IdentityFolder.recoveryMarkName)) == true }

  /// Creates the identity file of a store that is being recovered, and a mark that stays until ``finishRecovery()``. If
  /// a recovery for the same owner was interrupted, its identity file is replaced.
  ///
  /// - Returns: the mark; no other process can lock it while this value exists.
  /// - Throws: as ``create(_:)``; `busy` while another process recovers the store.
  func beginRecovery(_ file: IdentityFile) throws(VaultError) -> OpenFile {
    let home = try makeHome()
    let folder = try identityFolder(in: home)
    let lock = try lock(folder)
    defer { lock.unlock() }
    let isBegun = folder.contains(IdentityFolder.recoveryMarkName)
    if folder.contains(IdentityFolder.fileName) {
      guard isBegun, try IdentityFile(parsing: bytes(in: home, whole: false)).ownerKey == file.ownerKey else {
        throw .exists(.store)
      }
    } else if !isBegun {
      try refuseOrphanedGroups(home)
    }
    let mark = try atLevel(.identity) { () throws(FileFault) in
      let mark = try folder.lockFile(IdentityFolder.recoveryMarkName, waiting: 0)
      // The mark is synced before the identity, so that an unfinished recovery never looks like a complete store.
      try folder.file.synchronize()
      return mark
    }
    try replace(file, in: folder)
    return mark
  }

  /// Removes the mark, because the store is complete.
  func finishRecovery() throws(VaultError) {
    let folder = try identityFolder(in: openHome())
    let lock = try lock(folder)
    defer { lock.unlock() }
    try atLevel(.identity) { () throws(FileFault) in
      try folder.remove(IdentityFolder.recoveryMarkName)
      try folder.file.synchronize()
    }
  }

  func makeHome(
    with names: [String] = [IdentityFolder.groupsName, IdentityFolder.folderName]
  ) throws(VaultError) -> Folder {
    try refuseNetworkFileSystem()
    try atLevel(.store) { () throws(FileFault) in try Folder.make(store) }
    let home = try openHome()
    try atLevel(.store) { () throws(FileFault) in for name in names { try home.makeFolder(name) } }
    return home
  }

  private func identityFolder(in home: borrowing Folder) throws(VaultError) -> Folder {
    try atLevel(.identity) { () throws(FileFault) in try home.folder(IdentityFolder.folderName, .secret(user: user)) }
  }

  private func openHome() throws(VaultError) -> Folder {
    try refuseNetworkFileSystem()
    do throws(FileFault) { return try Folder(store, .visible(user: user), followingLink: true) } catch {
      throw error == .missing ? .noStore(path: store) : VaultError(error, at: .store)
    }
  }

  /// - Parameter whole: whether a store that is being recovered is refused.
  private func bytes(
    in home: borrowing Folder, _ trust: FileTrust? = nil, whole: Bool = true
  ) throws(VaultError) -> [UInt8] {
    let trust = trust ?? .secret(user: user)
    do throws(FileFault) {
      let folder = try home.folder(IdentityFolder.folderName, trust)
      let bytes = try folder.read(IdentityFolder.fileName, trust, limit: IdentityFile.byteLimit)
      if !whole || !folder.contains(IdentityFolder.recoveryMarkName) { return bytes }
    } catch {
      guard error == .missing else { throw VaultError(error, at: .identity) }
      try refuseOrphanedGroups(home)
      throw .noStore(path: store)
    }
    throw .contradiction(.recovering)
  }

  /// Refuses a store that has groups but no identity file, because it is not an empty place.
  private func refuseOrphanedGroups(_ home: borrowing Folder) throws(VaultError) {
    if home.contains(IdentityFolder.joinedName) { throw .locked(.joinedStore) }
    do throws(FileFault) {
      let groups = try home.folder(IdentityFolder.groupsName, .visible(user: user))
      if try groups.names(limit: 1).isEmpty { return }
    } catch {
      if error == .missing { return }
      throw VaultError(error, at: .store)
    }
    throw .damaged(.identity, "the store lacks it, but has groups")
  }

  private func lock(_ folder: borrowing Folder) throws(VaultError) -> OpenFile {
    try atLevel(.identity) { () throws(FileFault) in try folder.lockFile(IdentityFolder.lockName, waiting: waiting) }
  }

  private func replace(_ file: IdentityFile, in folder: borrowing Folder) throws(VaultError) {
    try atLevel(.identity) { () throws(FileFault) in
      try folder.replace(IdentityFolder.fileName, with: file.serialized())
    }
  }

  private func refuseNetworkFileSystem() throws(VaultError) {
    var path = store
    while true {
      if let kind = NetworkFileSystem.kind(of: path) { throw .networkFileSystem(kind) }
      // A store that does not exist yet will be on the file system of its nearest existing folder.
      guard unsafe access(path, F_OK) != 0, path != "/", path != "." else { return }
      path = CanonicalPath.split(path).folder
    }
  }
}

/// The common frame of identity, credential and settings: a label first, and last a hash of everything before it.
enum CheckedFile {
  /// Reads the bytes between label and hash.
  ///
  /// - Returns: `nil` if the label or the hash is wrong.
  /// - Throws: `newerFormat` if the label is one of a later format.
  static func reader(of bytes: [UInt8], _ label: Label, hash: Label) throws(VaultError) -> ByteReader? {
    if isNewer(bytes.prefix(16), than: label) { throw .newerFormat(read: nil, write: nil) }
    guard bytes.count >= 16 + Digest.byteCount, bytes.starts(with: label.padded) else { return nil }
    let covered = Array(bytes.dropLast(Digest.byteCount))
    guard Hash.digest(hash, covered) == Digest(bytes.suffix(Digest.byteCount)) else { return nil }
    return ByteReader(covered, in: 16..<covered.count)
  }

  /// Whether `found` is `label` with a higher number after `vault`.
  static func isNewer(_ found: some Collection<UInt8>, than label: Label) -> Bool {
    let name = label.padded.drop { $0 != UInt8(ascii: ".") }.prefix { $0 != 0 }
    let foundName = found.drop { $0 != UInt8(ascii: ".") }.prefix { $0 != 0 }
    guard found.starts(with: "vault".utf8), foundName.elementsEqual(name) else { return false }
    let number = String(decoding: found.dropFirst(5).prefix { $0 != UInt8(ascii: ".") }, as: UTF8.self)
    return Int(digits: number) ?? 0 > 1
  }
}

/// The rule for names of groups and applications, which are also names of folders and files:
/// `[a-z0-9][a-z0-9._-]{0,127}`, without `..`.
///
/// An invalid name is refused and not normalized, so that two names never mean one folder.
enum FolderName {
  /// - Throws: ``VaultError/invalid(_:)``, whose text begins with `subject`.
  static func check(_ name: String, _ subject: String) throws(VaultError) -> String {
    if isValid(name) { return name }
    throw .invalid(
      "\(subject) has 1 to 128 of the characters a-z 0-9 . _ - and begins with a letter or digit, without '..'")
  }

  static func isValid(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    guard let first = bytes.first, bytes.count <= 128, first.isLetter || first.isDigit else { return false }
    return bytes.allSatisfy { $0.isWord && !(0x41...0x5A).contains($0) || ".-".utf8.contains($0) }
      && !zip(bytes, bytes.dropFirst()).contains { $0 == UInt8(ascii: ".") && $1 == UInt8(ascii: ".") }
  }
}

extension AccessGroup {
  /// A valid name of an access group: `[a-z0-9][a-z0-9._-]{0,127}`, without `..`.
  ///
  /// Other names are refused and not normalized, because the name is also the name of a folder and is signed by the
  /// owner.
  public struct Name: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// Checks `text`.
    ///
    /// - Throws: ``VaultError/invalid(_:)``.
    public init(_ text: String) throws(VaultError) { description = try FolderName.check(text, "a group's name") }

    init(trusted: String) { description = trusted }

    /// The group that `init` creates, and that commands use if no group is named.
    public static let `default` = Name(trusted: "default")
    /// The owner's registry of groups and applications; not for items.
    package static let registry = Name(trusted: "vault.owner")

    package var isReserved: Bool { description.hasPrefix("vault.") }
  }
}
