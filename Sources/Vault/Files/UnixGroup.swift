internal import Glibc
internal import GroupFile

/// A Unix group whose users may use the files of an access group.
///
/// It says who may open the files, not who may read what is in them: for that a user's application must be a member.
public struct UnixGroup: Sendable, Equatable {
  /// The name in the system's list of Unix groups, or else the number in decimal digits.
  public let name: String
  public let number: UInt32
  /// Whether the Unix group may read the files only.
  public let isReadOnly: Bool

  /// Looks up a Unix group.
  ///
  /// - Parameters:
  ///   - name: its name, or its number in decimal digits.
  ///   - isReadOnly: whether it may read the files only.
  /// - Throws: ``VaultError/invalid(_:)`` if there is none.
  public init(_ name: String, isReadOnly: Bool = false) throws(VaultError) {
    guard let number = UnixGroupList.number(of: name) ?? UnixGroup.number(name) else {
      throw .invalid("there is no such Unix group on this machine")
    }
    self.init(number: number, isReadOnly: isReadOnly)
  }

  init(number: UInt32, isReadOnly: Bool) {
    self.number = number
    self.isReadOnly = isReadOnly
    name = UnixGroupList.name(of: number) ?? String(number)
  }

  /// The Unix group that a folder of this shape lets in.
  init?(_ shape: ContainerShape) {
    switch shape {
    case .closed, .visible: return nil
    case .readable(let number): self.init(number: number, isReadOnly: true)
    case .writable(let number): self.init(number: number, isReadOnly: false)
    }
  }

  var shape: ContainerShape { isReadOnly ? .readable(unixGroup: number) : .writable(unixGroup: number) }

  /// Whether the system lets this process give files to the group: to its own ones, or to any as root.
  var isOurs: Bool {
    if geteuid() == 0 || getegid() == number { return true }
    let count = getgroups(0, nil)
    guard count > 0 else { return false }
    var groups = [gid_t](repeating: 0, count: Int(count))
    return unsafe getgroups(count, &groups) > 0 && groups.contains(number)
  }

  // The greatest number means "no group" to the system.
  private static func number(_ text: String) -> UInt32? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return UInt32(text).flatMap { $0 == UInt32.max ? nil : $0 }
  }
}

/// The system's list of Unix groups.
private enum UnixGroupList {
  // A group's entry names all its users.
  private static let byteLimit = 1 << 20

  static func number(of name: String) -> UInt32? {
    guard !name.utf8.contains(0) else { return nil }
    return unsafe entry {
      unsafe getgrnam_r(name, $0, $1, $2, $3)
    } read: {
      unsafe $0.gr_gid
    }
  }

  static func name(of number: UInt32) -> String? {
    unsafe entry {
      unsafe getgrgid_r(number, $0, $1, $2, $3)
    } read: {
      unsafe String(cString: $0.gr_name)
    }
  }

  private static func entry<Value>(
    _ find: (
      UnsafeMutablePointer<group>, UnsafeMutablePointer<CChar>, Int, UnsafeMutablePointer<UnsafeMutablePointer<group>?>
    ) -> CInt, read: (group) -> Value
  ) -> Value? {
    var size = 4_096
    while size <= byteLimit {
      var entry = unsafe group()
      var found: UnsafeMutablePointer<group>?
      var text = [CChar](repeating: 0, count: size)
      let value: (code: CInt, value: Value?) = unsafe text.withUnsafeMutableBufferPointer { text in
        let code = unsafe find(&entry, text.baseAddress!, text.count, &found)
        return unsafe (code, found.map { unsafe read($0.pointee) })
      }
      guard value.code == ERANGE else { return value.value }
      size *= 4
    }
    return nil
  }
}
