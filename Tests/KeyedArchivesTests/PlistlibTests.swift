import Foundation
import KeyedArchives
import TestSupport
import Testing

/// CPython's `plistlib` as a second reader: it must give the same values as raw JSON for every archive made elsewhere.
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

  @Test(.enabled(if: python != nil, "python3 is not here")) func `plistlib reads the same values from every archive`()
    throws
  {
    let names =
      SharedArchives.names("cases", ".plist").map { "cases/\($0).plist" }
      + SharedArchives.names("foundation", ".plist").map { "foundation/\($0).plist" }
    #expect(names.count == 32)
    let lines = try plistlib(names.map { "\(SharedArchives.folder ?? "")/\($0)" })
    for (name, line) in zip(names, lines) {
      let ours = try ArchiveInspection(Array(try SharedArchives.data(name))).rawJSON()
      #expect(try object(Data(ours)) == object(line), "\(name)")
    }
  }

  @Test(.enabled(if: python != nil, "python3 is not here"), arguments: ArchiveFormat.allCases)
  func `plistlib reads the same values from archives written here`(format: ArchiveFormat) throws {
    let folder = NSTemporaryDirectory() + "vault-plistlib-\(UUID().uuidString)/"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var archives: [ArchiveInspection] = []
    for name in SharedArchives.names("cases", ".plist").map({ "cases/\($0).plist" })
      + SharedArchives.names("foundation", ".plist").map({ "foundation/\($0).plist" })
    {
      let archive = try ArchiveInspection(Array(try SharedArchives.data(name)))
      try Data(archive.archived(as: format)).write(to: URL(fileURLWithPath: folder + "\(archives.count)"))
      archives.append(archive)
    }
    #expect(archives.count == 32)
    for (archive, line) in zip(archives, try plistlib(archives.indices.map { folder + "\($0)" })) {
      #expect(try object(Data(archive.rawJSON())) == object(line))
      // Reading and writing again gives the same bytes.
      let written = try archive.archived(as: format)
      #expect(try ArchiveInspection(written).archived(as: format) == written)
    }
  }

  /// The values that `plistlib` reads from each file, as JSON.
  private func plistlib(_ paths: [String]) throws -> [Data] {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: Self.python ?? "")
    process.arguments = ["-c", Self.program] + paths
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let lines = String(decoding: output, as: UTF8.self).split(separator: "\n").map { Data($0.utf8) }
    try #require(lines.count == paths.count)
    return lines
  }

  private func object(_ json: Data) throws -> NSDictionary? {
    try JSONSerialization.jsonObject(with: json) as? NSDictionary
  }
}
