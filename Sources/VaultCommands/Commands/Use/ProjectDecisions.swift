internal import Authenticators
internal import Ground
internal import Vault

/// This user's decisions about project files on this machine: one file per project in the state folder, named after the
/// project's path.
extension StoreLocation {
  enum ProjectStanding: Equatable, Sendable {
    case unknown, allowed, denied
    /// It was allowed, and its content has changed since.
    case changed
  }

  private static let projectsName = "projects"

  /// - Parameter path: the project's file, absolute and without links.
  /// - Throws: ``VaultError/noStore(path:)``; the error of reading the decision. A damaged decision counts as none.
  func standing(ofProject path: String, _ content: [UInt8]) throws(VaultError) -> ProjectStanding {
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
  func allow(project path: String, _ content: [UInt8]?) throws(VaultError) {
    try changeProjects { (folder) throws(FileFault) in try folder.replace(fileName(path), with: answer(path, content)) }
  }

  /// - Throws: as ``allow(project:_:)``.
  func forget(project path: String) throws(VaultError) {
    try changeProjects { (folder) throws(FileFault) in try folder.remove(fileName(path)) }
  }

  private func changeProjects(_ body: (borrowing Folder) throws(FileFault) -> Void) throws(VaultError) {
    let state = try stateFolderPath()
    try atLevel(.state) { () throws(FileFault) in
      try Folder.make(state)
      let folder = try Folder(state, .state(), followingLink: true)
      try folder.makeFolder(StoreLocation.projectsName)
      let projects = try folder.folder(StoreLocation.projectsName, .state())
      try projects.file.lock(waiting: 10_000)
      try body(projects)
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
