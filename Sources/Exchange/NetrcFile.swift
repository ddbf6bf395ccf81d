/// Writes a netrc file: the names and passwords that curl and others send to hosts.
public struct NetrcFile: Sendable {
  public enum Fault: Error, Equatable {
    /// The host is empty, begins with `#`, or contains white space, a quote, a backslash or a control character.
    case badHost
    /// Two entries are for the same host. Readers disagree about which one counts.
    case repeatedHost
    /// A user name or password is empty, is not UTF-8, or contains a control character.
    case badText
    /// The line would have 4,096 bytes or more, and curl ignores such lines.
    case tooLong
  }

  private var hosts: Set<String> = []
  /// The file's content.
  public private(set) var bytes: [UInt8] = []

  public init() {}

  public mutating func add(host: String, username: [UInt8], password: [UInt8]) throws(Fault) {
    guard !host.isEmpty, !host.hasPrefix("#"),
      host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && !"\"'\\".utf8.contains($0) })
    else {
      throw .badHost
    }
    guard hosts.insert(host).inserted else { throw .repeatedHost }
    let (username, password) = (try Self.word(username), try Self.word(password))
    let line = Array("machine \(host) login ".utf8) + username + Array(" password ".utf8) + password + [0x0A]
    guard line.count < 4_096 else { throw .tooLong }
    bytes += line
  }

  /// A word as curl 7.84 and Python 3.11 read it. Older versions do not understand quotes, so a word gets them only if
  /// it needs them: if it contains a separator or would be read as a comment.
  private static func word(_ text: [UInt8]) throws(Fault) -> [UInt8] {
    guard !text.isEmpty, text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), String(validating: text, as: UTF8.self) != nil
    else { throw .badText }
    guard text.first == UInt8(ascii: "#") || text.contains(where: { " \"'\\".utf8.contains($0) }) else { return text }
    let quote = UInt8(ascii: "\"")
    return [quote] + text.flatMap { #""\"#.utf8.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] } + [quote]
  }
}
