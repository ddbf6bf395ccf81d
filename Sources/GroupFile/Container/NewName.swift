internal import CSQLite
internal import Glibc

/// Gives a file that is complete, a draft, its final name: under that name nobody ever sees half of it.
package enum NewName {
  /// Renames `draft` to `name`, in the same folder, unless something has that name.
  ///
  /// - Returns: 0, or the `errno` of what kept it from it: `EEXIST` where the name is taken.
  package static func give(_ name: String, to draft: String) -> CInt {
    unsafe csqlite_rename_new(draft, name) == 0 ? 0 : errno
  }
}
