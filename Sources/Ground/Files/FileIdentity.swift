internal import CVaultSystem
package import Glibc

/// Identifies a file by device and inode, so that two paths of one file are recognized as the same.
package struct FileIdentity: Hashable, Sendable {
  package let device, inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }

  package init(_ status: stat) { self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) }

  /// Identifies the file at `path`, without following a link; `nil` if it cannot be examined, with the reason in `errno`.
  ///
  /// - Parameter folder: the open folder that a relative path starts from.
  package init?(_ path: String, in folder: CInt = AT_FDCWD) {
    var (device, inode): (UInt64, UInt64) = (0, 0)
    guard unsafe csystem_identity(folder, path, &device, &inode) == 0 else { return nil }
    self.init(device: device, inode: inode)
  }
}

/// The time of the last change of a file or folder (its ctime), which no program can set.
package struct ChangeTime: Equatable, Sendable {
  private let seconds, nanoseconds: Int

  package init(_ status: stat) {
    seconds = status.st_ctim.tv_sec
    nanoseconds = status.st_ctim.tv_nsec
  }

  /// Whether a later change is sure to have another time, and this one is very probably complete. The clock of these
  /// times advances in steps of milliseconds, and a file's time is set before its new bytes, for which a writer may wait
  /// on a busy disk.
  package var isSettled: Bool {
    var now = timespec()
    unsafe clock_gettime(CLOCK_REALTIME_COARSE, &now)
    return (now.tv_sec - seconds) * 1_000_000_000 + now.tv_nsec - nanoseconds > 1_000_000_000
  }
}
