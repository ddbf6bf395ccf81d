import GroupFile

/// The parser of manifests.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  _ = try? Manifest(parsing: Array(UnsafeBufferPointer(start: start, count: size)))
  return 0
}
