import Foundation
import KeyedArchives
import TestSupport
import Testing

/// CPython's `plistlib` as a second reader: it and the raw form must say the same of every archive made elsewhere.
@Suite(.enabled(if: SharedArchives.isPresent, "the folder of archives made elsewhere is not here"))
struct PlistlibTests {
  private static let program = """
    import base64, json, plistlib, sys
    def form(value):
        if isinstance(value, plistlib.UID): return {"$uid": value.data}
        if isinstance(value, bytes): return {"$data": base64.b64encode(value).decode()}
        if isinstance(value, list): return [form(each) for each in value]
        if isinstance(value, dict):
            if list(value) == ["CF$UID"]: return {"$uid": value["CF$UID"]}
            return {key: form(each) for key, each in value.items()}
        return value
    for path in sys.argv[1:]:
        with open(path, "rb") as file: print(json.dumps(form(plistlib.load(file)), sort_keys=True))
    """

  private static let python = ["/usr/bin/python3", "/usr/local/bin/python3"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  @Test(.enabled(if: python != nil, "python3 is not here")) func `plistlib reads the same from every file`() throws {
    let names =
      SharedArchives.names("cases", ".plist").map { "cases/\($0).plist" }
      + SharedArchives.names("foundation", ".plist").map { "foundation/\($0).plist" }
    #expect(names.count == 32)
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: Self.python ?? "")
    process.arguments = ["-c", Self.program] + names.map { "\(SharedArchives.folder ?? "")/\($0)" }
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
    #expect(lines.count == names.count)
    for (name, line) in zip(names, lines) {
      let ours = try ArchiveInspection(Array(try SharedArchives.data(name))).rawJSON()
      #expect(try object(Data(ours)) == object(Data(line.utf8)), "\(name)")
    }
  }

  private func object(_ json: Data) throws -> NSDictionary? {
    try JSONSerialization.jsonObject(with: json) as? NSDictionary
  }
}
