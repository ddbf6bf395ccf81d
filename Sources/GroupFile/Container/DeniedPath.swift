internal import Glibc

/// What the system's permissions refuse, looked for after a call failed: an error number names no path.
enum DeniedPath {
  /// The first thing that this process may not do on its way to the group in `folder`, such as "entering '/srv/store'".
  static func words(folder: String, toWrite: Bool) -> String {
    var path = ""
    for part in folder.split(separator: "/") {
      path += (folder.hasPrefix("/") || !path.isEmpty ? "/" : "") + part
      if isRefused(path, X_OK) { return "entering '\(path)'" }
    }
    let file = "\(folder)/\(ContainerPlace.groupFileName)"
    if isRefused(file, R_OK) { return "reading '\(file)'" }
    for path in toWrite ? [file, file + "-wal", file + "-shm"] : [] where isRefused(path, W_OK) {
      return "writing '\(path)'"
    }
    for path in [file + "-wal", file + "-shm"] + (toWrite ? ["\(folder)/lock"] : []) where isRefused(path, R_OK) {
      return "reading '\(path)'"
    }
    return isRefused(folder, W_OK) ? "making a file in '\(folder)'" : "using '\(folder)'"
  }

  private static func isRefused(_ path: String, _ what: CInt) -> Bool {
    unsafe faccessat(AT_FDCWD, path, what, AT_EACCESS) != 0 && (errno == EACCES || errno == EPERM)
  }
}
