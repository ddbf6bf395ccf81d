internal import KeyedArchives
internal import Vault

/// A keyed archive on its way into an item: looked into, and of allowed classes only.
struct CheckedArchive {
  let bytes: WipedBytes
  let typeName: String?

  /// Reads the archive at `path`, or from standard input for `-`.
  ///
  /// - Throws: 13 where it is broken, 19 where it holds another class, 20 beyond a limit; and as for any file.
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
    unsafe bytes.appendBytes { free in
      unsafe free.copyBytes(from: read)
      return read.count
    }
  }
}
