internal import Exchange
internal import Ground
internal import KeyedArchives

/// Reads the XML that exporters write, event by event: elements, attributes, text, CDATA and XML's five entities.
/// Declarations in the document are refused, so nothing in it can expand; so is any encoding but UTF-8.
struct XMLReader: XMLSource {
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

  let bytes: [UInt8]
  var position: Int
  /// The names of the elements that are open.
  private var open: [String] = []
  /// The pending end of an element without content.
  private var endIsDue = false
  private var isBegun = false
  private var isChecked = false

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    position = XMLReader.start(of: bytes)
  }

  private var fault: ImportFault {
    let line = bytes[..<min(position, bytes.count)].count { $0 == 0x0A } + 1
    return ImportFault("this is not the XML that it should be", at: "line \(line)", .damaged)
  }

  /// - Returns: nil at the end of the document.
  mutating func next() throws(ImportFault) -> Event? {
    if endIsDue {
      endIsDue = false
      open.removeLast()
      return .end
    }
    if !isChecked { try checkEncoding() }
    while position < bytes.count {
      guard bytes[position] == UInt8(ascii: "<") else {
        let text = try text()
        if !open.isEmpty { return .text(text) }
        guard text.allSatisfy(\.isXMLSpace) else { throw fault }
        continue
      }
      if follows("<!--") {
        try pass("-->")
      } else if follows("<?") {
        try pass("?>")
      } else if follows("<![CDATA[") {
        guard !open.isEmpty else { throw fault }
        let start = position + 9
        try pass("]]>")
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

  private mutating func checkEncoding() throws(ImportFault) {
    isChecked = true
    guard unsafe bytes.withUnsafeBytes({ unsafe $0.isUTF8 }) else { throw ImportFault("it is not UTF-8", .damaged) }
    guard follows("<?xml"), let end = bytes[position...].firstIndex(of: UInt8(ascii: ">")) else { return }
    let declaration = String(decoding: bytes[position..<end], as: UTF8.self).lowercased()
    guard let name = declaration.place(of: "encoding") else { return }
    let encoding = declaration[name.upperBound...].drop { $0.isWhitespace || $0 == "=" }
    guard ["utf-8", "utf8", "us-ascii"].contains(String(encoding.dropFirst().prefix { $0 != "\"" && $0 != "'" })) else {
      throw ImportFault("it declares another encoding than UTF-8", .damaged)
    }
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
    guard bytes[position] == UInt8(ascii: "&") else {
      text.append(bytes[position])
      position += 1
      return
    }
    guard let scalar = takeReference() else { throw fault }
    text += Array(String(Character(scalar)).utf8)
  }

  private mutating func pass(_ end: StaticString) throws(ImportFault) {
    guard !skip(past: end) else { return }
    position = bytes.count
    throw fault
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }
}

extension UInt8 {
  fileprivate var isXMLName: Bool { isWord || self >= 0x80 || "-.:".utf8.contains(self) }
}
