internal import Sealing

/// 160 random bits that open a slot, in a form that people can write on paper (format article, "The recovery code").
///
/// Eight groups of five characters in Crockford's base 32, which reads I, L and O as 1, 1 and 0. Four characters hold
/// 20 bits; the fifth checks them and the group's position. A single mistyped character, two characters exchanged
/// within a group, and two exchanged groups are always found and named; any other error in a group in 31 of 32 cases.
struct RecoveryCode: Sendable {
  private let bits: GuardedBytes

  static let byteCount = 20
  static let groupCount = 8
  private static let valuesInGroup = 4
  /// The number of characters in a group: four for the value, one for the check.
  static let groupLength = valuesInGroup + 1
  /// The length of the text, with hyphens between the groups.
  static let textLength = groupCount * (groupLength + 1) - 1

  static func random() throws(SealingError) -> RecoveryCode {
    // `Key.random` produces the random bytes in guarded memory.
    let key = try Key.random()
    return try unsafe key.withUnsafeBytes { (bytes) throws(SealingError) in try unsafe RecoveryCode(copying: bytes) }
  }

  /// The code of the first 20 bytes; the caller wipes the original.
  init(copying bytes: UnsafeRawBufferPointer) throws(SealingError) {
    bits = try unsafe GuardedBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[..<RecoveryCode.byteCount]))
  }

  func key() throws(SealingError) -> Key { try Key.hash(.recovery, bits) }

  /// The text: upper case, with hyphens between the groups.
  func text() throws(SealingError) -> GuardedBytes {
    let text = try GuardedBytes(count: RecoveryCode.textLength)
    unsafe text.withUnsafeMutableBytes { text in
      unsafe bits.withUnsafeBytes { bits in
        for group in 0..<RecoveryCode.groupCount {
          let start = group * (RecoveryCode.groupLength + 1)
          if group > 0 { unsafe text[start - 1] = UInt8(ascii: "-") }
          var check = UInt8(group + 1)
          for index in 0..<RecoveryCode.valuesInGroup {
            let value = unsafe RecoveryCode.value(group * RecoveryCode.valuesInGroup + index, of: bits)
            unsafe text[start + index] = RecoveryCode.alphabet[Int(value)]
            check = RecoveryCode.checking(value, after: check)
          }
          unsafe text[start + RecoveryCode.valuesInGroup] = RecoveryCode.alphabet[Int(check)]
        }
      }
    }
    return text
  }

  /// A code as typed: in either case, with spaces, hyphens or nothing between groups, `O` for 0, `I` and `L` for 1.
  ///
  /// - Throws: `mistypedCode`, which names the groups; `storage`.
  init(parsing text: GuardedBytes) throws(VaultError) {
    let typed = try sealing(Typed(text))
    if let defect = typed.defect { throw .mistypedCode(defect) }
    bits = try sealing(typed.bits())
  }

  /// The values of the characters of a typed text.
  private struct Typed {
    private static let count = groupCount * groupLength
    /// The value for a character outside the alphabet.
    private static let unknown: UInt8 = 0xFF

    private let values: GuardedBytes
    private var characterCount = 0
    /// The number of characters in each part between spaces or hyphens.
    private var parts: [Int] = []

    init(_ text: GuardedBytes) throws(SealingError) {
      values = try GuardedBytes(count: Typed.count)
      var isInPart = false
      unsafe values.withUnsafeMutableBytes { values in
        unsafe text.withUnsafeBytes { text in
          for index in text.indices {
            let byte = unsafe text[index]
            // A continuation byte of a non-ASCII character, whose first byte was counted as unknown.
            if byte & 0xC0 == 0x80 { continue }
            if [UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "\t")].contains(byte) {
              isInPart = false
              continue
            }
            if !isInPart { parts.append(0) }
            isInPart = true
            parts[parts.count - 1] += 1
            if characterCount < Typed.count {
              unsafe values[characterCount] = RecoveryCode.value(of: byte) ?? Typed.unknown
            }
            characterCount += 1
          }
        }
      }
    }

    var defect: RecoveryCodeDefect? {
      if parts.count == groupCount, let group = parts.firstIndex(where: { $0 != groupLength }) {
        return .groupLength(group + 1, count: parts[group])
      }
      guard characterCount == Typed.count else { return .length(characterCount) }
      let places = (0..<groupCount).map(place)
      let wrong = (1...groupCount).filter { places[$0 - 1] != $0 }
      guard !wrong.isEmpty else { return nil }
      return wrong.compactMap { places[$0 - 1] }.sorted() == wrong ? .misplaced(wrong) : .mistyped(wrong)
    }

    /// The position, from 1, that agrees with the group's check character; `nil` if none does.
    private func place(of group: Int) -> Int? {
      unsafe values.withUnsafeBytes { values in
        let group = unsafe UnsafeRawBufferPointer(rebasing: values[group * groupLength..<(group + 1) * groupLength])
        guard unsafe !group.contains(Typed.unknown) else { return nil }
        return (1...groupCount).first { place in
          var check = UInt8(place)
          for index in 0..<valuesInGroup { check = checking(unsafe group[index], after: check) }
          return unsafe check == group[valuesInGroup]
        }
      }
    }

    func bits() throws(SealingError) -> GuardedBytes {
      let bits = try GuardedBytes(count: byteCount)
      unsafe bits.withUnsafeMutableBytes { bits in
        unsafe values.withUnsafeBytes { values in
          var waiting: UInt32 = 0
          var waitingCount = 0
          var next = 0
          for index in values.indices where index % groupLength < valuesInGroup {
            waiting = unsafe waiting << 5 | UInt32(values[index])
            waitingCount += 5
            guard waitingCount >= 8 else { continue }
            waitingCount -= 8
            unsafe bits[next] = UInt8(truncatingIfNeeded: waiting >> UInt32(waitingCount))
            next += 1
          }
        }
      }
      return bits
    }
  }

  /// Crockford's base 32: no I, L, O and U.
  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

  private static func value(of character: UInt8) -> UInt8? {
    let isLowerCase = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character)
    switch isLowerCase ? character - 0x20 : character {
    case UInt8(ascii: "O"): return 0
    case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
    case let upperCase: return alphabet.firstIndex(of: upperCase).map { UInt8($0) }
    }
  }

  /// The five bits of `bits` from the one numbered 5 × `index`, the highest bit of a byte first.
  private static func value(_ index: Int, of bits: UnsafeRawBufferPointer) -> UInt8 {
    let (byte, bit) = (index * 5).quotientAndRemainder(dividingBy: 8)
    let high = unsafe UInt16(bits[byte]) << 8
    let low = unsafe byte + 1 < bits.count ? UInt16(bits[byte + 1]) : 0
    return UInt8(truncatingIfNeeded: (high | low) >> UInt16(11 - bit)) & 31
  }

  /// One step of the check: `2 × (check ⊕ value)` in the field of 32 elements modulo x^5 + x^2 + 1.
  ///
  /// The check begins as the group's number, and each value is multiplied by a different power of 2. So changing one of
  /// the five characters, exchanging two of them, or moving the group always changes the check.
  private static func checking(_ value: UInt8, after check: UInt8) -> UInt8 {
    let sum = check ^ value
    return sum & 16 == 0 ? sum << 1 : (sum << 1 ^ 0b100101)
  }
}

extension Label { fileprivate static let recovery = Label("vault1.recovery") }
