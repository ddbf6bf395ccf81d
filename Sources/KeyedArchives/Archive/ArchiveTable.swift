/// A keyed archive as an immutable table of records. Its envelope is checked, each reference points to an object, and
/// each object's class is known by name. No object has been built.
package final class ArchiveTable: Sendable {
  /// What an entry of the table of objects is.
  package enum Record: Sendable {
    /// The entry at 0, which represents nil.
    case null
    /// A string, number or data.
    case value
    /// An object with fields; the position of its class in `classes`.
    case instance(Int)
    /// The description of a class; its position in `classes`.
    case classDescription(Int)
  }

  package let list: PropertyList
  package let keys: KeyTable
  package let inputBytes: Int
  package let archiver: String
  package let version: Int128
  /// For each object, its node.
  package let objects: ArraySlice<UInt32>
  package let records: [Record]
  package let classes: [ClassDescription]
  /// The node of `$top`.
  package let top: Int
  package let graph: ReferenceGraph

  /// Reads an archive. Throws if its bytes, its envelope or its table are invalid, or if it exceeds a limit.
  package convenience init(_ input: [UInt8], limits: ArchiveLimits) throws(ArchiveError) {
    try self.init(PropertyList(input, limits: limits), inputBytes: input.count, limits: limits)
  }

  /// Reads an archive from a list that was parsed from `inputBytes` bytes within `limits`.
  init(_ list: PropertyList, inputBytes: Int, limits: ArchiveLimits) throws(ArchiveError) {
    let keys = try KeyTable(list)
    let envelope = try Envelope(list)
    guard envelope.objects.count <= limits.objects else {
      throw .overLimit(.objects, allowed: limits.objects, at: ArchivePath())
    }
    try Self.checkReferences(list, objectCount: envelope.objects.count)
    var reader = RecordReader(list, objects: envelope.objects, keys: keys, limits: limits)
    try reader.read()
    self.list = list
    self.keys = keys
    self.inputBytes = inputBytes
    archiver = envelope.archiver
    version = envelope.version
    objects = envelope.objects
    top = envelope.top
    records = reader.records
    classes = reader.classes
    graph = try ReferenceGraph(list, keys: keys, objects: envelope.objects, records: reader.records, top: envelope.top)
  }

  /// Throws unless every reference in the list points into the table, whether or not it is used.
  private static func checkReferences(_ list: PropertyList, objectCount: Int) throws(ArchiveError) {
    for node in list.nodes where node.kind == .uid && node.payload >= UInt64(objectCount) {
      throw .brokenArchive(.referenceOutOfRange, at: ArchivePath())
    }
  }

  /// The node of the object with `number`.
  package func node(ofObject number: Int) -> Int { Int(objects[objects.startIndex + number]) }

  /// Throws unless Foundation would decode the envelope: the archiver is NSKeyedArchiver and the version 100000.
  package func checkEnvelope() throws(ArchiveError) {
    guard archiver == "NSKeyedArchiver" else { throw .brokenArchive(.foreignArchiver, at: ArchivePath()) }
    guard version == 100_000 else { throw .brokenArchive(.otherVersion, at: ArchivePath()) }
  }
}

/// The four entries of an archive's outermost dictionary.
private struct Envelope {
  package let archiver: String
  package let version: Int128
  package let objects: ArraySlice<UInt32>
  package let top: Int

  package init(_ list: PropertyList) throws(ArchiveError) {
    func broken(_ defect: ArchiveDefect) -> ArchiveError { .brokenArchive(defect, at: ArchivePath()) }
    let outer = list.nodes[list.top]
    guard outer.kind == .dictionary else { throw broken(.topIsNotADictionary) }
    guard let archiver = list.value("$archiver", in: outer).flatMap({ list.text(list.nodes[$0]) }) else {
      throw broken(.noArchiver)
    }
    guard let version = list.value("$version", in: outer).flatMap({ list.integer(list.nodes[$0]) }) else {
      throw broken(.noVersion)
    }
    guard let objects = list.value("$objects", in: outer), list.nodes[objects].kind == .array else {
      throw broken(.noObjects)
    }
    guard let top = list.value("$top", in: outer), list.nodes[top].kind == .dictionary else { throw broken(.noTop) }
    self.archiver = archiver
    self.version = version
    self.objects = list.elements(list.nodes[objects])
    self.top = top
    guard let first = self.objects.first, list.isText(list.nodes[Int(first)], "$null") else { throw broken(.noNull) }
  }
}
