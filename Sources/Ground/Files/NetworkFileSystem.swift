internal import CVaultSystem

/// File systems shared between machines: they lack the locks and the shared memory that SQLite's log needs.
package enum NetworkFileSystem {
  /// The kind of network file system that holds `folder`; `nil` for a local one, and if it cannot be determined.
  package static func kind(of folder: String) -> String? { unsafe kind(csystem_file_system(folder)) }

  /// The kind of network file system with this magic number.
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
    default: nil
    }
  }
}
