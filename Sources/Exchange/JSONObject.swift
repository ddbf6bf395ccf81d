/// Writes a JSON object (RFC 8259) whose members are strings, in the order in which they are added.
public struct JSONObject: Sendable {
  private var members: [UInt8] = []

  public init() {}

  /// Adds a member.
  ///
  /// - Parameter text: UTF-8.
  public mutating func add(_ key: String, _ text: some Sequence<UInt8>) {
    if !members.isEmpty { members.append(UInt8(ascii: ",")) }
    Self.quote(key.utf8, to: &members)
    members.append(UInt8(ascii: ":"))
    Self.quote(text, to: &members)
  }

  /// The object on one line, without white space between its parts.
  public var bytes: [UInt8] { [UInt8(ascii: "{")] + members + [UInt8(ascii: "}")] }

  /// Writes a string.
  ///
  /// - Parameter text: UTF-8.
  static func quote(_ text: some Sequence<UInt8>, to json: inout [UInt8]) {
    json.append(UInt8(ascii: "\""))
    for byte in text {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): json += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): json += "\\n".utf8
      case UInt8(ascii: "\r"): json += "\\r".utf8
      case UInt8(ascii: "\t"): json += "\\t".utf8
      case 0..<0x20, 0x7F:
        let digits = String(byte, radix: 16)
        json += "\\u00\(digits.count < 2 ? "0" : "")\(digits)".utf8
      default: json.append(byte)
      }
    }
    json.append(UInt8(ascii: "\""))
  }
}
