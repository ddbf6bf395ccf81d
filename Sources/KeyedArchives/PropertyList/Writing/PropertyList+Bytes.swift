extension PropertyList {
  /// The bytes of the list in a format. The same list always gives the same bytes.
  ///
  /// - Throws: `notInXML`.
  package func bytes(_ format: ArchiveFormat) throws(ArchiveError) -> [UInt8] { try bytes(format, within: .none) }

  /// - Throws: `notInXML`, and `overLimit` if XML would be longer than `limit`. (The binary format keeps values shared,
  ///   so it never exceeds the limit.)
  func bytes(_ format: ArchiveFormat, within limit: OutputLimit) throws(ArchiveError) -> [UInt8] {
    switch format {
    case .binary: BinaryPropertyListWriter.bytes(of: self)
    case .xml: try XMLPropertyListWriter.bytes(of: self, within: limit)
    }
  }
}
