import GroupFile

/// The decoding of attributes.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  _ = try? Attributes(decoding: Array(UnsafeBufferPointer(start: start, count: size)))
  return 0
}
