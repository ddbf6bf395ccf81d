/// A QR code (ISO/IEC 18004, model 2) in byte mode, of error correction level L or M.
package struct QRCode: Sendable {
  package enum Level: Int, Sendable {
    case medium = 0
    case low = 1
  }

  /// 1 to 40.
  package private(set) var version: Int
  package private(set) var level: Level
  /// The mask, one of eight patterns.
  package private(set) var mask: Int
  /// The number of modules on each side, without the quiet zone.
  package private(set) var size: Int
  private var modules: [Bool]
  /// Whether a module belongs to a finder, timing, alignment, format or version pattern, without data or mask.
  private var isFixed: [Bool]

  /// The maximum number of bytes in a code: version 40, level L.
  package static let largestByteCount = 2_953
  /// The width of the light border in modules.
  package static let quietZone = 4

  /// Encodes `bytes` in the smallest version, with level M if that needs no larger one.
  ///
  /// - Parameters:
  ///   - least: the smallest version to use, 1 to 40.
  ///   - level: nil to choose the level automatically.
  ///   - mask: 0 to 7; nil uses the one with the lowest penalty.
  /// - Returns: nil if the bytes do not fit.
  package init?(_ bytes: [UInt8], least: Int = 1, level: Level? = nil, mask: Int? = nil) {
    let needed = level ?? .low
    guard
      let version = (max(least, 1)...40).first(where: {
        bytes.count <= QRCode.capacity(version: $0, needed)
      })
    else { return nil }
    let isRoomy = level == nil && bytes.count <= QRCode.capacity(version: version, .medium)
    self.init(bytes, version, isRoomy ? .medium : needed, mask)
  }

  /// Whether the module is dark. Places outside the code are light.
  package func isDark(column: Int, row: Int) -> Bool {
    (0..<size).contains(column) && (0..<size).contains(row) && modules[row * size + column]
  }

  private init(_ bytes: [UInt8], _ version: Int, _ level: Level, _ mask: Int?) {
    (self.version, self.level, size) = (version, level, 17 + 4 * version)
    modules = [Bool](repeating: false, count: size * size)
    isFixed = modules
    self.mask = 0
    drawFixedPatterns()
    drawFormat(mask: 0)
    draw(codewords: QRCode.codewords(bytes, version, level))
    let masked = (mask.map { [$0] } ?? Array(0..<8)).map { self.masked($0) }
    if let best = masked.min(by: { $0.penalty < $1.penalty }) { self = best }
  }

  private func masked(_ mask: Int) -> QRCode {
    var code = self
    code.mask = mask
    for row in 0..<size {
      for column in 0..<size where !isFixed[row * size + column] && QRCode.inverts(mask, column, row) {
        code.modules[row * size + column].toggle()
      }
    }
    code.drawFormat(mask: mask)
    return code
  }

  private static func inverts(_ mask: Int, _ x: Int, _ y: Int) -> Bool {
    switch mask {
    case 0: (x + y) % 2 == 0
    case 1: y % 2 == 0
    case 2: x % 3 == 0
    case 3: (x + y) % 3 == 0
    case 4: (x / 3 + y / 2) % 2 == 0
    case 5: x * y % 2 + x * y % 3 == 0
    case 6: (x * y % 2 + x * y % 3) % 2 == 0
    default: ((x + y) % 2 + x * y % 3) % 2 == 0
    }
  }

  // MARK: Patterns

  private mutating func fix(_ column: Int, _ row: Int, _ isDark: Bool) {
    modules[row * size + column] = isDark
    isFixed[row * size + column] = true
  }

  private mutating func drawFixedPatterns() {
    for place in 0..<size {
      fix(6, place, place % 2 == 0)
      fix(place, 6, place % 2 == 0)
    }
    for (x, y) in [(3, 3), (size - 4, 3), (3, size - 4)] { drawRings(around: x, y, [0, 1, 3], reach: 4) }
    let places = QRCode.alignmentPlaces(version)
    for y in places {
      for x in places {
        let isFinder = [(6, 6), (6, size - 7), (size - 7, 6)].contains { $0 == (x, y) }
        if !isFinder { drawRings(around: x, y, [0, 2], reach: 2) }
      }
    }
    guard version >= 7 else { return }
    let bits = QRCode.withRemainder(version, bits: 12, 0x1F25)
    for index in 0..<18 {
      let (near, far) = (index / 3, size - 11 + index % 3)
      fix(near, far, bits >> index & 1 == 1)
      fix(far, near, bits >> index & 1 == 1)
    }
  }

  /// Concentric squares around a place: dark at the distances in `dark`, and light otherwise.
  private mutating func drawRings(around x: Int, _ y: Int, _ dark: Set<Int>, reach: Int) {
    for row in max(y - reach, 0)...min(y + reach, size - 1) {
      for column in max(x - reach, 0)...min(x + reach, size - 1) {
        fix(column, row, dark.contains(max(abs(column - x), abs(row - y))))
      }
    }
  }

  private mutating func drawFormat(mask: Int) {
    let bits = QRCode.withRemainder(level.rawValue << 3 | mask, bits: 10, 0x537) ^ 0x5412
    for index in 0..<15 {
      let isDark = bits >> index & 1 == 1
      // The format goes around the upper left finder, skipping the timing patterns, and again along the other two
      // finders.
      let step = index < 6 ? index : index < 8 ? index + 1 : 0
      switch index {
      case 0..<8: fix(8, step, isDark)
      case 8: fix(7, 8, isDark)
      default: fix(14 - index, 8, isDark)
      }
      if index < 8 { fix(size - 1 - index, 8, isDark) } else { fix(8, size - 15 + index, isDark) }
    }
    fix(8, size - 8, true)
  }

  /// The data goes in a zigzag through columns of two from the lower right corner.
  private mutating func draw(codewords: [UInt8]) {
    var bit = 0
    var right = size - 1
    var goesUp = true
    while right > 0 {
      if right == 6 { right -= 1 }
      for step in 0..<size {
        let row = goesUp ? size - 1 - step : step
        for column in [right, right - 1] where !isFixed[row * size + column] && bit < codewords.count * 8 {
          modules[row * size + column] = codewords[bit / 8] >> (7 - bit % 8) & 1 == 1
          bit += 1
        }
      }
      (right, goesUp) = (right - 2, !goesUp)
    }
  }

  // MARK: Which mask readers see best

  private var penalty: Int {
    var sum = 0
    for line in 0..<size {
      sum += penalty { modules[line * size + $0] }
      sum += penalty { modules[$0 * size + line] }
    }
    for row in 0..<size - 1 {
      for column in 0..<size - 1 {
        let place = row * size + column
        let color = modules[place]
        if modules[place + 1] == color, modules[place + size] == color, modules[place + size + 1] == color { sum += 3 }
      }
    }
    let dark = modules.count { $0 }
    return sum + abs(dark * 20 - modules.count * 10) / modules.count * 10
  }

  /// The penalty of one row or column, for runs of one colour and patterns like a finder.
  private func penalty(_ isDark: (Int) -> Bool) -> Int {
    var (sum, run, window) = (0, 0, 0)
    for place in 0..<size {
      run = place > 0 && isDark(place) == isDark(place - 1) ? run + 1 : 1
      if run == 5 { sum += 3 } else if run > 5 { sum += 1 }
      window = (window << 1 | (isDark(place) ? 1 : 0)) & 0x7FF
      if place >= 10, window == 0b000_0101_1101 || window == 0b101_1101_0000 { sum += 40 }
    }
    return sum
  }
}

