import Foundation
import SecureCoding

/// Both parsers of property lists, the table, and everything that inspection writes.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  let data = Data(UnsafeBufferPointer(start: start, count: size))
  guard let archive = try? SecureUnarchiver.inspect(data) else { return 0 }
  _ = try? archive.rawJSON()
  _ = try? archive.json()
  _ = try? archive.outline()
  try? archive.check(allowing: ["NSSet"])
  return 0
}
