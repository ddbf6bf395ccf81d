internal import Exchange
import Glibc
internal import Vault

/// The folder of pass or gopass. Each file, such as `mail/work.gpg`, is an entry that gpg opens. For gopass,
/// `mail/work.age` is an entry that age opens.
struct PasswordStore {
  private let path: String
  /// The folder's path without links.
  private let place: String

  /// Whether this is a folder of gopass, whose entries can have fields and can be encrypted with age.
  private let isGopass: Bool
  /// The path of the age identities that open entries; nil for those of gopass.
  private let namedIdentities: String?
  /// The path of gopass's own identities.
  private let ownIdentities: String

  /// The maximum size of an entry: a value and a line break.
  private static let limit = ValueInput.limit + 2

  /// - Parameter folder: nil for the default folder of pass or gopass.
  /// - Throws: `usage` if there is none.
  init(_ folder: String?, _ session: Session, isGopass: Bool = false, identities: String? = nil) throws(Failure) {
    let data = session.variable("XDG_DATA_HOME") ?? session.variable("HOME").map { $0 + "/.local/share" }
    let home =
      isGopass
      ? data.map { $0 + "/gopass/stores/root" } : session.variable("HOME").map { $0 + "/.password-store" }
    guard let path = folder ?? session.variable("PASSWORD_STORE_DIR") ?? home, let place = ResolvedPath.of(path) else {
      throw Failure(.usage, "there is no password store", hint: "name its folder as FILE or in PASSWORD_STORE_DIR")
    }
    self.path = path
    self.place = place
    self.isGopass = isGopass
    let settings = session.variable("XDG_CONFIG_HOME") ?? session.variable("HOME").map { $0 + "/.config" }
    namedIdentities = identities
    ownIdentities = (settings ?? "") + "/gopass/age/identities"
  }

  /// Opens all entries.
  ///
  /// - Throws: `locked` with the names of entries that gpg cannot open; `denied` for a link out of the folder.
  func items(_ session: Session) throws(Failure) -> ImportedItems {
    var imported = ImportedItems()
    var entries: [String] = []
    try list("", into: &entries, &imported.losses)
    let key = try entries.contains { $0.hasSuffix(".age") } ? identities() : nil
    defer { if let key { close(key) } }
    var closed: [String] = []
    for (index, entry) in entries.enumerated() {
      session.showProgress("\(index) of \(entries.count) entries opened")
      guard let content = try open(entry, key) else {
        closed.append(Self.name(of: entry))
        continue
      }
      imported.items.append(
        unsafe content.withUnsafeBytes { unsafe PassEntry.item(Self.name(of: entry), Array($0), keepsFields: isGopass) }
      )
    }
    guard closed.isEmpty else {
      let shown = closed.prefix(10).map { "'\(UTF8Text.onOneLine($0))'" }.joined(separator: ", ")
      let rest = closed.count > 10 ? " and \(closed.count - 10) more" : ""
      throw Failure(
        .locked, "\(isGopass ? "gpg or age" : "gpg") cannot open \(shown)\(rest); nothing was imported",
        hint: "see why: pass show, or gpg --decrypt"
      )
    }
    return imported
  }

  // MARK: Folders

  private var suffixes: [String] { isGopass ? [".gpg", ".age"] : [".gpg"] }

  /// The name of an entry: the path of its file without the suffix, which has four characters.
  private static func name(of entry: String) -> String { String(entry.dropLast(4)) }

  /// Files of pass, gopass and git next to the entries.
  private static let noEntries: Set<String> = [
    ".", "..", ".git", ".gitattributes", ".age-recipients", ".gopass", ".gitconfig", ".gpg-id", ".gpg-id.sig",
    ".public-keys", ".extensions",
  ]

  /// Adds the entries below a folder.
  private func list(_ folder: String, into entries: inout [String], _ losses: inout [String]) throws(Failure) {
    for name in try names(in: folder) where !Self.noEntries.contains(name) {
      let inner = folder + name
      var status = stat()
      guard unsafe lstat("\(path)/\(inner)", &status) == 0 else { throw unreadable(inner, errno) }
      if status.st_mode & S_IFMT == S_IFLNK {
        guard let target = ResolvedPath.of("\(path)/\(inner)"), target.hasPrefix(place + "/") else {
          throw Failure(.denied, "'\(UTF8Text.onOneLine(inner))' is a link that leads out of the password store")
        }
        guard unsafe stat("\(path)/\(inner)", &status) == 0 else { throw unreadable(inner, errno) }
        guard status.st_mode & S_IFMT != S_IFDIR else {
          losses.append("'\(inner)': a link to a folder in the store, whose entries are imported anyway")
          continue
        }
      }
      switch status.st_mode & S_IFMT {
      case S_IFDIR: try list(inner + "/", into: &entries, &losses)
      case S_IFREG where suffixes.contains(where: { name.hasSuffix($0) && name != $0 }): entries.append(inner)
      default: losses.append("'\(inner)': not an entry of pass")
      }
    }
  }

