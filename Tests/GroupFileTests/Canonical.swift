import Testing

/// The property every parser of the format has: it accepts exactly the bytes that the serializer writes.
enum Canonical {
  /// Truncates, extends and flips bits of `bytes`. Whatever `parse` accepts must serialize to the bytes that were parsed.
  ///
  /// - Parameter parse: parses and serializes again; throws if it refuses the bytes.
  /// - Returns: how many of the flipped inputs were accepted.
  @discardableResult
  static func check(
    _ bytes: [UInt8], _ sourceLocation: SourceLocation = #_sourceLocation, _ parse: ([UInt8]) throws -> [UInt8]
  ) throws -> Int {
    #expect(try parse(bytes) == bytes, sourceLocation: sourceLocation)
    for count in 0..<bytes.count {
      expectSameOrRefused(Array(bytes.prefix(count)), "cut to \(count)", sourceLocation, parse)
    }
    for added: UInt8 in [0, 1, 255] { expectSameOrRefused(bytes + [added], "one more", sourceLocation, parse) }
    var taken = 0
    for bit in 0..<bytes.count * 8 {
      var changed = bytes
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      if expectSameOrRefused(changed, "bit \(bit)", sourceLocation, parse) { taken += 1 }
    }
    return taken
  }

  @discardableResult
  private static func expectSameOrRefused(
    _ bytes: [UInt8], _ what: String, _ sourceLocation: SourceLocation, _ parse: ([UInt8]) throws -> [UInt8]
  ) -> Bool {
    guard let again = try? parse(bytes) else { return false }
    #expect(again == bytes, "\(what)", sourceLocation: sourceLocation)
    return true
  }
}
