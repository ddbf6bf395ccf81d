import Foundation
import KeyedArchives

extension ValueClass {
  /// Character sets: built in, a range, the characters of a string, or a bitmap; each perhaps inverted.
  static let characterSets = [
    ValueClass("NSCharacterSet", NSCharacterSet.self) { fields throws(ArchiveError) in
      try characterSet(fields) as NSCharacterSet
    },
    ValueClass("NSMutableCharacterSet", NSMutableCharacterSet.self, variantOf: NSCharacterSet.self) {
      fields throws(ArchiveError) in
      // On Linux only a copy can be changed: what NSMutableCharacterSet's own initializers make ends the process then.
      guard let set = (try characterSet(fields) as NSCharacterSet).mutableCopy() as? NSMutableCharacterSet else {
        throw fields.invalid("it cannot be made mutable")
      }
      return set
    },
  ]

  private static func characterSet(_ fields: Fields) throws(ArchiveError) -> CharacterSet {
    let set = try plainSet(fields)
    return try fields.flag("NSIsInverted") ? set.inverted : set
  }

  private static func plainSet(_ fields: Fields) throws(ArchiveError) -> CharacterSet {
    if let number = try fields.integerIfPresent("NSBuiltinID") {
      guard let set = builtIn[number] else { throw fields.invalid("no built-in set has its number") }
      return set
    }
    if let packed = try fields.integerIfPresent("NSRange") {
      let (location, length) = (packed >> 32, packed & 0xFFFF_FFFF)
      guard location >= 0, location + length <= 0x110000 else {
        throw fields.invalid("its range is not one of characters")
      }
      return NSCharacterSet(range: NSRange(location: location, length: length)) as CharacterSet
    }
    if let text = try fields.textIfPresent("NSString") { return CharacterSet(charactersIn: text) }
    guard let bitmap = try fields.dataIfPresent("NSBitmap") else { return CharacterSet() }
    try checkBitmap([UInt8](bitmap), fields)
    return CharacterSet(bitmapRepresentation: bitmap)
  }

  /// One bit for each character of the first plane; then for others the plane's number and its bits, in order.
  private static func checkBitmap(_ bytes: [UInt8], _ fields: Fields) throws(ArchiveError) {
    let plane = 8_192
    guard bytes.count >= plane, (bytes.count - plane) % (plane + 1) == 0 else {
      throw fields.invalid("its bitmap has \(bytes.count) bytes")
    }
    var last = 0
    for start in stride(from: plane, to: bytes.count, by: plane + 1) {
      guard Int(bytes[start]) > last, bytes[start] <= 16 else {
        throw fields.invalid("its bitmap's planes are not in order")
      }
      last = Int(bytes[start])
    }
  }

  private static let builtIn: [Int: CharacterSet] = [
    1: .controlCharacters, 2: .whitespaces, 3: .whitespacesAndNewlines, 4: .decimalDigits, 5: .letters,
    6: .lowercaseLetters, 7: .uppercaseLetters, 8: .nonBaseCharacters, 9: .decomposables, 10: .alphanumerics,
    11: .punctuationCharacters, 12: .illegalCharacters, 13: .capitalizedLetters, 14: .symbols, 15: .newlines,
  ]
}
