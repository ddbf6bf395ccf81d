import KeyedArchives

/// Fuzzes all parsers of property lists, the table, and everything that inspection writes.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: size))
  guard let archive = (try? ArchiveInspection(bytes)) ?? (try? ArchiveInspection(json: bytes)) else { return 0 }
  if let json = try? archive.rawJSON(), let binary = try? archive.archived(as: .binary) {
    // Raw JSON must give the same archive when it is read back.
    let read = try? ArchiveInspection(json: json).archived(as: .binary)
    precondition(read == nil || read == binary)
  }
  _ = try? archive.archived(as: .xml)
  _ = try? archive.json()
  _ = try? archive.outline()
  _ = try? archive.rawOutline()
  try? archive.check(allowing: ["NSSet"])
  return 0
}
