extension ArchiveInspection {
  /// The whole archive as it is, as JSON (UTF-8) without loss, in the order of its bytes: one object with `$archiver`,
  /// `$version`, `$top` and `$objects`.
  ///
  /// References are `{"$uid": n}`, data is `{"$data": base64}`, a date `{"$date": seconds since 2001}`. Integers are
  /// exact, up to 128 bits; reals read back to the same bits, and those that are not finite are the strings `nan`, `inf`
  /// and `-inf`. Half of a surrogate pair is an escape. Throws where the text would be out of proportion to the archive.
  public func rawJSON() throws(ArchiveError) -> [UInt8] {
    var writer = JSONWriter(inputBytes: table.inputBytes)
    var walk = RawWalk(table)
    try walk.write(table.list.top, to: &writer)
    return writer.bytes
  }

  /// The table of objects as lines for a person (UTF-8): the envelope, then one line for each object, with its number and
  /// what it is in the form of ``rawJSON()``. Throws where the text would be out of proportion to the archive.
  public func rawOutline() throws(ArchiveError) -> [UInt8] {
    var writer = JSONWriter(inputBytes: table.inputBytes)
    var walk = RawWalk(table)
    writer.text("$archiver: ")
    try writer.string(archiver)
    writer.text("\n$version: \(version)\n$top: ")
    try walk.write(table.top, to: &writer)
    for number in table.records.indices {
      writer.text("\n[\(number)] ")
      try walk.write(table.node(ofObject: number), to: &writer)
    }
    writer.text("\n")
    return writer.bytes
  }
}

/// Writes a property list with a stack of its own.
private struct RawWalk {
  private let table: ArchiveTable
  private var stack: [(node: Node, next: Int)] = []

  init(_ table: ArchiveTable) { self.table = table }

  mutating func write(_ top: Int, to writer: inout JSONWriter) throws(ArchiveError) {
    try begin(top, &writer)
    while let (node, next) = stack.last {
      let size = node.size
      guard next < size else {
        stack.removeLast()
        writer.close(node.kind == .array ? "]" : "}")
        continue
      }
      stack[stack.count - 1].next += 1
      if node.kind == .dictionary {
        try writer.key(table.keys.name(table.list.children[node.start + next]))
        try begin(Int(table.list.children[node.start + size + next]), &writer)
      } else {
        try begin(Int(table.list.children[node.start + next]), &writer)
      }
    }
  }

  private mutating func begin(_ position: Int, _ writer: inout JSONWriter) throws(ArchiveError) {
    let node = table.list.nodes[position]
    switch node.kind {
    case .array, .dictionary:
      writer.open(node.kind == .array ? "[" : "{")
      stack.append((node, 0))
    case .uid: try tagged("$uid", &writer) { writer throws(ArchiveError) in try writer.integer(Int128(node.payload)) }
    case .date:
      try tagged("$date", &writer) { writer throws(ArchiveError) in try writer.real(Double(bitPattern: node.payload)) }
    default: try writer.scalar(node, table.list)
    }
  }

  private func tagged(
    _ tag: String, _ writer: inout JSONWriter, _ body: (inout JSONWriter) throws(ArchiveError) -> Void
  ) throws(ArchiveError) {
    writer.open("{")
    try writer.key(tag)
    try body(&writer)
    writer.close("}")
  }
}

extension JSONWriter {
  /// A value that is neither a container nor a reference.
  mutating func scalar(_ node: Node, _ list: PropertyList) throws(ArchiveError) {
    switch node.kind {
    case .bool: try bool(node.payload != 0)
    case .integer, .unsigned, .wide: try integer(list.integer(node) ?? 0)
    case .real, .date: try real(Double(bitPattern: node.payload))
    case .data: try data(list.rawBytes(node))
    case .utf16: try string(codeUnits: list.codeUnits(node))
    default: try string(list.text(node) ?? "")
    }
  }
}