// MARK: - Codewords

extension QRCode {
  /// The number of bytes that a version can hold.
  private static func capacity(version: Int, _ level: Level) -> Int {
    dataCount(version, level) - (version < 10 ? 2 : 3)
  }

  /// The codewords: mode, length and bytes, padded, split into blocks with error correction, and interleaved.
  private static func codewords(_ bytes: [UInt8], _ version: Int, _ level: Level) -> [UInt8] {
    // The four bits of the mode shift everything after them by half a byte.
    var nibbles: [UInt8] = [4]
    for shift in stride(from: version < 10 ? 4 : 12, through: 0, by: -4) {
      nibbles.append(UInt8(bytes.count >> shift & 15))
    }
    for byte in bytes { nibbles += [byte >> 4, byte & 15] }
    nibbles.append(0)
    var data = stride(from: 0, to: nibbles.count - 1, by: 2).map { nibbles[$0] << 4 | nibbles[$0 + 1] }
    let wanted = dataCount(version, level)
    for padding in 0..<wanted - data.count { data.append(padding % 2 == 0 ? 0xEC : 0x11) }

    let (count, correction) = blocks(version, level)
    let generator = generator(correction)
    var (blocks, checks): ([ArraySlice<UInt8>], [[UInt8]]) = ([], [])
    for number in 0..<count {
      // If the data does not divide evenly, the last blocks are one codeword longer.
      let length = wanted / count + (number >= count - wanted % count ? 1 : 0)
      let start = blocks.last?.endIndex ?? 0
      blocks.append(data[start..<start + length])
      checks.append(remainder(blocks[number], generator))
    }
    var codewords: [UInt8] = []
    for place in 0..<wanted / count + 1 {
      for block in blocks where place < block.count { codewords.append(block[block.startIndex + place]) }
    }
    for place in 0..<correction { for check in checks { codewords.append(check[place]) } }
    return codewords
  }

