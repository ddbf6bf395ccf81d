/// Changes binary property lists while keeping them parsable, so that the fuzzer reaches the code after the parser. It
/// redirects and removes references, exchanges objects, and changes numbers. One time in three, and always for other
/// bytes, the fuzzer's own mutations apply.
@_silgen_name("LLVMFuzzerMutate")
private func defaultMutation(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ maximum: Int) -> Int

@_cdecl("LLVMFuzzerCustomMutator")
func mutate(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ maximum: Int, _ seed: CUnsignedInt) -> Int {
  var random = Stream(state: UInt64(seed) &+ 0x9E37_79B9_7F4A_7C15)
  guard random.below(3) > 0, var list = Layout(UnsafeMutableBufferPointer(start: data, count: size)) else {
    return defaultMutation(data, size, maximum)
  }
  for _ in 0...random.below(3) { list.change(&random) }
  return size
}

/// Random numbers from a seed.
private struct Stream {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state >> 16
  }

  mutating func below(_ bound: Int) -> Int { bound > 0 ? Int(next() % UInt64(bound)) : 0 }
}

/// The layout of a binary list.
private struct Layout {
  private let bytes: UnsafeMutableBufferPointer<UInt8>
  private let offsetSize: Int
  private let referenceSize: Int
  private let count: Int
  private let table: Int

  init?(_ bytes: UnsafeMutableBufferPointer<UInt8>) {
    guard bytes.count > 40, bytes[0] == UInt8(ascii: "b"), bytes[7] == UInt8(ascii: "0") else { return nil }
    self.bytes = bytes
    let trailer = bytes.count - 32
    func number(_ start: Int) -> Int { (0..<8).reduce(0) { $0 << 8 | Int(bytes[start + $1]) } & 0xFFFF_FFFF }
    offsetSize = Int(bytes[trailer + 6])
    referenceSize = Int(bytes[trailer + 7])
    count = number(trailer + 8)
    table = number(trailer + 24)
    guard (1...4).contains(offsetSize), (1...2).contains(referenceSize), count > 0, count < 65_536,
      table + count * offsetSize <= trailer
    else { return nil }
  }

  private func offset(_ object: Int) -> Int {
    (0..<offsetSize).reduce(0) { $0 << 8 | Int(bytes[table + object * offsetSize + $1]) }
  }

  /// Changes a random object.
  mutating func change(_ random: inout Stream) {
    if random.below(8) == 0 { return exchange(random.below(count), random.below(count)) }
    for _ in 0..<16 {
      let position = offset(random.below(count))
      guard position >= 8, position < table else { continue }
      let low = Int(bytes[position] & 0x0F)
      switch bytes[position] >> 4 {
      case 0x0: bytes[position] ^= 1
      case 0x1, 0x2: bytes[min(position + 1 + random.below(1 << min(low, 3)), table - 1)] = interesting(&random)
      case 0x8: bytes[min(position + 1 + low, table - 1)] = UInt8(truncatingIfNeeded: random.below(count))
      case 0x4, 0x5, 0x6:
        guard low > 0, low < 15 else { continue }
        bytes[min(position + 1 + random.below(low), table - 1)] = interesting(&random)
      case 0xA, 0xD:
        guard low > 0, low < 15 else { continue }
        if random.below(4) == 0 {
          remove(from: position, count: low)
          return
        }
        let references = low * (bytes[position] >> 4 == 0xD ? 2 : 1)
        let one = position + 1 + random.below(references) * referenceSize
        guard one + referenceSize <= table else { continue }
        let target = random.below(count)
        for index in 0..<referenceSize {
          bytes[one + index] = UInt8(truncatingIfNeeded: target >> (8 * (referenceSize - 1 - index)))
        }
      default: continue
      }
      return
    }
  }

  /// Removes the last element of an array, or the last key and value of a dictionary.
  private func remove(from position: Int, count: Int) {
    let isDictionary = bytes[position] >> 4 == 0xD
    bytes[position] -= 1
    guard isDictionary else { return }
    let values = position + 1 + count * referenceSize
    for index in 0..<(count - 1) * referenceSize where values + index < table {
      bytes[values - referenceSize + index] = bytes[values + index]
    }
  }

  /// Exchanges two objects.
  private func exchange(_ one: Int, _ other: Int) {
    for index in 0..<offsetSize { bytes.swapAt(table + one * offsetSize + index, table + other * offsetSize + index) }
  }

  private func interesting(_ random: inout Stream) -> UInt8 {
    [0, 1, 0x7F, 0x80, 0xFF, UInt8(truncatingIfNeeded: random.next())][random.below(6)]
  }
}
