package import Sealing

extension Padding {
  /// A padded text.
  package static func padUnguarded(_ text: [UInt8]) -> [UInt8] {
    let count = padded(count: text.count)
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
      unsafe text.withUnsafeBytes {
        unsafe pad($0, into: UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: count))
      }
      initializedCount = count
    }
  }
}
