/// A reference to a value in a store: `vault://group/name#field`.
///
/// The group ends at the first `/`. The item's name follows and may contain further slashes. After a `#` follows the
/// field of a value with fields. An empty group means the store's default. In each part, `%` and two hexadecimal digits
/// represent one byte; `%`, `#`, white space and control characters are always written this way.
public struct Reference: Sendable, Equatable {
  /// The access group; `nil` for the store's default.
  public let group: String?
  /// The item's name.
  public let name: String
  /// The field of the item's value; `nil` for the whole value.
  public let field: String?

  public init(group: String? = nil, name: String, field: String? = nil) {
    self.group = group
    self.name = name
    self.field = field
  }

  /// The beginning of every reference.
  public static let scheme = "vault://"

  /// Whether `text` is intended as a reference. No real password begins like this.
  public static func isMeant(by text: String) -> Bool { text.hasPrefix(scheme) }

  /// The reason why a text is not a reference.
  public enum Fault: Error, Sendable, Equatable {
    /// It does not begin with `vault://`.
    case noScheme
    /// There is no `/` after the group, or nothing after the `/`.
    case noName
    /// A `%` without two hexadecimal digits, or decoded bytes that are not UTF-8.
    case badEscape
    /// A character that must be written as `%` and digits: white space, a control character, or a second `#`.
    case unescaped
    /// A `#` with nothing after it.
    case emptyField
  }
}

extension Reference {
  /// Reads a reference.
  ///
  /// - Throws: the reason why the text is not a reference. The text is not included, because it may be a secret.
  public init(_ text: String) throws(Fault) {
    guard Reference.isMeant(by: text) else { throw .noScheme }
    let bytes = Array(text.utf8.dropFirst(Reference.scheme.utf8.count))
    guard bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { throw .unescaped }
    let parts = bytes.split(separator: UInt8(ascii: "#"), maxSplits: 1, omittingEmptySubsequences: false)
    guard let slash = parts[0].firstIndex(of: UInt8(ascii: "/")), slash + 1 < parts[0].endIndex else { throw .noName }
    let group = try Reference.decoded(parts[0][..<slash])
    name = try Reference.decoded(parts[0][(slash + 1)...])
    self.group = group.isEmpty ? nil : group
    guard parts.count == 2 else {
      field = nil
      return
    }
    guard !parts[1].isEmpty else { throw .emptyField }
    guard !parts[1].contains(UInt8(ascii: "#")) else { throw .unescaped }
    field = try Reference.decoded(parts[1])
  }

  private static func decoded(_ part: ArraySlice<UInt8>) throws(Fault) -> String {
    guard let bytes = PercentEncoding.decoded(part), let text = String(validating: bytes, as: UTF8.self) else {
      throw .badEscape
    }
    return text
  }
}

extension Reference: CustomStringConvertible {
  /// The reference as text; reading it gives the same reference.
  public var description: String {
    let place = Reference.encoded(group ?? "", keepsSlash: false) + "/" + Reference.encoded(name, keepsSlash: true)
    return Reference.scheme + place + (field.map { "#" + Reference.encoded($0, keepsSlash: true) } ?? "")
  }

  private static func encoded(_ text: String, keepsSlash: Bool) -> String {
    let bytes = PercentEncoding.encoded(text.utf8) { byte in
      byte > 0x20 && byte != 0x7F && byte != UInt8(ascii: "#") && (byte != UInt8(ascii: "/") || keepsSlash)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
