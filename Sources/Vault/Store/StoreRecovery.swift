internal import Glibc
internal import GroupFile
internal import KeyedArchives
internal import Sealing

/// What opens the identity in a backup: any of its slots.
public enum RecoveryKey: ~Copyable, Sendable {
  /// A recovery code as it was typed.
  case recoveryCode(Secret)
  case passphrase(Secret)
  /// The key file at this path.
  case keyFile(String)
}

/// Brings a store back whose machine is lost: from a backup, with a recovery code, the passphrase or a key file.
///
/// The new store belongs to the same owner: his groups have the members that they had, and an application whose credential is
/// issued again opens what it had. Of what opened the old store only what opened the backup opens the new one.
public struct StoreRecovery: Sendable {
  private let location: StoreLocation
  private let backup: String
  private let identity: Identity
  /// The slot that was opened.
  private let slot: Slot
  private let keyFile: String?

  /// Opens a backup's identity.
  ///
  /// - Parameters:
  ///   - backup: the backup's folder.
  ///   - location: where the store is to be made; by default what this process's environment names.
  ///   - key: gives what opens it, of the kinds of slots that the backup has; called when the place is known to be free.
  /// - Throws: ``VaultError/exists(_:)`` where there is a store; ``VaultError/damaged(group:level:detail:)`` for a folder that is
  ///   no backup; ``VaultError/locked(_:)`` for one without a slot of the kind; ``VaultError/mistypedCode(_:)``,
  ///   ``VaultError/wrongKey(_:)``; what `key` throws. Nothing is made.
  public init(
    from backup: String, at location: StoreLocation? = nil,
    key: (_ kinds: Set<SlotInfo.Kind>) throws(VaultError) -> RecoveryKey
  ) throws(VaultError) {
    let location = if let location { location } else { try StoreLocation.standard() }
    self.location = location
    // In it, the backup would be part of what it restores.
    let backup = try location.outside(backup)
    self.backup = backup
    let file: IdentityFile
    do {
      try location.identityFolder.refuseStore()
      file = try IdentityFolder(store: backup).read()
    } catch .noStore {
      throw .damaged(group: nil, level: .backup, detail: "there is none in this folder, or not a whole one")
    }
    let key = try key(Set(file.slots.map { SlotInfo($0).kind }))
    switch consume key {
    case .recoveryCode(let code):
      (identity, slot) = try file.unlock(recoveryCode: code.guarded())
      keyFile = nil
    case .passphrase(let passphrase):
      (identity, slot) = try file.unlock(passphrase: passphrase.guarded())
      keyFile = nil
    case .keyFile(let path):
      (identity, slot) = try file.unlock(key: KeyFile.read(path, outside: location.home), use: .keyFile)
      keyFile = path
    }
  }

  /// Whether the backup's passphrase opened it.
  public var hasPassphrase: Bool { slot.use == .passphrase }

  /// Makes the store, with the slot that was opened and a new one, and restores the groups.
  ///
  /// A recovery that was interrupted is finished by the same call, also with another new slot; until then there is a store that
  /// lacks groups, and no other can be made in its place.
  ///
  /// - Parameters:
  ///   - slot: what shall open the store from now on, besides what opened the backup; `nil` for nothing else.
  ///   - progress: called now and then with a group's name.
  /// - Returns: the store, and what became of each group of the backup.
  /// - Throws: ``VaultError/exists(_:)`` where there is a store; it is not touched. ``VaultError/busy(group:)`` while another
  ///   process does the same; ``VaultError/locked(_:)`` for a key file that cannot be used; and what keeps the owner's list of
  ///   groups from being restored.
  public func makeStore(
    with slot: consuming NewSlot?, progress: (String, MaintenanceProgress) -> Void = { _, _ in }
  ) throws(VaultError) -> (store: SecretStore, restoration: StoreRestoration) {
    switch consume slot {
    case nil: return try makeStore(remembering: keyFile, progress, nil)
    case .keyFile(let path)?:
      return try makeStore(remembering: path, progress) { (number) throws(VaultError) in
        let key = try KeyFile.readOrMake(path, outside: location.home)
        return try Slot(number: number, key: key, use: .keyFile, sealing: identity)
      }
    case .passphrase(let passphrase)?:
      guard passphrase.count > 0 else { throw .invalid("a passphrase must not be empty") }
      let bytes = try passphrase.guarded()
      return try makeStore(remembering: keyFile, progress) { (number) throws(VaultError) in
        try Slot(number: number, passphrase: bytes, sealing: identity)
      }
    }
  }

