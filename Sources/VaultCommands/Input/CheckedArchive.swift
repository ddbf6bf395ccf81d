internal import KeyedArchives
internal import Vault

/// A keyed archive that is about to become an item, checked to contain only allowed classes.
struct CheckedArchive {
  let bytes: WipedBytes
  let typeName: String?

  /// Reads the archive at `path`, or from standard input for `-`.
  ///
  /// - Throws: errors with status 13 if it is broken, 19 if it contains another class, 20 over a limit; and those of
  ///   reading a file.
  init(_ path: String, _ allowed: [String], _ streams: Streams) throws(Failure) {
    let read = try ArchiveInput(path: path).read(streams)
    guard read.count <= ValueInput.limit else {
      throw Failure(.overLimit, "the archive is larger than 1048576 bytes (1 MiB)")
    }
    do throws(ArchiveError) {
      let inspection = try ArchiveInspection(read)
      try inspection.check(allowing: allowed)
      typeName = inspection.rootTypeName
    } catch {
      throw Failure(error)
    }
    bytes = try WipedBytes(capacity: read.count)
    unsafe read.withUnsafeBytes { unsafe bytes.append($0) }
  }
}
