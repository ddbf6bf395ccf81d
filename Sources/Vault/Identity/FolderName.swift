/// The rule for names of groups and applications, which name folders and files too: `[a-z0-9][a-z0-9._-]{0,127}`, no `..`.
///
/// A name that breaks it is refused, never folded: two names must not mean one folder.
enum FolderName {
  static func isValid(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    guard let first = bytes.first, bytes.count <= 128, isAlphanumeric(first) else { return false }
    return bytes.allSatisfy { isAlphanumeric($0) || ".-_".utf8.contains($0) }
      && !zip(bytes, bytes.dropFirst()).contains { $0 == UInt8(ascii: ".") && $1 == UInt8(ascii: ".") }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
