/// The two formats of an archive, which are those of property lists.
public enum ArchiveFormat: String, Sendable, CaseIterable {
  /// The binary format, `bplist00`.
  case binary
  /// The XML format; it has no form for control characters in texts.
  case xml
}
