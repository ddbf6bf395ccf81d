import Foundation
import KeyedArchives

extension ValueClass {
  /// NSValue: points, sizes, rectangles, ranges, insets, and C numbers.
  static let values = [
    ValueClass("NSValue", NSValue.self, build: value),
    ValueClass(FoundationClasses.rawArray, NSValue.self) { fields throws(ArchiveError) in
      throw fields.invalid("it is valid only inside an NSValue")
    },
  ]

  private static func value(_ fields: Fields) throws(ArchiveError) -> Any {
    guard let special = try fields.integerIfPresent("NS.special") else { return try RawValue(fields).build() }
    switch special {
    case 1:
      let numbers = try numbers("NS.pointval", 2, fields)
      return NSValue(point: NSPoint(x: numbers[0], y: numbers[1]))
    case 2:
      let numbers = try numbers("NS.sizeval", 2, fields)
      return NSValue(size: NSSize(width: numbers[0], height: numbers[1]))
    case 3:
      let numbers = try numbers("NS.rectval", 4, fields)
      return NSValue(rect: NSRect(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3]))
    case 4:
      let location = try fields.integer("NS.rangeval.location")
      return NSValue(range: try range(location, try fields.integer("NS.rangeval.length"), fields))
    // UIEdgeInsets and NSEdgeInsets.
    case 11, 12:
      return NSValue(
        edgeInsets: NSEdgeInsets(
          top: try fields.real("NS.edgeval.top"), left: try fields.real("NS.edgeval.left"),
          bottom: try fields.real("NS.edgeval.bottom"), right: try fields.real("NS.edgeval.right")))
    case 10, 13, 14: throw fields.invalid("it is a transform, an offset or directional insets, which Linux lacks")
    default: throw fields.invalid("its kind is unknown")
    }
  }

  /// A range whose end does not overflow. `NSNotFound` with length 0 means "none".
  static func range(_ location: Int, _ length: Int, _ fields: Fields) throws(ArchiveError) -> NSRange {
    if location == NSNotFound, length == 0 { return NSRange(location: location, length: 0) }
    guard location >= 0, length >= 0, location <= Int.max - length else {
      throw fields.invalid("a range is not valid")
    }
    return NSRange(location: location, length: length)
  }

  /// The numbers of `{x, y}` or `{{x, y}, {w, h}}`.
  private static func numbers(_ key: String, _ count: Int, _ fields: Fields) throws(ArchiveError) -> [Double] {
    let text = try fields.text(key)
    let shape = text.filter { "{},".contains($0) }
    let parts = text.split { "{}, ".contains($0) }
    let numbers = parts.compactMap { Double($0) }
    guard shape == (count == 2 ? "{,}" : "{{,},{,}}"), parts.count == count, numbers.count == count else {
      throw fields.invalid(key, "is malformed")
    }
    return numbers
  }
}
