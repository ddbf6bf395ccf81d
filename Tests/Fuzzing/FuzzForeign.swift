@testable import Exchange
@testable import ForeignStores

/// Fuzzes the readers of other programs' files that are not behind a passphrase. The first byte chooses the format.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: size))
  let formats: [ForeignFormat] = [.keepassXML, .bitwarden, .onePassword, .keychain, .yaml, .kdbx]
  guard let first = bytes.first else { return 0 }
  var lines: [UInt8] = []
  do throws(ImportFault) {
    try ForeignFile(Array(bytes.dropFirst())).read(as: formats[Int(first) % formats.count]) { line in
      lines += line.json + [0x0A]
    }
  } catch { return 0 }
  // Entries that were read can be passed on.
  do throws(ImportFault) { _ = try ImportedItems(lines: lines + EntryLine.end.json) } catch {
    preconditionFailure(error.words)
  }
  return 0
}
