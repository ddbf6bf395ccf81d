@testable import GroupFile

/// Fuzzes the parsers of a group's file. The first byte selects the parser for the rest. If a value can be written,
/// writing it must give the bytes that were read.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  guard size > 0 else { return 0 }
  let bytes = Array(UnsafeBufferPointer(start: start + 1, count: size - 1))
  switch start[0] % 5 {
  case 0: try? ContainerHeader.check(bytes)
  case 1: if let roster = try? Roster(parsing: bytes) { precondition(roster.body() == bytes) }
  case 2: if let manifest = try? Manifest(parsing: bytes) { precondition(manifest.body() == bytes) }
  case 3: if let attributes = try? Attributes(decoding: bytes) { precondition((try? attributes.encoded()) == bytes) }
  default: if let record = try? WitnessRecord(parsing: bytes) { precondition(record.serialized() == bytes) }
  }
  return 0
}
