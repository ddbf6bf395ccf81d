internal import CSQLite

/// File systems that are shared with other machines: SQLite's log needs locks and shared memory that they do not give.
package enum NetworkFileSystem {
  /// Refuses a folder on such a file system.
  ///
  /// - Throws: `networkFileSystem` with its kind; what cannot be asked is let through.
  package static func refuse(_ folder: String) throws(GroupFileError) {
    if let kind = kind(of: folder) { throw .networkFileSystem(kind) }
  }

  /// The kind of network file system that `folder` lies on; `nil` for a local one.
  package static func kind(of folder: String) -> String? {
    unsafe kind(csqlite_file_system(folder))
  }

  /// The kind of network file system that has `number`.
  static func kind(_ number: UInt32) -> String? {
    // From linux/magic.h, and from the sources of those that have no line there.
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
    default: nil
    }
  }
}
