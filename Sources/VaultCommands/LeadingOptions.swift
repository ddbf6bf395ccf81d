/// `vault --credential FILE get NAME`: what opens the store may stand before the command too.
enum LeadingOptions {
  private static let names = ["--credential", "--key-file", "--passphrase-fd", "--recovery-fd"]

  /// The arguments with such options behind the command, where the parser looks for them.
  static func moved(_ arguments: [String]) -> [String] {
    var rest = arguments[...]
    var leading: [String] = []
    while let option = rest.first {
      if names.contains(option), rest.count > 1 {
        leading += rest.prefix(2)
        rest = rest.dropFirst(2)
      } else if names.contains(where: { option.hasPrefix($0 + "=") }) {
        leading.append(option)
        rest = rest.dropFirst()
      } else {
        break
      }
    }
    guard !leading.isEmpty, let command = rest.first, !command.hasPrefix("-") else { return arguments }
    let end = rest.firstIndex(of: "--") ?? rest.endIndex
    return rest[..<end] + leading + rest[end...]
  }
}
