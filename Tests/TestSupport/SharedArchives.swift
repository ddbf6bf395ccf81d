package import Foundation

/// The folder of archives that were made elsewhere: the one that `VAULT_SHARED_ARCHIVES` names, or one next to the
/// project.
package enum SharedArchives {
  package static let folder: String? = {
    let named = ProcessInfo.processInfo.environment["VAULT_SHARED_ARCHIVES"]
    let beside = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "../../../shared/archives"
    ).standardizedFileURL.path
    return [named, beside].compactMap { $0 }.first { FileManager.default.fileExists(atPath: $0 + "/cases") }
  }()

  package static let isPresent = folder != nil

  /// The names of the files in a folder that end in `suffix`, without the suffix; empty if the folder is missing.
  package static func names(_ part: String, _ suffix: String) -> [String] {
    guard let folder, let files = try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(part)") else {
      return []
    }
    return files.filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(suffix.count)) }.sorted()
  }

  package static func data(_ name: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: "\(folder ?? "")/\(name)"))
  }
}
