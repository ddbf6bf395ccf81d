import KeyedArchives

/// Fuzzes the reader of StructArchiver's layout.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  guard let value = try? StructArchive(Array(UnsafeBufferPointer(start: start, count: size))) else { return 0 }
  _ = try? value.json()
  _ = value.outline()
  return 0
}
