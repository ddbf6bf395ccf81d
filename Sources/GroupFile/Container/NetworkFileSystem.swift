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
    unsafe kinds[csqlite_file_system(folder)]
  }

  // linux/magic.h, and the sources of those that have no line there.
  private static let kinds: [UInt32: String] = [
    0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB2", 0x564C: "NCP", 0x7375_7245: "Coda",
    0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x0102_1997: "9P", 0x00C3_6400: "Ceph", 0x0BD0_0BD0: "Lustre",
    0x7461_636F: "OCFS2", 0x0116_1970: "GFS2", 0x4750_4653: "GPFS", 0x1983_0326: "BeeGFS",
  ]
}
