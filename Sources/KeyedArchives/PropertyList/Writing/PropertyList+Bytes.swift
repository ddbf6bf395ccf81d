extension PropertyList {
  /// The list in a format, always the same bytes for the same list.
  ///
  /// - Throws: `notInXML`.
  package func bytes(_ format: ArchiveFormat) throws(ArchiveError) -> [UInt8] { try bytes(format, within: .none) }

  /// - Throws: `notInXML`, and where XML would be longer than `limit`. (The binary format keeps what the list shares, so
  ///   it never is.)
  func bytes(_ format: ArchiveFormat, within limit: OutputLimit) throws(ArchiveError) -> [UInt8] {
    switch format {
    case .binary: BinaryPropertyListWriter.bytes(of: self)
    case .xml: try XMLPropertyListWriter.bytes(of: self, within: limit)
    }
  }
}
