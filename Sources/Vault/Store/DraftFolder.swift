internal import Glibc
internal import GroupFile
internal import KeyedArchives

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
    do throws(FileFault) { return try DraftFolder(home) } catch { throw VaultError(IdentityError(error, at: .store)) }
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
