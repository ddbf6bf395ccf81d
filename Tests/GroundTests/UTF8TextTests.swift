import Ground
import Testing

@Suite struct UTF8TextTests {
  @Test func `a text is printable ASCII if each of its bytes is, wherever a byte stands`() {
    for count in 1...20 {
      for position in 0..<count {
        for byte in UInt8.min...UInt8.max {
          var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: count)
          bytes[position] = byte
          let found = unsafe bytes.withUnsafeBytes { unsafe $0.isPrintableASCII }
          #expect(found == (0x20..<0x7F).contains(byte), "byte \(byte) at \(position) of \(count)")
        }
      }
    }
    #expect("".isPrintableASCII && !"schlüssel".isPrintableASCII)
  }
}
