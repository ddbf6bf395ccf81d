internal import Exchange
internal import KeyedArchives

/// Reads the XML that exporters write, event by event: elements, attributes, text, CDATA and XML's five entities.
/// Declarations in the document are refused, so nothing in it can expand.
struct XMLReader {
  struct Element {
    let name: String
    fileprivate(set) var attributes: [(name: String, text: String)] = []

    subscript(name: String) -> String? { attributes.first { $0.name == name }?.text }
  }

  enum Event {
    case start(Element)
    case end
    /// A piece of text in UTF-8. An element may have several, and white space between elements counts as one.
    case text([UInt8])
  }

  /// How deep elements may be nested.
  static let depth = 256
  /// The longest name or attribute, in bytes, and the most attributes.
  private static let nameLimit = 4_096
  private static let attributeLimit = 32

  private let bytes: [UInt8]
  private var position = 0
  private var line = 1
  /// The names of the elements that are open.
  private var open: [String] = []
  /// The pending end of an element without content.
  private var endIsDue = false
  private var isBegun = false

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
  }

  private var fault: ImportFault { ImportFault("this is not the XML that it should be", at: "line \(line)", .damaged) }

  /// - Returns: nil at the end of the document.
  mutating func next() throws(ImportFault) -> Event? {
    if endIsDue {
      endIsDue = false
      open.removeLast()
      return .end
    }
    while position < bytes.count {
      guard bytes[position] == UInt8(ascii: "<") else {
        let text = try text()
        if !open.isEmpty { return .text(text) }
        guard text.allSatisfy(\.isXMLSpace) else { throw fault }
        continue
      }
      if follows("<!--") {
        try skip(past: "-->")
      } else if follows("<?") {
        try skip(past: "?>")
      } else if follows("<![CDATA[") {
        guard !open.isEmpty else { throw fault }
        let start = position + 9
        try skip(past: "]]>")
        guard start <= position - 3 else { throw fault }
        return .text(Array(bytes[start..<(position - 3)]))
      } else if follows("<!DOCTYPE") {
        guard !isBegun, let end = bytes[position...].firstIndex(of: UInt8(ascii: ">")),
          !bytes[position..<end].contains(UInt8(ascii: "["))
        else { throw fault }
        position = end + 1
      } else if follows("</") {
        position += 2
        let name = try name()
        skipSpace()
        guard open.popLast() == name, take(UInt8(ascii: ">")) else { throw fault }
        return .end
      } else {
        return .start(try element())
      }
    }
    guard open.isEmpty, isBegun else { throw fault }
    return nil
  }

  private mutating func element() throws(ImportFault) -> Element {
    guard open.count < Self.depth, !open.isEmpty || !isBegun else { throw fault }
    isBegun = true
    position += 1
    var element = Element(name: try name())
    while true {
      skipSpace()
      if take(UInt8(ascii: ">")) { break }
      if take(UInt8(ascii: "/")) {
        guard take(UInt8(ascii: ">")) else { throw fault }
        endIsDue = true
        break
      }
      guard element.attributes.count < Self.attributeLimit else { throw fault }
      let name = try name()
      skipSpace()
      guard take(UInt8(ascii: "=")) else { throw fault }
      skipSpace()
      element.attributes.append((name, try attributeText()))
    }
    open.append(element.name)
    return element
  }

  private mutating func attributeText() throws(ImportFault) -> String {
    guard position < bytes.count else { throw fault }
    let quote = bytes[position]
    guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { throw fault }
    position += 1
    var text: [UInt8] = []
    while position < bytes.count, bytes[position] != quote {
      guard bytes[position] != UInt8(ascii: "<"), text.count <= Self.nameLimit else { throw fault }
      try appendCharacter(to: &text)
    }
    guard take(quote) else { throw fault }
    return String(decoding: text, as: UTF8.self)
  }

  private mutating func name() throws(ImportFault) -> String {
    let start = position
    while position < bytes.count, bytes[position].isXMLName { position += 1 }
    guard (1...Self.nameLimit).contains(position - start) else { throw fault }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private mutating func text() throws(ImportFault) -> [UInt8] {
    var text: [UInt8] = []
    while position < bytes.count, bytes[position] != UInt8(ascii: "<") { try appendCharacter(to: &text) }
    return text
  }

  /// Appends the next byte, or the character of the next entity.
  private mutating func appendCharacter(to text: inout [UInt8]) throws(ImportFault) {
    let byte = bytes[position]
    guard byte == UInt8(ascii: "&") else {
      if byte == 0x0A { line += 1 }
      text.append(byte)
      position += 1
      return
    }
    let name = bytes[(position + 1)...].prefix(12).prefix { $0 != UInt8(ascii: ";") }
    guard name.endIndex < bytes.count, bytes[name.endIndex] == UInt8(ascii: ";"),
      let scalar = Unicode.Scalar(xmlEntity: String(decoding: name, as: UTF8.self))
    else { throw fault }
    text += Array(String(Character(scalar)).utf8)
    position = name.endIndex + 1
  }

  private mutating func skip(past end: StaticString) throws(ImportFault) {
    while position < bytes.count {
      if follows(end) {
        position += end.utf8CodeUnitCount
        return
      }
      if bytes[position] == 0x0A { line += 1 }
      position += 1
    }
    throw fault
  }

  private mutating func skipSpace() {
    while position < bytes.count, bytes[position].isXMLSpace {
      if bytes[position] == 0x0A { line += 1 }
      position += 1
    }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }

  private func follows(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard position + count <= bytes.count else { return false }
    return text.withUTF8Buffer { buffer in
      for index in 0..<count where unsafe buffer[index] != bytes[position + index] { return false }
      return true
    }
  }
}

extension UInt8 {
  fileprivate var isXMLSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }

  fileprivate var isXMLName: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: ":"), 0x80...0xFF:
      true
    default: false
    }
  }
}
