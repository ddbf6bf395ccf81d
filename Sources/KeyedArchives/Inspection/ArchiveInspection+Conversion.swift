extension ArchiveInspection {
  /// The archive in a format, with every object, key and value that it has, also those that nothing leads to.
  ///
  /// - Returns: always the same bytes for the same archive. Numbers of single precision are of double precision in XML.
  /// - Throws: ``ArchiveError/notInXML(_:)``.
  public func archived(as format: ArchiveFormat) throws(ArchiveError) -> [UInt8] { try table.list.bytes(format) }

  /// The name of what is archived under `root`: of a Swift type where one is recorded, or else of the object's class.
  public var rootTypeName: String? {
    for field in top where field.key == "vault.type" {
      if case .string(let name, _) = field.value { return name }
    }
    guard let root = top.first(where: { $0.key == "root" }), case .reference(let number) = root.value else {
      return nil
    }
    switch object(number) {
    case .instance(let description, _): return description.name
    case .value(.string): return "NSString"
    case .value(.data): return "NSData"
    case .value: return "NSNumber"
    default: return nil
    }
  }
}
