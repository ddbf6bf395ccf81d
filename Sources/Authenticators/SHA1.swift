internal import Glibc

/// SHA-1 (RFC 3174), only for the one-time codes of services that use it. Its collisions are known, but HMAC does not
/// depend on collision resistance.
enum SHA1 {
  private static let blockByteCount = 64

  /// The code (HMAC, RFC 2104) of `message` under a key of any length.
  static func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
    var block = key.count > blockByteCount ? digest(key) : key
    block += [UInt8](repeating: 0, count: blockByteCount - block.count)
    var inner = block.map { $0 ^ 0x36 } + message
    var outer = block.map { $0 ^ 0x5C } + digest(inner)
    defer {
      block.wipe()
      inner.wipe()
      outer.wipe()
    }
    return digest(outer)
  }

  static func digest(_ message: [UInt8]) -> [UInt8] {
    var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    let bitCount = UInt64(message.count) * 8
    var padded = message + [0x80]
    while padded.count % blockByteCount != 56 { padded.append(0) }
    for shift in stride(from: 56, through: 0, by: -8) { padded.append(UInt8(truncatingIfNeeded: bitCount >> shift)) }
    for start in stride(from: 0, to: padded.count, by: blockByteCount) {
      mix(padded[start..<start + blockByteCount], into: &state)
    }
    padded.wipe()
    return state.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) } }
  }

  private static func mix(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
    var words = [UInt32](repeating: 0, count: 80)
    for (index, byte) in block.enumerated() { words[index / 4] = words[index / 4] << 8 | UInt32(byte) }
    for index in 16..<80 {
      words[index] = rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1)
    }
    var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
    for (index, word) in words.enumerated() {
      let (function, constant): (UInt32, UInt32) =
        switch index {
        case ..<20: ((b & c) | (~b & d), 0x5A82_7999)
        case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
        case ..<60: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
        default: (b ^ c ^ d, 0xCA62_C1D6)
        }
      (a, b, c, d, e) = (rotated(a, 5) &+ function &+ e &+ constant &+ word, a, rotated(b, 30), c, d)
    }
    for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
  }

  private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
}

extension [UInt8] {
  /// Overwrites the bytes with zeros.
  fileprivate mutating func wipe() {
    unsafe withUnsafeMutableBytes { unsafe explicit_bzero($0.baseAddress!, $0.count) }
  }
}
