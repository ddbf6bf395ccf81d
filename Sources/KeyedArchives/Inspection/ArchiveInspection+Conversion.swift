extension ArchiveInspection {
  /// The archive in a format, with every object, key and value, including objects that nothing refers to.
  ///
  /// - Returns: always the same bytes for the same archive. Single-precision numbers become double precision in XML.
  /// - Throws: ``ArchiveError/notInXML(_:)``, and `overLimit` if the result would be longer than
  ///   ``ArchiveLimits/output`` allows.
  public func archived(as format: ArchiveFormat) throws(ArchiveError) -> [UInt8] {
    try table.list.bytes(format, within: outputLimit)
  }

  /// The type of the value archived under `root`: the name of the Swift type if one is recorded, otherwise the object's
  /// class.
  public var rootTypeName: String? {
    if let recorded = topNode("vault.type"), recorded.size <= limits.classNameBytes,
      let name = table.list.name(recorded)
    {
      return name
    }
    guard let root = topNode("root"), root.kind == .uid else { return nil }
    let number = Int(root.payload)
    switch table.records[number] {
    case .instance(let position): return table.classes[position].name
    case .value:
      let node = table.list.nodes[table.node(ofObject: number)]
      return node.isString ? "NSString" : node.kind == .data ? "NSData" : "NSNumber"
    case .null, .classDescription: return nil
    }
  }

  private func topNode(_ key: String) -> Node? {
    let position = table.keys.number(of: key).flatMap { table.keys.value($0, at: table.top, in: table.list) }
    return position.map { table.list.nodes[$0] }
  }
}
