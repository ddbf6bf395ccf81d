/// A small file whose table has billions of rows: on three levels of its tree, every pointer leads to the same page.
enum RepeatingTree {
  /// Gives the table `chain` of the group's file in `folder` such a tree. Nobody may have the file open.
  ///
  /// - Returns: approximately how many rows a scan would find.
  static func plant(in folder: TemporaryFolder) -> Int {
    var bytes = folder.bytes(of: "group.vault")
    let pageCount = bytes.count / 4096
    // `chain` was created last, so its root is the last page.
    let root = pageCount
    let pages = [interior(child: root + 1), interior(child: root + 2), interior(child: root + 3), leaf()]
    bytes.removeLast(4096)
    bytes += pages.joined()
    let word = (0..<4).map { UInt8(truncatingIfNeeded: (root + 3) >> (24 - 8 * $0)) }
    bytes.replaceSubrange(28..<32, with: word)
    folder.write(bytes, to: "group.vault")
    return 501 * 501 * 501 * 100
  }

  // https://www.sqlite.org/fileformat.html, section 1.6: 500 cells with a pointer and a key each, then the rightmost pointer.
  private static func interior(child: Int) -> [UInt8] {
    let pointer = (0..<4).map { UInt8(truncatingIfNeeded: child >> (24 - 8 * $0)) }
    let cells = [[UInt8]](repeating: pointer + [100], count: 500)
    return page(type: 5, cells, rightmost: pointer)
  }

  private static func leaf() -> [UInt8] {
    // The key and a record of two columns: NULL, which the key replaces, and a blob of two bytes.
    page(type: 13, (1...100).map { key in [5, UInt8(key), 3, 0, 16, 1, 2] }, rightmost: [])
  }

  private static func page(type: UInt8, _ cells: [[UInt8]], rightmost: [UInt8]) -> [UInt8] {
    var content: [UInt8] = []
    var offsets: [UInt8] = []
    for cell in cells {
      content = cell + content
      let offset = 4096 - content.count
      offsets += [UInt8(offset >> 8), UInt8(offset & 255)]
    }
    let start = 4096 - content.count
    let header = [
      type, 0, 0, UInt8(cells.count >> 8), UInt8(cells.count & 255), UInt8(start >> 8), UInt8(start & 255), 0,
    ]
    let head = header + rightmost + offsets
    return head + [UInt8](repeating: 0, count: start - head.count) + content
  }
}