  private func makeStore(
    remembering keyFile: String?, _ progress: (String, MaintenanceProgress) -> Void,
    _ new: ((UInt16) throws(VaultError) -> Slot)?
  ) throws(VaultError) -> (store: SecretStore, restoration: StoreRestoration) {
    let folder = location.identityFolder
    var file = IdentityFile(ownerKey: identity.ownerKey, first: slot)
    if let new { try file.add(new(file.nextNumber())) }
    let mark = try folder.beginRecovery(file)
    defer { mark.unlock() }
    try location.places.makeStateFolder(of: identity.ownerKey)
    let store = try SecretStore(location, .owner(identity))
    let restoration = try store.restoreBackup(from: backup, progress: progress)
    // Without the owner's list the store is not whole; another backup may have it.
    let registry = AccessGroup.Name.registry.description
    guard AccessGroupFile.exists(in: location.places.groupFolder(registry)) else {
      for group in restoration.groups where group.name == registry {
        if case .failed(let error) = group.outcome { throw error }
      }
      throw .damaged(group: nil, level: .backup, detail: "it lacks the list of groups")
    }
    location.forgetKeyFile(unless: file)
    if let keyFile { location.remember(keyFile: keyFile, of: identity.ownerKey) }
    // The last step: whatever was not done before it is done by the next call.
    try folder.finishRecovery()
    return (store, restoration)
  }
}

/// Where groups are made that shall take the place of others, and where what they replaced is kept: `set-aside` in the store.
///
/// Drafts lie in a folder of their own there, which its maker keeps locked; one that nobody keeps locked was left by a
/// process that was killed, and goes away with the next.
struct DraftFolder: ~Copyable {
  private let home: String
  private let parent: Folder
  private let folder: Folder
  private let name: String

  static let parentName = "set-aside"
  private static let prefix = ".draft-"

  /// Makes the folder in the store at `home`.
  static func make(in home: String) throws(VaultError) -> DraftFolder {
    do throws(FileFault) { return try DraftFolder(home) } catch { throw VaultError(error, at: .store) }
  }

  private init(_ home: String) throws(FileFault) {
    let store = try Folder(home, .visible(), followingLink: true)
    try store.makeFolder(DraftFolder.parentName)
    let parent = try store.folder(DraftFolder.parentName, .secret())
    DraftFolder.clear(parent)
    let name = DraftFolder.prefix + String(UInt64.random(in: .min ... .max), radix: 16)
    try parent.makeFolder(name)
    let folder = try parent.folder(name, .secret())
    try folder.file.lock(waiting: 0)
    self.home = home
    self.name = name
    self.parent = parent
    self.folder = folder
  }

  deinit {
    try? parent.removeTree(name)
    // Unless something is kept there.
    unsafe rmdir("\(home)/\(DraftFolder.parentName)")
  }

  private static func clear(_ parent: borrowing Folder) {
    for name in (try? parent.names(hidden: true)) ?? [] where name.hasPrefix(prefix) {
      guard let old = try? parent.folder(name, .secret()), (try? old.file.lock(waiting: 0)) != nil else { continue }
      try? parent.removeTree(name)
    }
  }

  /// The path of the draft of one group.
  func path(of group: AccessGroup.Name) -> String { "\(home)/\(DraftFolder.parentName)/\(name)/\(group)" }

  /// The folder that the files of `group` were moved to last; `nil` if none ever were.
  func lastKept(of group: AccessGroup.Name) -> String? {
    let prefix = "\(group)-"
    // Another group may be called like this one with something behind it.
    let kept = (try? parent.names())?.last { name in
      let time = name.dropFirst(prefix.count).prefix(UTCDate.text(0).count)
      return name.hasPrefix(prefix) && time.contains("T") && time.last == "Z"
    }
    return kept.map { "\(home)/\(DraftFolder.parentName)/\($0)" }
  }

  /// Removes what was kept at `path`: copies of it are in the group's place.
  borrowing func drop(_ path: String) {
    // Others may still have it open and make files in it.
    unsafe chmod(path, 0o700)
    if let slash = path.lastIndex(of: "/") { try? parent.removeTree(String(path[path.index(after: slash)...])) }
  }

  /// A path, not taken yet, where the files that `group` had until now are kept.
  func keepingPath(of group: AccessGroup.Name) -> String {
    let base = "\(group)-\(UTCDate.text(Int64(SystemClock.milliseconds())))"
    var name = base
    var number = 1
    while parent.contains(name) {
      number += 1
      name = "\(base)-\(number)"
    }
    return "\(home)/\(DraftFolder.parentName)/\(name)"
  }
}
