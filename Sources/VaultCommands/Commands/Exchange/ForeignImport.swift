internal import Exchange
import Glibc
internal import Vault

/// The passphrase and key file of an imported or exported file.
struct FileLock {
  /// The descriptor from which the file's passphrase is read; nil to ask on the terminal.
  var passphraseDescriptor: Int32?
  /// The path of a key file of KeePass or of identities of age.
  var keyFile: String?

  /// - Returns: nil if none was named.
  func passphrase() throws -> WipedBytes? {
    try passphraseDescriptor.map { try KeySource.firstLine(of: $0, namedBy: "--file-passphrase-fd") }
  }
}

extension FileLock {
  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    passphraseDescriptor = try arguments.descriptor(
      "--file-passphrase-fd", "Read the file's passphrase from this descriptor: its first line.")
    keyFile = arguments.option(
      "--file-key", value: "file", "The key file of a KeePass database, or the identities of age for sops and gopass.",
      completes: .files)
  }

  /// The maximum size of a key file.
  private static let keyLimit = 1 << 20

  /// Reads a key file into memory: a pipe, as `<(…)` is, can be read only once, but each part of a file may need the key.
  ///
  /// - Returns: a descriptor that no program inherits.
  /// - Throws: `overLimit` if it is larger than 1 MiB.
  static func key(in path: String) throws(Failure) -> Int32 {
    let bytes = try DescriptorInput.contents(of: path, "the file's key", limit: keyLimit)
    guard bytes.count <= keyLimit else { throw Failure(.overLimit, "the file's key is larger than 1 MiB") }
    return try unsafe bytes.withUnsafeBytes { (bytes) throws(Failure) in try unsafe MemoryFile.input(bytes) }
  }
}

/// A file of another program's store, which `vault-exchange` reads.
struct ForeignImport {
  let format: ForeignFormat
  let file: ImportFile
  let lock: FileLock

  /// - Throws: `wrongKey`, `damaged`, `overLimit`, `usage`. No message contains anything from the file.
  func items(_ session: Session) throws -> ImportedItems {
    let input = try file.open(session.streams)
    defer { if input != session.streams.input { close(input) } }
    let key = try keyFile(session)
    defer { if let key { close(key) } }
    var passphrase = try lock.passphrase()
    if passphrase == nil, format.isAlwaysLocked { passphrase = try ask(session) }
    // KeePass distinguishes no passphrase from an empty one, which nobody sets next to a key file.
    if passphrase?.count == 0, lock.keyFile != nil { passphrase = nil }
    // Deriving the key takes as long as whoever made the file wanted, which may be most of a minute.
    session.showProgress("opening \(file.name)")
    do {
      return try read(input, passphrase, key)
    } catch let error as ImportFault {
      // The format alone does not say whether the file is encrypted, so it is tried without a passphrase first. A pipe
      // cannot be read twice.
      guard error.kind == .wrongKey, passphrase == nil, format == .bitwarden, lseek(input, 0, SEEK_SET) == 0 else {
        throw error
      }
      return try read(input, ask(session), key)
    }
  }

  private func read(_ input: Int32, _ passphrase: WipedBytes?, _ key: Int32?) throws -> ImportedItems {
    let (end, bytes) = try ExchangeProgram.run(
      ["read", format.rawValue], input: input, passphrase: passphrase, keyFile: key)
    switch end {
    case .exited(0), .exited(1): break
    case .exited: throw ImportFault("it cannot be read", .damaged)
    // Its memory is limited.
    case .killed(let signal): throw ImportFault("reading it took too much memory (signal \(signal))", .overLimit)
    }
    var imported = try ImportedItems(lines: bytes.exportInsecurely())
    for index in imported.items.indices { imported.items[index].ownAttributes = format.attributes }
    return imported
  }

  /// - Returns: nil if there is a key file, which may be enough, and no terminal.
  private func ask(_ session: Session) throws -> WipedBytes? {
    guard let terminal = session.terminal else {
      if lock.keyFile != nil { return nil }
      throw Failure(
        .locked, "\(file.name) needs a passphrase, and there is no terminal to ask", hint: "--file-passphrase-fd N")
    }
    return try terminal.ask("passphrase of \(file.name): ")
  }

  private func keyFile(_ session: Session) throws(Failure) -> Int32? {
    var path = lock.keyFile
    if path == nil, format == .sops || format == .yaml {
      // The default path of sops.
      let folder = session.variable("XDG_CONFIG_HOME") ?? session.variable("HOME").map { $0 + "/.config" }
      path = session.variable("SOPS_AGE_KEY_FILE") ?? folder.map { $0 + "/sops/age/keys.txt" }
      if let path, unsafe access(path, R_OK) != 0 { return nil }
    }
    return try path.map { (path) throws(Failure) in try FileLock.key(in: path) }
  }
}

extension ImportFault {
  var status: ExitStatus {
    switch kind {
    case .unclear: .usage
    case .damaged, .unsupported: .damaged
    case .overLimit: .overLimit
    case .wrongKey: .wrongKey
    case .locked: .locked
    }
  }
}
