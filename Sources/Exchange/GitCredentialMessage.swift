/// A message between git and a credential helper (git-credential's input and output): lines `key=value`, up to a blank
/// line or the end.
///
/// A key may have any bytes but `=`. A value may have any bytes but NUL and line feed; a carriage return is part of it.
/// `key[]` is a list whose lines stay in order; an empty line clears it. For other keys the last line counts.
public struct GitCredentialMessage: Sendable, Equatable {
  public struct Line: Sendable, Equatable {
    public let key: [UInt8]
    public let value: [UInt8]
  }

  public private(set) var lines: [Line] = []

  /// The largest size of a line in bytes, including its end.
  public static let lineLimit = 65_535

  /// What is wrong with a line. Its text is not included, because it may contain a secret.
  public enum Fault: Error, Sendable, Equatable {
    /// A line, counted from 1, that is not `key=value`, or contains a zero byte.
    case malformed(line: Int)
    /// A key or a value that does not fit on a line.
    case unfit
  }

  public init() {}

  /// Reads a message. Lines may have any length: one that exceeds the writer's limit is still read as one line, and no
  /// part of it is read as another.
  public init(_ bytes: [UInt8]) throws(Fault) {
    for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
      guard !line.isEmpty else { return }
      guard let equals = line.firstIndex(of: UInt8(ascii: "=")), !line.contains(0) else {
        throw .malformed(line: index + 1)
      }
      lines.append(Line(key: Array(line[..<equals]), value: Array(line[(equals + 1)...])))
    }
  }

  /// Adds a line.
  ///
  /// - Throws: `unfit` for a value with a line feed or a zero byte, which a reader would take for further lines, and
  ///   for a line beyond `lineLimit`. Nothing is added in that case.
  public mutating func add(_ key: [UInt8], _ value: [UInt8]) throws(Fault) {
    guard !(key + value).contains(where: { $0 == 0x0A || $0 == 0 }), !key.contains(UInt8(ascii: "=")),
      key.count + value.count + 2 <= GitCredentialMessage.lineLimit
    else { throw .unfit }
    lines.append(Line(key: key, value: value))
  }

  /// Adds a line, as `add` for bytes.
  public mutating func add(_ key: String, _ value: some Sequence<UInt8>) throws(Fault) {
    try add(Array(key.utf8), Array(value))
  }

  /// The value of `key`; `nil` if there is none.
  public func value(of key: String) -> [UInt8]? { lines.last { $0.key.elementsEqual(key.utf8) }?.value }

  /// The values of the list `key`, whose lines are written as `key[]`.
  public func list(of key: String) -> [[UInt8]] {
    let values = lines.filter { $0.key.elementsEqual((key + "[]").utf8) }.map(\.value)
    return Array(values[(values.lastIndex(of: []).map { $0 + 1 } ?? 0)...])
  }

  /// The message as bytes, without a blank line at the end.
  public var bytes: [UInt8] { lines.flatMap { $0.key + [UInt8(ascii: "=")] + $0.value + [0x0A] } }
}
