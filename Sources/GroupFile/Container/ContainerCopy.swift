internal import CSQLite

/// How far a copy of a group's file has come.
package enum CopyStep: Sendable {
  /// So many bytes of all were copied.
  case copied(UInt64, of: UInt64)
  /// So many items of the copy were proved.
  case proved(UInt64)
}

extension Connection {
  /// Copies the file as the open transaction sees it, whatever others write meanwhile, to a new file at `place`.
  ///
  /// When it returns, the copy is on the disk, one file without log and index; it is opened by nobody.
  ///
  /// - Throws: `exists`; `storage`, `denied`; `altered` where a page cannot be read. There is no new file then.
  func copy(to place: ContainerPlace, mode: UInt32 = 0o600, progress: (CopyStep) -> Void) throws(GroupFileError) {
    try place.checkVacant()
    try Connection.makeEmptyFile(place.path, mode: mode)
    do throws(GroupFileError) {
      let copy = try Handle(path: place.path, writable: true, isFrozen: false)
      defer { copy.close() }
      try copyPages(to: copy, progress)
      try Connection.synchronise(place.folder)
    } catch {
      Connection.remove(place)
      throw error
    }
  }

  private func copyPages(to copy: Handle, _ progress: (CopyStep) -> Void) throws(GroupFileError) {
    // Nobody sees the file before it is whole, so it needs no journal on the disk.
    try Statement(copy, "PRAGMA journal_mode=MEMORY").run()
    try Statement(copy, "PRAGMA synchronous=FULL").run()
    guard let backup = unsafe sqlite3_backup_init(copy.database, "main", handle.database, "main") else {
      throw unsafe copy.error(sqlite3_extended_errcode(copy.database))
    }
    var code = SQLITE_OK
    while code == SQLITE_OK {
      code = unsafe sqlite3_backup_step(backup, Connection.pagesPerStep)
      let all = unsafe UInt64(max(0, sqlite3_backup_pagecount(backup)))
      let left = unsafe UInt64(max(0, sqlite3_backup_remaining(backup)))
      let page = UInt64(ContainerHeader.pageSize)
      progress(.copied((all - min(left, all)) * page, of: all * page))
    }
    let end = unsafe sqlite3_backup_finish(backup)
    guard code == SQLITE_DONE, end == SQLITE_OK else { throw copy.error(code == SQLITE_DONE ? end : code) }
  }

  private static let pagesPerStep: Int32 = 1_024
}
