import CVaultSQLite
import Testing

/// A rollback journal that plain SQLite mistakes for that of a crashed writer.
enum Journal {
  /// Plants it next to the group's file in `folder`. It names the new file "victim" in `folder` as its super-journal.
  static func plant(in folder: TemporaryFolder) throws {
    // The victim's only line names a journal that does not exist. SQLite deletes such a super-journal.
    folder.write(Array((folder.file("nothing") + "\0").utf8), to: "victim")
    folder.write(hot(superJournal: folder.file("victim")), to: "group.vault-journal")
  }

  private static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

  // https://www.sqlite.org/fileformat.html, section 3, and `readSuperJournal` in pager.c.
  private static func hot(superJournal: String) -> [UInt8] {
    var bytes = magic + word(0) + word(1) + word(9) + word(512) + word(4096)
    bytes += [UInt8](repeating: 0, count: 512 - bytes.count)
    let name = Array(superJournal.utf8)
    bytes += word(0x4000_0000 / 4096 + 1) + name + word(UInt32(name.count))
    bytes += word(name.reduce(0) { $0 &+ UInt32($1) }) + magic
    return bytes
  }

  private static func word(_ value: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
  }
}