  private static func dataCount(_ version: Int, _ level: Level) -> Int {
    let (count, correction) = blocks(version, level)
    return moduleCount(version) / 8 - count * correction
  }

  /// The number of modules for data and error correction.
  private static func moduleCount(_ version: Int) -> Int {
    let size = 17 + 4 * version
    let alignments = alignmentPlaces(version).count
    // Subtract the three finders with their light edges, the timing patterns, the format and the dark module; then the
    // alignment patterns, of which two rows share five modules each with the timing patterns.
    var count = size * size - 3 * 64 - 2 * (size - 16) - 31
    if alignments > 0 { count -= 25 * (alignments * alignments - 3) - 10 * (alignments - 2) }
    return version >= 7 ? count - 36 : count
  }

  private static func alignmentPlaces(_ version: Int) -> [Int] {
    guard version > 1 else { return [] }
    let count = version / 7 + 2
    let last = 10 + 4 * version
    // The standard's table has even steps from the last position, except for version 32.
    let step = version == 32 ? 26 : (version * 4 + count * 2 + 1) / (count * 2 - 2) * 2
    return [6] + (0..<count - 1).reversed().map { last - $0 * step }
  }

  /// `value` followed by the remainder of its division by a generator of `bits` bits (BCH).
  private static func withRemainder(_ value: Int, bits: Int, _ generator: Int) -> Int {
    var rest = value
    for _ in 0..<bits { rest = rest << 1 ^ (rest >> (bits - 1)) * generator }
    return value << bits | rest
  }

  // MARK: Reed and Solomon's code in GF(2⁸), modulo x⁸ + x⁴ + x³ + x² + 1

  private static func product(_ a: UInt8, _ b: UInt8) -> UInt8 {
    var result: UInt8 = 0
    for bit in (0..<8).reversed() {
      result = result << 1 ^ (result >> 7) * 0x1D
      result ^= (b >> UInt8(bit) & 1) * a
    }
    return result
  }

  /// The generator without its first coefficient, which is 1.
  private static func generator(_ degree: Int) -> [UInt8] {
    var coefficients = [UInt8](repeating: 0, count: degree - 1) + [1]
    var root: UInt8 = 1
    for _ in 0..<degree {
      for place in 0..<degree {
        coefficients[place] = product(coefficients[place], root) ^ (place + 1 < degree ? coefficients[place + 1] : 0)
      }
      root = product(root, 2)
    }
    return coefficients
  }

  private static func remainder(_ data: ArraySlice<UInt8>, _ generator: [UInt8]) -> [UInt8] {
    var rest = [UInt8](repeating: 0, count: generator.count)
    for byte in data {
      let factor = byte ^ rest.removeFirst()
      rest.append(0)
      for place in rest.indices { rest[place] ^= product(generator[place], factor) }
    }
    return rest
  }

  /// The number of blocks, and of error correction codewords in each (ISO/IEC 18004, table 9).
  private static func blocks(_ version: Int, _ level: Level) -> (count: Int, correction: Int) {
    level == .low ? low[version - 1] : medium[version - 1]
  }

  private static let low = [
    (1, 7), (1, 10), (1, 15), (1, 20), (1, 26), (2, 18), (2, 20), (2, 24), (2, 30), (4, 18), (4, 20), (4, 24), (4, 26),
    (4, 30), (6, 22), (6, 24), (6, 28), (6, 30), (7, 28), (8, 28), (8, 28), (9, 28), (9, 30), (10, 30), (12, 26),
    (12, 28), (12, 30), (13, 30), (14, 30), (15, 30), (16, 30), (17, 30), (18, 30), (19, 30), (19, 30), (20, 30),
    (21, 30), (22, 30), (24, 30), (25, 30),
  ]
  private static let medium = [
    (1, 10), (1, 16), (1, 26), (2, 18), (2, 24), (4, 16), (4, 18), (4, 22), (5, 22), (5, 26), (5, 30), (8, 22), (9, 22),
    (9, 24), (10, 24), (10, 28), (11, 28), (13, 26), (14, 26), (16, 26), (17, 26), (17, 28), (18, 28), (20, 28),
    (21, 28), (23, 28), (25, 28), (26, 28), (28, 28), (29, 28), (31, 28), (33, 28), (35, 28), (37, 28), (38, 28),
    (40, 28), (43, 28), (45, 28), (47, 28), (49, 28),
  ]
}
