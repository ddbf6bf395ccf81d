import KeyedArchives

/// Both parsers of property lists, the table, and everything that inspection writes.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: size))
  guard let archive = try? ArchiveInspection(bytes) else { return 0 }
  _ = try? archive.rawJSON()
  _ = try? archive.json()
  _ = try? archive.outline()
  _ = try? archive.rawOutline()
  try? archive.check(allowing: ["NSSet"])
  return 0
}
