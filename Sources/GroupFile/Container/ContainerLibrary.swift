internal import CSQLite

/// The SQLite that this build runs on.
package enum ContainerLibrary {
  package static var version: String { unsafe String(cString: sqlite3_libversion()) }
}
