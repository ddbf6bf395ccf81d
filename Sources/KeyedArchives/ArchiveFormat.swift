/// The two formats of an archive. They are the formats of property lists.
public enum ArchiveFormat: String, Sendable, CaseIterable {
  /// The binary format, `bplist00`.
  case binary
  /// The XML format. It cannot represent control characters in strings.
  case xml
}
