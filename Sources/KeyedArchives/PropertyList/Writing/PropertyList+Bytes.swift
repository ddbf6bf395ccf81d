extension PropertyList {
  /// The list in a format, always the same bytes for the same list.
  ///
  /// - Throws: `notInXML`.
  package func bytes(_ format: ArchiveFormat) throws(ArchiveError) -> [UInt8] {
    switch format {
    case .binary: BinaryPropertyListWriter.bytes(of: self)
    case .xml: try XMLPropertyListWriter.bytes(of: self)
    }
  }
}
