extension ArchiveInspection {
  /// The archive as indented lines for a person: what it is, then keys and values. Objects that are referred to more than
  /// once carry `#` and their number, and stand in full once. Long text is cut; control characters do not appear.
  ///
  /// The text is UTF-8. Throws where it would be out of proportion to the archive.
  public func outline() throws(ArchiveError) -> [UInt8] {
    var outline = Outline(self)
    return Array(try outline.write().utf8)
  }
}

private struct Outline {
  private let archive: ArchiveInspection
  private let deepest: Int
  private let limit: Int
  private var text = ""
  private var uses: [Int: Int] = [:]
  private var written: Set<Int> = []

  init(_ archive: ArchiveInspection) {
    self.archive = archive
    deepest = 2 * archive.limits.effectiveDepth
    limit = archive.table.inputBytes.saturatingProduct(128).saturatingSum(1 << 20)
    for root in archive.table.graph.roots { uses[Int(root), default: 0] += 1 }
    for number in archive.table.records.indices {
      for reference in archive.table.graph.references(of: number) { uses[Int(reference), default: 0] += 1 }
    }
  }

  mutating func write() throws(ArchiveError) -> String {
    let cycles = archive.backReferences.isEmpty ? "" : ", refers back to itself"
    text = "\(Printable.name(archive.archiver)) \(archive.version), \(archive.format.rawValue) property list, "
    text += "\(archive.objectCount) objects, \(archive.depth) deep\(cycles)\n"
    for field in archive.top { try self.field(field.key, field.value, 0) }
    return text
  }

  private mutating func field(_ label: String, _ value: InspectedValue, _ depth: Int) throws(ArchiveError) {
    guard text.utf8.count <= limit else { throw .overLimit(.expansion, allowed: 128, at: ArchivePath()) }
    text += String(repeating: "  ", count: depth) + Printable.name(label) + ": "
    try self.value(value, depth)
  }

  private mutating func value(_ value: InspectedValue, _ depth: Int) throws(ArchiveError) {
    switch value {
    case .null: text += "nil\n"
    case .boolean(let value): text += "\(value)\n"
    case .integer(let value): text += "\(value)\n"
    case .real(let value): text += "\(value)\n"
    case .string(let string, _): text += "\"\(Printable.name(string))\"\n"
    case .data(let data): text += "\(data.count) bytes\n"
    case .date(let date): text += "\(UTCDate.text(secondsSince2001: date))\n"
    case .array(let elements): try list(elements, depth)
    case .dictionary(let fields):
      text += "\(fields.count) fields\n"
      guard depth < deepest else { return more(depth) }
      for field in fields { try self.field(field.key, field.value, depth + 1) }
    case .reference(let number): try object(number, depth)
    }
  }

  private mutating func list(_ elements: [InspectedValue], _ depth: Int) throws(ArchiveError) {
    text += elements.count == 1 ? "1 element\n" : "\(elements.count) elements\n"
    guard depth < deepest else { return more(depth) }
    for (index, element) in elements.enumerated() { try field("[\(index)]", element, depth + 1) }
  }

  private mutating func object(_ number: Int, _ depth: Int) throws(ArchiveError) {
    switch archive.object(number) {
    case .null: text += "nil\n"
    case .value(let value): try self.value(value, depth)
    case .classDescription(let type): text += "class \(Printable.name(type.name))\n"
    case .instance(let type, let fields):
      let mark = uses[number, default: 0] > 1 ? " #\(number)" : ""
      guard written.insert(number).inserted else {
        text += "→ \(Printable.name(type.name))\(mark)\n"
        return
      }
      text += Printable.name(type.name) + mark + "\n"
      guard depth < deepest else { return more(depth) }
      for field in fields { try self.field(field.key, field.value, depth + 1) }
    }
  }

  private mutating func more(_ depth: Int) { text += String(repeating: "  ", count: depth + 1) + "…\n" }
}
