internal import Ground

/// Writes a property list in the XML format.
struct XMLPropertyListWriter {
  private let list: PropertyList
  private let limit: OutputLimit
  private var output: [UInt8] = []

  /// - Throws: `notInXML` if XML cannot represent a value so that it reads back equal; `overLimit` beyond `limit`. A
  ///   single-precision number reads back as the same number in double precision.
  static func bytes(of list: PropertyList, within limit: OutputLimit) throws(ArchiveError) -> [UInt8] {
    var writer = XMLPropertyListWriter(list: list, limit: limit)
    writer.output +=
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">

      """.utf8
    try writer.writeAll()
    writer.output += "</plist>\n".utf8
    return writer.output
  }

  private init(list: PropertyList, limit: OutputLimit) {
    self.list = list
    self.limit = limit
  }

  /// Visits each value with an explicit stack. Shared values are written again at each use, within the limit.
  private mutating func writeAll() throws(ArchiveError) {
    var stack: [(node: Node, next: Int)] = []
    try open(list.nodes[list.top], &stack)
    while let (node, next) = stack.last {
      guard next < node.size else {
        stack.removeLast()
        line(stack.count, node.kind == .array ? "</array>" : "</dict>")
        continue
      }
      stack[stack.count - 1].next += 1
      if node.kind == .dictionary {
        try write(text: list.nodes[Int(list.children[node.start + next])], "key", stack.count)
        try open(list.nodes[Int(list.children[node.start + node.size + next])], &stack)
      } else {
        try open(list.nodes[Int(list.children[node.start + next])], &stack)
      }
    }
  }

  private mutating func open(_ node: Node, _ stack: inout [(node: Node, next: Int)]) throws(ArchiveError) {
    let depth = stack.count
    try limit.check(output.count)
    switch node.kind {
    case .bool: line(depth, node.payload == 0 ? "<false/>" : "<true/>")
    case .integer, .unsigned, .wide: line(depth, "<integer>\(list.integer(node) ?? 0)</integer>")
    case .real:
      let real = Double(bitPattern: node.payload)
      line(depth, "<real>\(Self.text(real))</real>")
    case .date:
      let seconds = Double(bitPattern: node.payload)
      guard seconds == seconds.rounded() else { throw .notInXML("a fraction of a second") }
      // From the beginning of the year 0: readers want four digits.
      guard (-63_145_526_400..<2e11).contains(seconds) else { throw .notInXML("a year of other than four digits") }
      line(depth, "<date>\(UTCDate.text(secondsSince2001: seconds))</date>")
    case .data:
      indent(depth)
      output += "<data>".utf8
      Base64.append(encoding: list.rawBytes(node), to: &output)
      output += "</data>\n".utf8
    case .ascii, .utf8, .utf16: try write(text: node, "string", depth)
    case .uid: line(depth, "<dict><key>CF$UID</key><integer>\(node.payload)</integer></dict>")
    case .array where node.size == 0: line(depth, "<array/>")
    case .dictionary where node.size == 0: line(depth, "<dict/>")
    case .array:
      line(depth, "<array>")
      stack.append((node, 0))
    case .dictionary:
      guard node.size != 1 || !list.isText(list.nodes[Int(list.children[node.start])], "CF$UID") else {
        throw .notInXML("a dictionary that would read back as a reference")
      }
      line(depth, "<dict>")
      stack.append((node, 0))
    }
  }

  private static func text(_ real: Double) -> String {
    if real.isNaN { return "nan" }
    if real.isInfinite { return real > 0 ? "+infinity" : "-infinity" }
    return "\(real)"
  }

  private mutating func write(text node: Node, _ element: String, _ depth: Int) throws(ArchiveError) {
    guard let text = list.text(node) else { throw .notInXML("half of a character") }
    indent(depth)
    output += "<\(element)>".utf8
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "&"): output += "&amp;".utf8
      case UInt8(ascii: "<"): output += "&lt;".utf8
      case UInt8(ascii: ">"): output += "&gt;".utf8
      // An XML parser would turn a bare carriage return into a newline.
      case UInt8(ascii: "\r"): output += "&#13;".utf8
      case UInt8(ascii: "\t"), UInt8(ascii: "\n"), 0x20...: output.append(byte)
      default: throw .notInXML("a control character")
      }
      // U+FFFE and U+FFFF are not allowed in XML.
      if byte == 0xBE || byte == 0xBF, output.suffix(3).elementsEqual([0xEF, 0xBF, byte]) {
        throw .notInXML("a control character")
      }
    }
    output += "</\(element)>\n".utf8
    try limit.check(output.count)
  }

  private mutating func line(_ depth: Int, _ text: String) {
    indent(depth)
    output += text.utf8
    output.append(UInt8(ascii: "\n"))
  }

  private mutating func indent(_ depth: Int) { output += repeatElement(UInt8(ascii: "\t"), count: depth) }
}
