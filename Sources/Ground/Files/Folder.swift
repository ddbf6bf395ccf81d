internal import CVaultSystem
internal import Glibc

/// An open folder. Its calls keep working on this folder even if its path is renamed or replaced meanwhile.
package struct Folder: ~Copyable {
  package let file: OpenFile

  /// - Parameter followingLink: whether `path` itself may be a link, as a user may choose for the store's place.
  /// - Throws: `missing`, `link`, `wrongKind`, or the faults of ``FileTrust/check(_:)``.
  package init(_ path: String, _ trust: FileTrust, followingLink: Bool = false) throws(FileFault) {
    // A trailing slash makes the system follow a link at the end of the path.
    try self.init(OpenFile(followingLink ? path + "/" : path, O_RDONLY | O_DIRECTORY), trust)
  }

  private init(_ file: consuming OpenFile, _ trust: FileTrust) throws(FileFault) {
    try trust.check(file.status())
    self.file = file
  }

  package func folder(_ name: String, _ trust: FileTrust) throws(FileFault) -> Folder {
    try Folder(open(name, O_RDONLY | O_DIRECTORY), trust)
  }

  package func open(_ name: String, _ flags: CInt, mode: UInt32 = 0) throws(FileFault) -> OpenFile {
    try OpenFile(name, in: file.descriptor, flags, mode: mode)
  }

  /// Makes a new folder, mode 0700 whatever the umask; if that fails, the result is `false`, and `errno` says why.
  package static func makeNew(_ path: String, in folder: CInt = AT_FDCWD) -> Bool {
    unsafe mkdirat(folder, path, 0o700) == 0 && fchmodat(folder, path, 0o700, 0) == 0
  }

  /// Makes the folder `name`, mode 0700, and syncs this one. An existing folder is left as it is, but for its owner's
  /// rights, which an earlier program's umask may have taken.
  package func makeFolder(_ name: String) throws(FileFault) {
    if Folder.makeNew(name, in: file.descriptor) { return try file.synchronize() }
    guard errno == EEXIST else { throw FileFault(errno: errno) }
    var status = stat()
    guard unsafe fstatat(file.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFDIR,
      status.st_uid == geteuid(), status.st_mode & 0o700 != 0o700
    else { return }
    unsafe fchmodat(file.descriptor, name, status.st_mode & 0o7777 | 0o700, 0)
  }

  /// Opens the file `name`, creating it if it does not exist, and takes its lock.
  package func lockFile(_ name: String, waiting milliseconds: Int) throws(FileFault) -> OpenFile {
    let file = try open(name, O_RDWR | O_CREAT, mode: 0o600)
    let mode = try file.status().st_mode
    guard mode & S_IFMT == S_IFREG else { throw .wrongKind }
    if mode & 0o600 != 0o600 { try? file.setMode(0o600) }
    try file.lock(waiting: milliseconds)
    return file
  }

  package func lock(waiting milliseconds: Int) throws(FileFault) { try file.lock(waiting: milliseconds) }

  package func unlock() { file.unlock() }

  package func read(_ name: String, _ trust: FileTrust, limit: Int) throws(FileFault) -> [UInt8] {
    let file = try open(name, O_RDONLY)
    let size = try file.requireRegular(trust, size: 0...limit)
    return try file.read(limit: size)
  }

  /// Replaces the file `name` by one with `bytes`, durably. On any error but `unconfirmed` the old file is still there.
  ///
  /// The caller holds a lock that all writers of the file take, because they share the name of the temporary file.
  package func replace(_ name: String, with bytes: [UInt8]) throws(FileFault) {
    try unsafe bytes.span.withUnsafeBytes { (bytes) throws(FileFault) in try unsafe replace(name, with: bytes) }
  }

  /// As the other `replace`, for bytes in guarded memory.
  package func replace(_ name: String, with bytes: UnsafeRawBufferPointer) throws(FileFault) {
    let temporary = ".\(name).new"
    try remove(temporary)
    do throws(FileFault) {
      let new = try open(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
      try unsafe new.write(bytes)
      try new.synchronize()
      guard unsafe renameat(file.descriptor, temporary, file.descriptor, name) == 0 else {
        throw FileFault(errno: errno)
      }
    } catch {
      try? remove(temporary)
      throw error
    }
    do throws(FileFault) { try file.synchronize() } catch { throw .storage(.unconfirmed) }
  }

  package func contains(_ name: String) -> Bool {
    var status = stat()
    // An entry that cannot be examined counts as existing.
    return unsafe fstatat(file.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT
  }

  package func holds(_ file: borrowing OpenFile, _ name: String) -> Bool {
    guard let open = try? file.status() else { return false }
    return FileIdentity(name, in: self.file.descriptor) == FileIdentity(open)
  }

  package func remove(_ name: String) throws(FileFault) {
    guard unsafe unlinkat(file.descriptor, name, 0) == 0 || errno == ENOENT else { throw FileFault(errno: errno) }
  }

  /// The names in the folder, sorted; at most `limit` of them. Those that begin with a dot need `hidden`.
  package func names(limit: Int = .max, hidden: Bool = false) throws(FileFault) -> [String] {
    var names: [String] = []
    try unsafe visit { (_, name) in
      if hidden || !name.hasPrefix(".") { names.append(name) }
      return names.count < limit
    }
    return names.sorted()
  }

  /// Calls `body` with each name in the folder, as the system has it and as text, until it returns `false`. `body` may
  /// remove what it is called with.
  package func visit(_ body: (UnsafePointer<CChar>, String) -> Bool) throws(FileFault) {
    // The stream owns and closes its descriptor, so it gets a separate one.
    let copy = unsafe openat(file.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0, let stream = unsafe fdopendir(copy) else {
      defer { close(copy) }
      throw FileFault(errno: errno)
    }
    defer { unsafe closedir(stream) }
    while true {
      errno = 0
      // A list that ends early would hide what follows.
      guard let entry = unsafe readdir(stream) else { break }
      let goesOn = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
        unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { name in
          let text = unsafe String(cString: name)
          return text == "." || text == ".." ? true : unsafe body(name, text)
        }
      }
      guard goesOn else { return }
    }
    guard errno == 0 else { throw FileFault(errno: errno) }
  }

  /// Makes the folder at the absolute `path` and all missing folders above it, mode 0700 each.
  ///
  /// - Throws: `wrongKind` if something else is in the way; `denied`, `storage`.
  package static func make(_ path: String) throws(FileFault) {
    guard !path.utf8.contains(0) else { throw .missing }
    // Only below a folder whose path is not UTF-8 are paths relative.
    guard path.hasPrefix("/") else { throw .storage(.pathNotText) }
    var parent = "/"
    for part in path.split(separator: "/") {
      let made = parent + part
      if makeNew(made) {
        // Without this, a power failure could lose the folder and everything synced in it. A parent that we may write
        // but not read cannot be opened, so it cannot be synced here.
        try? OpenFile(parent, O_RDONLY | O_DIRECTORY).synchronize()
      } else if errno != EEXIST {
        throw FileFault(errno: errno)
      }
      parent = made + "/"
    }
    // A link to a folder counts as a folder: the user decides what lies above the store.
    var status = stat()
    guard unsafe stat(parent, &status) == 0 else { throw FileFault(errno: errno) }
  }
}

package enum NewName {
  /// Gives the complete `draft` its final name, unless something has that name; so an incomplete file never has it.
  package static func give(_ name: String, to draft: String) throws(FileFault) {
    guard unsafe csystem_rename_new(draft, name) == 0 else { throw FileFault(errno: errno) }
  }

  /// Moves what is in the way at `path` to a new name beside it, and returns that; `nil` if it cannot be moved.
  package static func moveAside(_ path: String) -> String? {
    let aside = "\(path)-\(String(UInt64.random(in: .min ... .max), radix: 16))"
    return (try? give(aside, to: path)).map { aside }
  }
}

package enum CanonicalPath {
  /// `path` as an absolute path, with the links of its existing part resolved.
  ///
  /// - Throws: `denied`, `storage`, `link` for links that lead in a circle.
  package static func of(_ path: String) throws(FileFault) -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else { throw .missing }
    if let resolved = unsafe realpath(path, nil) {
      defer { unsafe free(resolved) }
      guard let text = unsafe String(validatingCString: resolved) else { throw .storage(.pathNotText) }
      return text
    }
    guard errno == ENOENT || errno == ENOTDIR else { throw FileFault(errno: errno) }
    let (parent, name) = split(path)
    guard parent != path, name != ".." else { throw .missing }
    let above = try of(parent)
    return name.isEmpty || name == "." ? above : above == "/" ? above + name : above + "/" + name
  }

  /// The bytes that the link at `path` contains.
  package static func target(of path: String) throws(FileFault) -> [UInt8] {
    var target = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink(path, &target, target.count)
    guard count > 0 else { throw FileFault(errno: errno) }
    return target.prefix(count).map { UInt8(bitPattern: $0) }
  }

  /// The target of the link at `path`, or `path` itself if it is not a link.
  ///
  /// - Throws: `link` for a link that anyone but root and `user` made or could replace, and for links in a circle.
  package static func followingLinks(_ path: String, user: UInt32) throws(FileFault) -> String {
    var path = path
    for _ in 0..<40 {
      var status = stat()
      guard !path.utf8.contains(0), unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else {
        return path
      }
      let folder = split(path).folder
      var parent = stat()
      guard unsafe stat(folder, &parent) == 0 else { throw FileFault(errno: errno) }
      // In a folder with the sticky bit others can make links, but cannot replace ours.
      let isOpen = parent.st_mode & 0o022 != 0 && parent.st_mode & S_ISVTX == 0
      guard [user, 0].contains(status.st_uid), [user, 0].contains(parent.st_uid), !isOpen else { throw .link }
      let text = String(decoding: try target(of: path), as: UTF8.self)
      path = text.hasPrefix("/") ? text : folder + "/" + text
    }
    throw .link
  }

  package static func split(_ path: String) -> (folder: String, name: String) {
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
    guard let slash = trimmed.lastIndex(of: "/") else { return (".", String(trimmed)) }
    let name = String(trimmed[trimmed.index(after: slash)...])
    return slash == trimmed.startIndex ? ("/", name) : (String(trimmed[..<slash]), name)
  }

  /// Whether the file at `path`, which need not exist, is inside `folder`.
  package static func isFile(at path: String, inside folder: String) throws(FileFault) -> Bool {
    isInside(try of(split(path).folder), try of(folder))
  }

  /// Whether the canonical `path` is the canonical `folder` or is inside it.
  package static func isInside(_ path: String, _ folder: String) -> Bool {
    path == folder || folder == "/" || path.hasPrefix(folder + "/")
  }
}

/// File systems shared between machines: they lack the locks and the shared memory that SQLite's log needs.
package enum NetworkFileSystem {
  /// The kind of network file system that holds `folder`; `nil` for a local one, and if it cannot be determined.
  package static func kind(of folder: String) -> String? {
    let number = unsafe csystem_file_system(folder)
    var status = stat()
    // FUSE has one number for all its file systems, and most of them are local.
    guard number == 0x6573_5546, unsafe stat(folder, &status) == 0,
      let mounts = try? OpenFile("/proc/self/mountinfo", O_RDONLY).read(limit: 1 << 20)
    else { return kind(number) }
    return kind(ofDevice: status.st_dev, in: String(decoding: mounts, as: UTF8.self))
  }

  /// The kind of network file system that FUSE mounted as `device`, by the lines of `/proc/self/mountinfo`.
  package static func kind(ofDevice device: UInt, in mounts: String) -> String? {
    let major = device >> 8 & 0xFFF | device >> 32 & ~0xFFF
    let minor = device & 0xFF | device >> 12 & ~0xFF
    for line in mounts.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count > 2, words[2] == "\(major):\(minor)", let end = words.dropFirst(6).firstIndex(of: "-"),
        end + 1 < words.count, words[end + 1].hasPrefix("fuse.")
      else { continue }
      let kind = String(words[end + 1].dropFirst(5))
      return overFUSE.contains(kind) ? kind : nil
    }
    return nil
  }

  private static let overFUSE = [
    "sshfs", "rclone", "s3fs", "gcsfuse", "goofys", "blobfuse", "blobfuse2", "juicefs", "glusterfs", "ceph-fuse", "mfs",
    "curlftpfs", "smbnetfs", "gvfsd-fuse", "davfs2", "vmhgfs-fuse", "grpcfuse",
  ]

  package static func kind(_ number: UInt32) -> String? {
    // The numbers are from linux/magic.h, or from the source code of file systems that are not listed there.
    switch number {
    case 0x6969: "NFS"
    case 0x517B: "SMB"
    case 0xFF53_4D42: "CIFS"
    case 0xFE53_4D42: "SMB2"
    case 0x564C: "NCP"
    case 0x7375_7245: "Coda"
    case 0x5346_414F, 0x6B41_4653: "AFS"
    case 0x0102_1997: "9P"
    case 0x00C3_6400: "Ceph"
    case 0x0BD0_0BD0: "Lustre"
    case 0x7461_636F: "OCFS2"
    case 0x0116_1970: "GFS2"
    case 0x4750_4653: "GPFS"
    case 0x1983_0326: "BeeGFS"
    case 0x786F_4256: "VirtualBox's shared folder"
    case 0xBACB_ACBC: "VMware's shared folder"
    default: nil
    }
  }
}
