import Glibc

/// This process's environment without the variables that open a store: programs get single secrets, never the key to
/// all of them.
enum InheritedEnvironment {
  /// Values by name, both as the system's bytes, without NUL. Variables for which ``opensStore(_:)`` is true are left
  /// out.
  static var variables: [[UInt8]: [UInt8]] {
    var variables: [[UInt8]: [UInt8]] = [:]
    var next = unsafe environ
    while let entry = unsafe next.pointee {
      unsafe next += 1
      let bytes = unsafe Array(UnsafeRawBufferPointer(start: entry, count: strlen(entry)))
      guard let equals = bytes.dropFirst().firstIndex(of: UInt8(ascii: "=")) else { continue }
      let name = Array(bytes[..<equals])
      if opensStore(name) { continue }
      variables[name] = Array(bytes[(equals + 1)...])
    }
    return variables
  }

  /// Whether this is one of the variables that tell vault where a store is and what opens it. Others, such as
  /// VAULT_ADDR, belong to other programs.
  static func opensStore(_ name: [UInt8]) -> Bool { ours.contains { name.elementsEqual($0.utf8) } }

  private static let ours = Session.variables.filter { $0.hasPrefix("VAULT_") } + ["CREDENTIALS_DIRECTORY"]
}
