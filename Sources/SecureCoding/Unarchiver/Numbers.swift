import KeyedArchives

/// How a number in an archive may be read. A conversion never changes the value, except by rounding to single
/// precision.
///
/// | stored | requested | result |
/// | --- | --- | --- |
/// | integer | integer of any width | if it fits |
/// | integer | real | if it is exact |
/// | integer | boolean | 0 and 1 |
/// | real | integer | if it is integral and fits |
/// | real | single precision | rounded, unless it becomes infinite |
/// | boolean | integer | 0 or 1 |
///
/// Everything else is an error.
enum Numbers {
  /// Why a number cannot be read as the requested type.
  enum Mismatch: Error {
    case type, range
  }

  static func integer<T: FixedWidthInteger>(_ node: Node, in list: PropertyList) throws(Mismatch) -> T {
    switch node.kind {
    case .integer:
      guard let value = T(exactly: Int64(bitPattern: node.payload)) else { throw .range }
      return value
    case .unsigned, .wide:
      guard let value = list.integer(node).flatMap({ T(exactly: $0) }) else { throw .range }
      return value
    case .bool: return node.payload != 0 ? 1 : 0
    case .real:
      guard let value = T(exactly: Double(bitPattern: node.payload)) else { throw .range }
      return value
    default: throw .type
    }
  }

  static func double(_ node: Node, in list: PropertyList) throws(Mismatch) -> Double {
    if node.kind == .real { return Double(bitPattern: node.payload) }
    guard let whole = list.integer(node) else { throw .type }
    guard let value = Double(exactly: whole) else { throw .range }
    return value
  }

  static func float(_ node: Node, in list: PropertyList) throws(Mismatch) -> Float {
    if node.kind == .real {
      let value = Double(bitPattern: node.payload)
      guard Float(value).isFinite || !value.isFinite else { throw .range }
      return Float(value)
    }
    guard let whole = list.integer(node) else { throw .type }
    guard let value = Float(exactly: whole) else { throw .range }
    return value
  }

  static func bool(_ node: Node, in list: PropertyList) throws(Mismatch) -> Bool {
    if node.kind == .bool { return node.payload != 0 }
    guard let whole = list.integer(node) else { throw .type }
    guard whole == 0 || whole == 1 else { throw .range }
    return whole == 1
  }
}
