internal import CVaultSystem
internal import Glibc

extension UnixGroup {
  /// The group's name in the system's database, or its number in decimal digits if it has no name.
  public var name: String {
    unsafe systemEntry(group(), { unsafe getgrgid_r(number, $0, $1, $2, $3) }, { unsafe String(cString: $0.gr_name) })
      ?? String(number)
  }

  /// Looks up a Unix group.
  ///
  /// - Parameters:
  ///   - name: its name, or its number in decimal digits.
  ///   - isReadOnly: whether it may only read the files.
  /// - Throws: ``VaultError/invalid(_:)`` if there is no such group.
  public init(_ name: String, isReadOnly: Bool = false) throws(VaultError) {
    let found = unsafe systemEntry(group(), { unsafe getgrnam_r(name, $0, $1, $2, $3) }, { unsafe $0.gr_gid })
    // For the system, the greatest number means "no group". It would take a name with a NUL for the part before it.
    guard !name.utf8.contains(0), let number = found ?? UInt32(digits: name), number != .max else {
      throw .invalid("there is no such Unix group on this machine")
    }
    self.init(number: number, isReadOnly: isReadOnly)
  }

  /// - Throws: ``VaultError/denied(_:)`` unless ``isOurs``.
  func requireOurs() throws(VaultError) {
    guard isOurs else {
      throw .denied(.permissions("giving files to the Unix group '\(name)', which this user is not in"))
    }
  }
}

package enum UnixUser {
  /// The number of a user by name or number; `nil` if no user has the name.
  package static func number(of user: String) -> UInt32? {
    if let number = UInt32(digits: user) { return number }
    guard !user.utf8.contains(0) else { return nil }
    return unsafe systemEntry(passwd(), { unsafe getpwnam_r(user, $0, $1, $2, $3) }, { unsafe $0.pw_uid })
  }

  /// The home folder of a user; `nil` if there is no such user, or it is not an absolute path.
  static func homeFolder(of number: uid_t) -> String? {
    let path = unsafe systemEntry(
      passwd(), { unsafe getpwuid_r(number, $0, $1, $2, $3) },
      { unsafe $0.pw_dir.flatMap { unsafe String(validatingCString: $0) } })
    return path.flatMap { $0.hasPrefix("/") ? $0 : nil }
  }
}

/// An entry of one of the system's databases; `nil` if there is none, or it takes more than 1 MiB.
private func systemEntry<Entry, Value>(
  _ empty: Entry,
  _ find: (
    UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, Int, UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>
  ) -> CInt, _ read: (Entry) -> Value?
) -> Value? {
  csystem_prepare_to_find_users()
  var size = 4_096
  // The entry of a group lists the names of all its users.
  while size <= 1 << 20 {
    var entry = empty
    var found: UnsafeMutablePointer<Entry>?
    var text = [CChar](repeating: 0, count: size)
    let value: (code: CInt, value: Value?) = unsafe text.withUnsafeMutableBufferPointer { text in
      let code = unsafe find(&entry, text.baseAddress!, text.count, &found)
      return unsafe (code, found.flatMap { unsafe read($0.pointee) })
    }
    guard value.code == ERANGE else { return value.value }
    size *= 4
  }
  return nil
}
