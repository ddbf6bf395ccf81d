import Foundation
import KeyedArchives

extension ValueClass {
  /// Character sets: a built-in set, a range, the characters of a string, or a bitmap. Each may be inverted.
  static let characterSets = [
    ValueClass("NSCharacterSet", NSCharacterSet.self) { fields throws(ArchiveError) in
      try characterSet(fields) as NSCharacterSet
    },
    ValueClass("NSMutableCharacterSet", NSMutableCharacterSet.self, variantOf: NSCharacterSet.self) {
      fields throws(ArchiveError) in
      // On Linux only a mutable copy can be changed. Changing a set that was created by NSMutableCharacterSet's own
      // initializers ends the process.
      guard let set = (try characterSet(fields) as NSCharacterSet).mutableCopy() as? NSMutableCharacterSet else {
        throw fields.invalid("it cannot be made mutable")
      }
      return set
    },
  ]

  private static func characterSet(_ fields: Fields) throws(ArchiveError) -> CharacterSet {
    let set = try plainSet(fields)
    guard try fields.flag("NSIsInverted") else { return set }
    // Archiving an inverted set creates its bitmap, which has all planes and takes 12 milliseconds, or 20 on a busy
    // machine.
    try fields.coder.budget.take(comparisons: 65_536, at: fields.coder.here)
    return set.inverted
  }

  private static func plainSet(_ fields: Fields) throws(ArchiveError) -> CharacterSet {
    if let number = try fields.integerIfPresent("NSBuiltinID") {
      guard let set = builtIn[number] else { throw fields.invalid("no built-in set has this number") }
      try fields.coder.budget.take(comparisons: 8_192, at: fields.coder.here)
      return set
    }
    if let packed = try fields.integerIfPresent("NSRange") {
      let (location, length) = (packed >> 32, packed & 0xFFFF_FFFF)
      guard location >= 0, location + length <= 0x110000 else {
        throw fields.invalid("its range exceeds the range of Unicode")
      }
      try take(planes: length >> 16 + 1, work: 8, fields)
      return NSCharacterSet(range: NSRange(location: location, length: length)) as CharacterSet
    }
    // The longer keys are those of archivers that are subclasses of NSKeyedArchiver.
    if let text = try fields.textIfPresent(fields.has("NSString") ? "NSString" : "NSStringObject") {
      let planes = Set(text.unicodeScalars.map { $0.value >> 16 }).count
      try take(planes: planes, work: 8 + text.utf8.count / 8, fields)
      return CharacterSet(charactersIn: text)
    }
    guard let bitmap = try fields.dataIfPresent(fields.has("NSBitmap") ? "NSBitmap" : "NSBitmapObject") else {
      throw fields.missing("NSBitmap")
    }
    return try set([UInt8](bitmap), fields)
  }

  /// Charges the memory that a set takes: up to one bitmap for each plane in which it has characters.
  private static func take(planes: Int, work: Int, _ fields: Fields) throws(ArchiveError) {
    try fields.coder.budget.take(bytes: max(0, planes - 1).saturatingProduct(planeBytes), at: fields.coder.here)
    try fields.coder.budget.take(comparisons: work, at: fields.coder.here)
    try fields.coder.note(SecureUnarchiver.Cost(conversion: 1, comparison: planes.saturatingProduct(16)), fields)
  }

  private static let planeBytes = 8_192

  /// The set that a bitmap describes. It has one bit for each character of the first plane. For each other plane it has
  /// the plane's number and its bits, in ascending order.
  ///
  /// Foundation on Linux misreads the bitmap of a dense first plane and combines ranges of different planes
  /// incorrectly. So the first plane is built from ranges, and each other plane is read from a bitmap of its own whose
  /// first plane is empty.
  private static func set(_ bytes: [UInt8], _ fields: Fields) throws(ArchiveError) -> CharacterSet {
    guard let starts = planeStarts(bytes) else {
      throw fields.invalid("its bitmap does not consist of planes in order")
    }
    let ranges = ranges(bytes[..<planeBytes])
    let planes = starts.map { Data(repeating: 0, count: planeBytes) + bytes[$0...($0 + planeBytes)] }
    try take(planes: bytes.count / planeBytes, work: 8 + bytes.count / 64 + ranges.count / 16, fields)
    if planes.isEmpty, let text = text(of: ranges) { return CharacterSet(charactersIn: text) }
    guard let set = (CharacterSet() as NSCharacterSet).mutableCopy() as? NSMutableCharacterSet else {
      throw fields.invalid("its bitmap cannot be read")
    }
    for range in ranges { set.addCharacters(in: range) }
    for plane in planes { set.formUnion(with: CharacterSet(bitmapRepresentation: plane)) }
    return set as CharacterSet
  }

  /// Where the planes after the first begin in a bitmap; nil if it is not one of planes 0 to 16 in order.
  static func planeStarts(_ bytes: [UInt8]) -> [Int]? {
    guard bytes.count >= planeBytes, (bytes.count - planeBytes) % (planeBytes + 1) == 0 else { return nil }
    let starts = Array(stride(from: planeBytes, to: bytes.count, by: planeBytes + 1))
    let numbers = [0] + starts.map { bytes[$0] }
    return zip(numbers, numbers.dropFirst()).allSatisfy({ $0 < $1 && $1 <= 16 }) ? starts : nil
  }

  /// The characters of ranges, if they are few and none is a surrogate. A set made from such a string is immutable.
  private static func text(of ranges: [NSRange]) -> String? {
    guard ranges.reduce(0, { $0.saturatingSum($1.length) }) <= 1_024 else { return nil }
    var text = String.UnicodeScalarView()
    for range in ranges {
      for value in range.location..<range.location + range.length {
        guard let scalar = Unicode.Scalar(UInt32(value)) else { return nil }
        text.append(scalar)
      }
    }
    return String(text)
  }

  /// The ranges of set bits.
  private static func ranges(_ bytes: ArraySlice<UInt8>) -> [NSRange] {
    var ranges: [NSRange] = []
    var start: Int?
    func end(_ position: Int) {
      if let begin = start { ranges.append(NSRange(location: begin, length: position - begin)) }
      start = nil
    }
    for (index, byte) in bytes.enumerated() {
      if byte == 0xFF {
        start = start ?? 8 * index
        continue
      }
      for bit in 0..<8 {
        if byte & (1 << bit) == 0 { end(8 * index + bit) } else { start = start ?? (8 * index + bit) }
      }
    }
    end(8 * planeBytes)
    return ranges
  }

  private static let builtIn: [Int: CharacterSet] = [
    1: .controlCharacters, 2: .whitespaces, 3: .whitespacesAndNewlines, 4: .decimalDigits, 5: .letters,
    6: .lowercaseLetters, 7: .uppercaseLetters, 8: .nonBaseCharacters, 9: .decomposables, 10: .alphanumerics,
    11: .punctuationCharacters, 12: .illegalCharacters, 13: .capitalizedLetters, 14: .symbols, 15: .newlines,
  ]
}