  private func names(in folder: String) throws(Failure) -> [String] {
    guard let stream = unsafe opendir("\(path)/\(folder)") else { throw unreadable(folder, errno) }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
        unsafe name.withMemoryRebound(to: UInt8.self, capacity: 256) { bytes in
          unsafe String(validating: UnsafeBufferPointer(start: bytes, count: strlen(name)), as: UTF8.self)
        }
      }
      guard let name else { throw Failure(.usage, "a name in the password store is not UTF-8") }
      names.append(name)
    }
    return names.sorted()
  }

  // MARK: Entries

  /// - Returns: a descriptor of a copy of the named age identities, if they are no regular file and can be read only once.
  ///   Age finds what lies beside a regular file, and names that when it asks.
  private func identities() throws(Failure) -> Int32? {
    guard let namedIdentities else { return nil }
    var status = stat()
    let isRegular = unsafe stat(namedIdentities, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    return isRegular ? nil : try FileLock.key(in: namedIdentities)
  }

  /// - Parameter key: a descriptor of a copy of the age identities; nil if age reads their file itself.
  /// - Returns: nil if gpg or age cannot open it.
  private func open(_ entry: String, _ key: Int32?) throws(Failure) -> WipedBytes? {
    // gpg gets a descriptor, so that no name is taken for an option and it reads the file that was checked.
    let file = unsafe Glibc.open("\(path)/\(entry)", O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard file >= 0 else { throw unreadable(entry, errno) }
    defer { close(file) }
    let name = Self.name(of: entry)
    guard let opened = ResolvedPath.of("/proc/self/fd/\(file)"), opened.hasPrefix(place + "/") else {
      throw Failure(.denied, "'\(UTF8Text.onOneLine(name))' is a link that leads out of the password store")
    }
    // We report the error about an entry, so gpg's own message is dropped.
    let silent = unsafe Glibc.open("/dev/null", O_WRONLY | O_CLOEXEC)
    defer { close(silent) }
    let program = entry.hasSuffix(".age") ? "age" : "gpg"
    // A copy that only age inherits.
    let copy = program == "age" ? key.map { fcntl($0, F_DUPFD, 60) } : nil
    defer { if let copy { close(copy) } }
    do {
      let (end, bytes) = try ChildProcess.output(
        of: program,
        program == "gpg"
          ? ["gpg", "--quiet", "--batch", "--yes", "--decrypt"]
          : ["age", "-d", "-i", copy.map(MemoryFile.path) ?? namedIdentities ?? ownIdentities],
        Self.variables,
        input: file, errors: silent, limit: Self.limit)
      return end == .exited(0) ? bytes : nil
    } catch {
      switch error.status {
      case .commandNotFound, .notExecutable:
        throw program == "gpg"
          ? Failure(.usage, "gpg was not found", hint: "install GnuPG")
          : Failure(.usage, "age was not found", hint: "install age")
      case .overLimit: throw Failure(.overLimit, "'\(UTF8Text.onOneLine(name))' is larger than 1 MiB")
      default: throw error
      }
    }
  }

  /// gpg tells its agent on which terminal to ask for a passphrase, and would otherwise use its stdin. A value that is
  /// not a path, such as the "not a tty" that `GPG_TTY=$(tty)` gives in a startup file, is ignored.
  private static var variables: [[UInt8]: [UInt8]] {
    var variables = InheritedEnvironment.variables
    let key = Array("GPG_TTY".utf8)
    guard variables[key]?.first != UInt8(ascii: "/"),
      let number = [STDIN_FILENO, STDERR_FILENO, STDOUT_FILENO].first(where: { isatty($0) == 1 }),
      let name = unsafe ttyname(number)
    else { return variables }
    variables[key] = unsafe Array(UnsafeRawBufferPointer(start: name, count: strlen(name)))
    return variables
  }

  private func unreadable(_ name: String, _ code: Int32) -> Failure {
    DescriptorInput.failure(name.isEmpty ? "the password store" : "'\(UTF8Text.onOneLine(name))'", code)
  }
}
