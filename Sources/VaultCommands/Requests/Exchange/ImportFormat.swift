internal import Exchange
internal import VaultStore

/// What `vault import` can read.
enum ImportFormat: String, CaseIterable {
  case dotenv

  /// For hints.
  static var names: String { "formats: " + allCases.map(\.rawValue).joined(separator: ", ") }

  /// Reads the file.
  ///
  /// - Throws: what keeps it from being read; a defect with the file and the place, never with its text.
  func items(of file: ImportFile, _ streams: Streams) throws -> ImportedItems {
    switch self {
    case .dotenv:
      let text = try file.text(streams)
      do throws(EnvironmentFile.Fault) {
        return try EnvironmentFile(text).importedItems
      } catch {
        throw Failure(.usage, "\(file.name), line \(error.line): \(error.words)")
      }
    }
  }
}
