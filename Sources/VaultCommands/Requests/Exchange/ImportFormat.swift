internal import Exchange
internal import KeyedArchives
internal import VaultStore

/// What `vault import` can read.
enum ImportFormat: String, CaseIterable {
  case dotenv, csv, plist

  /// For hints.
  static var names: String { "formats: " + allCases.map(\.rawValue).joined(separator: ", ") }

  /// Reads the file.
  ///
  /// - Throws: what keeps it from being read; a defect with the file and the place, never with its text.
  func items(of file: ImportFile, _ streams: Streams) throws(Failure) -> ImportedItems {
    do {
      switch self {
      case .dotenv: return try EnvironmentFile(file.text(streams)).importedItems
      case .csv: return try CSVItems.items(of: file.text(streams))
      case .plist:
        let bytes = try unsafe file.read(streams).withUnsafeBytes { unsafe Array($0) }
        return try PropertyListItems.items(of: PropertyList(bytes, limits: .standard))
      }
    } catch let fault as EnvironmentFile.Fault {
      throw Failure(.usage, "\(file.name), line \(fault.line): \(fault.words)")
    } catch let fault as ImportFault {
      let place = fault.place.map { ", \(UTF8Text.onOneLine($0))" } ?? ""
      throw Failure(.usage, "\(file.name)\(place): \(fault.words)")
    } catch let error as ArchiveError {
      let failure = Failure(error)
      throw Failure(failure.status, "\(file.name): \(failure.message)", hint: failure.hint)
    } catch {
      throw error as? Failure ?? Failure(.unexpected, "something unexpected happened")
    }
  }
}
