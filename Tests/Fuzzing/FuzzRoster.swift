import GroupFile

/// The parser of rosters.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  _ = try? Roster(parsing: Array(UnsafeBufferPointer(start: start, count: size)))
  return 0
}
