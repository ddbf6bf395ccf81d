internal import Glibc
internal import Sealing

/// Where the store and the state folder are, from the environment.
///
/// | | user | root |
/// | --- | --- | --- |
/// | store | `$XDG_DATA_HOME/vault` | `/var/lib/vault` |
/// | state | `$XDG_STATE_HOME/vault` | `/var/lib/vault-state` |
///
/// `VAULT_HOME` names the store and `VAULT_STATE` the state folder. Where only the first is set, the state lies in the usual
/// state folder in a folder of its own, named by the owner's key: two stores must not share witnesses.
struct Locations: Equatable, Sendable {
  /// The store's folder, an absolute path.
  let home: String

  private let state: State

  private enum State: Equatable {
    case folder(String)
    case folderForOwner(in: String)
    case unknown
  }

  /// Finds the places.
  ///
  /// - Parameter homeFolder: the system's list of users, asked only where `HOME` is needed and not set.
  /// - Throws: `noHome` if nothing says where the store is.
  init(
    environment: [String: String], user: uid_t = geteuid(), homeFolder: (uid_t) -> String? = UserList.homeFolder
  ) throws(IdentityError) {
    func named(_ variable: String) -> String? {
      guard let value = environment[variable], !value.isEmpty else { return nil }
      return Locations.absolute(value)
    }
    // XDG: a path that is not absolute counts as not set.
    func rooted(_ variable: String) -> String? { environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil } }
    func usual(_ variable: String, _ below: String, root: String) -> String? {
      if user == 0 { return root }
      if let base = rooted(variable) { return Locations.join(base, "vault") }
      return (rooted("HOME") ?? homeFolder(user)).map { Locations.join($0, "\(below)/vault") }
    }
    let namedHome = named("VAULT_HOME")
    guard let home = namedHome ?? usual("XDG_DATA_HOME", ".local/share", root: "/var/lib/vault") else { throw .noHome }
    self.home = home
    if let state = named("VAULT_STATE") {
      self.state = .folder(state)
    } else if let state = usual("XDG_STATE_HOME", ".local/state", root: "/var/lib/vault-state") {
      self.state = namedHome == nil ? .folder(state) : .folderForOwner(in: state)
    } else {
      self.state = .unknown
    }
  }

  /// The state folder of a store; `nil` where nothing says where it would be.
  func stateFolder(of ownerKey: PublicKey) -> String? {
    switch state {
    case .folder(let path): path
    case .folderForOwner(let path): Locations.join(path, ownerKey.shortName)
    case .unknown: nil
    }
  }

  /// Makes the state folder; one that is there is left as it is.
  ///
  /// - Throws: `denied`, `damaged`, `storage`.
  func makeStateFolder(of ownerKey: PublicKey) throws(IdentityError) {
    guard let path = stateFolder(of: ownerKey) else { return }
    try atLevel(.state) { () throws(FileFault) in try Folder.make(path) }
  }

  /// The folder of one group.
  func groupFolder(_ name: String) -> String { "\(home)/\(IdentityFolder.groupsName)/\(name)" }

  // MARK: - Paths

  private static func join(_ folder: String, _ name: String) -> String {
    folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
  }

  static func absolute(_ path: String) -> String {
    var path = path
    if !path.hasPrefix("/"), let current = unsafe getcwd(nil, 0) {
      path = join(unsafe String(cString: current), path)
      unsafe free(current)
    }
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }
}

extension PublicKey {
  /// The first 16 bytes in lower-case hexadecimal digits: names the folders of one owner.
  var shortName: String { String(hexadecimal.prefix(32)) }

  /// All bytes in lower-case hexadecimal digits.
  var hexadecimal: String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }
}

/// The system's list of users.
enum UserList {
  /// The home folder of `user`; `nil` if there is no such user, or none with an absolute path.
  static func homeFolder(of user: uid_t) -> String? {
    var entry = unsafe passwd()
    var found: UnsafeMutablePointer<passwd>?
    var text = [CChar](repeating: 0, count: 16_384)
    guard unsafe getpwuid_r(user, &entry, &text, text.count, &found) == 0, let found = unsafe found,
      let folder = unsafe found.pointee.pw_dir
    else { return nil }
    let path = unsafe String(cString: folder)
    return path.hasPrefix("/") ? path : nil
  }
}
