import Glibc

/// This process's environment, without what opens a store: programs get secrets one by one, never the key to all of them.
enum InheritedEnvironment {
  /// Values by name, both as the system's bytes, without NUL. VAULT_* and CREDENTIALS_DIRECTORY are left out.
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

  /// Whether a variable says where a store is, or what opens it.
  static func opensStore(_ name: [UInt8]) -> Bool {
    name.starts(with: "VAULT_".utf8) || name.elementsEqual("CREDENTIALS_DIRECTORY".utf8)
  }
}
