/// The names of Swift types in archives.
enum TypeNames {
  /// The key, next to `root`, under which an archive names the Swift type that it holds.
  static let key = "vault.type"

  /// `Module.Person`; `nil` for a private, local or generic type, whose name does not mean the same in another program.
  ///
  /// Standard containers have a name if their elements have one: `Swift.Array<Module.Person>`.
  static func stable(_ type: Any.Type) -> String? {
    let name = _typeName(type, qualified: true)
    guard !name.contains("("), !name.contains(" in ") else { return nil }
    var rest = name[...]
    while let bracket = rest.firstIndex(of: "<") {
      let head = rest[..<bracket].split { "<,> ".contains($0) }.last ?? ""
      guard containers.contains(String(head)) else { return nil }
      rest = rest[rest.index(after: bracket)...]
    }
    return name
  }

  /// The name of a type in error messages.
  static func shown(_ type: Any.Type) -> String {
    let name = _typeName(type, qualified: true)
    if name == "Foundation.__SwiftValue" { return "Swift value" }
    // The name of a local type contains a memory address.
    return name.split(separator: ".").filter { !$0.hasPrefix("(unknown context") }.joined(separator: ".")
  }

  private static let containers: Set<String> = ["Swift.Array", "Swift.Dictionary", "Swift.Optional", "Swift.Set"]
}
