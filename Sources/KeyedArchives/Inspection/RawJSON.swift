internal import Ground

extension ArchiveInspection {
  /// The whole archive as lossless JSON (UTF-8), in the order of its bytes: one object with `$archiver`, `$version`,
  /// `$top` and `$objects`. ``init(json:limits:)`` reads it back.
  ///
  /// References are `{"$uid": n}`, data is `{"$data": base64}`, a date `{"$date": seconds since 2001}`. Integers are
  /// exact, up to 128 bits, and have neither point nor exponent. Reals have a point or an exponent and read back to the
  /// same bits. Reals that are not finite are `{"$real": "nan"}`, `"inf"` and `"-inf"`, and single-precision reals are
  /// `{"$single": number}`. A lone surrogate is an escape.
  ///
  /// A dictionary whose first key is one of these is `{"$dictionary": {…}}`. A container that was already written,
  /// because the archive shares it, is `{"$same": n}`: the n-th container to begin, counted from 0.
  ///
  /// Throws if the text would be longer than ``ArchiveLimits/output`` allows.
  public func rawJSON() throws(ArchiveError) -> [UInt8] {
    var writer = JSONWriter(within: outputLimit)
    var walk = RawWalk(table, marksShared: true)
    try walk.write(table.list.top, to: &writer)
    return writer.bytes
  }

  /// The table of objects as lines for a person (UTF-8): the envelope, then one line for each object, with its number
  /// and its contents in the form of ``rawJSON()``, except that shared containers are written in full. Throws if the
  /// text would be longer than ``ArchiveLimits/output`` allows.
  public func rawOutline() throws(ArchiveError) -> [UInt8] {
    var writer = JSONWriter(within: outputLimit)
    var walk = RawWalk(table, marksShared: false)
    try writer.write("$archiver: ")
    try writer.string(archiver)
    try writer.write("\n$version: \(version)\n$top: ")
    try walk.write(table.top, to: &writer)
    for number in table.records.indices {
      try writer.write("\n[\(number)] ")
      try walk.write(table.node(ofObject: number), to: &writer)
    }
    try writer.write("\n")
    return writer.bytes
  }
}

/// The only key of an object that represents something other than a plain dictionary in the raw form.
enum RawTag: String {
  case uid = "$uid"
  case data = "$data"
  case date = "$date"
  case real = "$real"
  case single = "$single"
  case dictionary = "$dictionary"
  case same = "$same"
}

/// Writes a property list with an explicit stack.
private struct RawWalk {
  private let list: PropertyList
  private var stack: [Frame] = []
  /// For each container, its place in the order in which containers begin, from 1; 0 if not yet begun. Empty if shared
  /// containers are not marked.
  private var begun: [UInt32] = []
  private var count: UInt32 = 0

  private struct Frame {
    let node: Node
    var next = 0
    /// Whether the dictionary is wrapped in `{"$dictionary": …}`.
    var isWrapped = false
  }

  init(_ table: ArchiveTable, marksShared: Bool) {
    list = table.list
    if marksShared { begun = Array(repeating: 0, count: list.nodes.count) }
  }

  mutating func write(_ top: Int, to writer: inout JSONWriter) throws(ArchiveError) {
    try begin(top, &writer)
    while let frame = stack.last {
      let (node, next) = (frame.node, frame.next)
      guard next < node.size else {
        stack.removeLast()
        try writer.close(node.kind == .array ? "]" : "}")
        if frame.isWrapped { try writer.close("}") }
        continue
      }
      stack[stack.count - 1].next += 1
      if node.kind == .dictionary {
        try writer.key(list.nodes[Int(list.children[node.start + next])], list)
        try begin(Int(list.children[node.start + node.size + next]), &writer)
      } else {
        try begin(Int(list.children[node.start + next]), &writer)
      }
    }
  }

  private mutating func begin(_ position: Int, _ writer: inout JSONWriter) throws(ArchiveError) {
    let node = list.nodes[position]
    let number = Double(bitPattern: node.payload)
    switch node.kind {
    case .array, .dictionary: try beginContainer(position, node, &writer)
    case .uid: try tagged(.uid, &writer) { writer throws(ArchiveError) in try writer.integer(Int128(node.payload)) }
    case .date: try tagged(.date, &writer) { writer throws(ArchiveError) in try writer.number(number) }
    case .real where node.count == 4:
      try tagged(.single, &writer) { writer throws(ArchiveError) in try writer.number(number) }
    default: try writer.scalar(node, list)
    }
  }

  private mutating func beginContainer(
    _ position: Int, _ node: Node, _ writer: inout JSONWriter
  ) throws(ArchiveError) {
    if !begun.isEmpty {
      if begun[position] > 0 {
        let number = Int128(begun[position] - 1)
        return try tagged(.same, &writer) { writer throws(ArchiveError) in try writer.integer(number) }
      }
      count += 1
      begun[position] = count
    }
    var frame = Frame(node: node)
    if node.kind == .dictionary, node.size > 0,
      list.text(list.nodes[Int(list.children[node.start])]).flatMap(RawTag.init) != nil
    {
      frame.isWrapped = true
      try writer.open("{")
      try writer.key(RawTag.dictionary.rawValue)
    }
    try writer.open(node.kind == .array ? "[" : "{")
    stack.append(frame)
  }

  private func tagged(
    _ tag: RawTag, _ writer: inout JSONWriter, _ body: (inout JSONWriter) throws(ArchiveError) -> Void
  ) throws(ArchiveError) { try writer.tagged(tag.rawValue, body) }
}

extension JSONWriter {
  /// Writes a key; a lone surrogate becomes an escape.
  fileprivate mutating func key(_ node: Node, _ list: PropertyList) throws(ArchiveError) {
    if node.kind == .utf16 { try key(codeUnits: list.codeUnits(node)) } else { try key(list.text(node) ?? "") }
  }
}
