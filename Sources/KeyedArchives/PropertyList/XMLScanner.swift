internal import Ground

/// The bytes of an XML document, read from the beginning to the end.
package protocol XMLSource {
  var bytes: [UInt8] { get }
  var position: Int { get set }
}

extension XMLSource {
  /// Where the text begins: after a byte order mark.
  package static func start(of bytes: [UInt8]) -> Int { bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0 }

  package func follows(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard position + count <= bytes.count else { return false }
    return text.withUTF8Buffer { buffer in
      for index in 0..<count where unsafe buffer[index] != bytes[position + index] { return false }
      return true
    }
  }

  /// Continues after the next `end`; returns whether there is one.
  package mutating func skip(past end: StaticString) -> Bool {
    while position + end.utf8CodeUnitCount <= bytes.count {
      if follows(end) {
        position += end.utf8CodeUnitCount
        return true
      }
      position += 1
    }
    return false
  }

  package mutating func skipSpace() {
    while position < bytes.count, bytes[position].isXMLSpace { position += 1 }
  }

  /// Reads the reference `&name;` that begins here, one of XML's five entities or a number; `nil` for any other.
  package mutating func takeReference() -> Unicode.Scalar? {
    let name = bytes[(position + 1)...].prefix(12).prefix { $0 != UInt8(ascii: ";") }
    guard name.endIndex < bytes.count, bytes[name.endIndex] == UInt8(ascii: ";"),
      let scalar = Unicode.Scalar(xmlEntity: String(decoding: name, as: UTF8.self))
    else { return nil }
    position = name.endIndex + 1
    return scalar
  }
}

extension UInt8 {
  package var isXMLSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
}

/// Scans the markup of an XML property list: tags, text and comments. It supports only the XML that a property list
/// needs, so no entities defined by the document and no external parts.
struct XMLScanner: XMLSource {
  enum Token: Equatable {
    case start(Tag)
    case end(Tag)
    case empty(Tag)
    case finish
  }

  enum Tag: String, Equatable {
    case plist, dict, array, key, string, integer, real, date, data, `true`, `false`
  }

  let bytes: [UInt8]
  var position: Int
  /// The offset of the last tag read, ignoring the end tags of texts.
  private(set) var tagStart = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    position = XMLScanner.start(of: bytes)
  }

  func broken(_ defect: PropertyListDefect) -> ArchiveError { .brokenPropertyList(defect, offset: position) }

  /// The next tag after any white space, comments, processing instructions and document type.
  mutating func nextTag() throws(ArchiveError) -> Token {
    while true {
      skipSpace()
      guard position < bytes.count else { return .finish }
      guard bytes[position] == UInt8(ascii: "<") else { throw broken(.markup) }
      if follows("<!--") {
        try pass("-->")
      } else if follows("<?") {
        try skipInstruction()
      } else if follows("<!DOCTYPE") {
        try skipDocumentType()
      } else {
        tagStart = position
        return try tag()
      }
    }
  }

  private mutating func tag() throws(ArchiveError) -> Token {
    position += 1
    let isEnd = position < bytes.count && bytes[position] == UInt8(ascii: "/")
    if isEnd { position += 1 }
    let start = position
    while position < bytes.count, isNameByte(bytes[position]) { position += 1 }
    guard position - start <= 7, let tag = Tag(rawValue: String(decoding: bytes[start..<position], as: UTF8.self))
    else {
      throw broken(.element)
    }
    let isEmpty = try skipAttributes()
    if isEnd {
      guard !isEmpty else { throw broken(.markup) }
      return .end(tag)
    }
    return isEmpty ? .empty(tag) : .start(tag)
  }

  /// Skips to the end of the tag; returns whether it closes itself.
  private mutating func skipAttributes() throws(ArchiveError) -> Bool {
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: ">"): return false
      case UInt8(ascii: "/"):
        guard position < bytes.count, bytes[position] == UInt8(ascii: ">") else { throw broken(.markup) }
        position += 1
        return true
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        while position < bytes.count, bytes[position] != byte { position += 1 }
        position += 1
      case UInt8(ascii: "<"): throw broken(.markup)
      default: break
      }
    }
    throw broken(.truncated)
  }

  /// The text up to the end tag of `tag`, with references and CDATA sections resolved, appended to `texts`.
  mutating func text(of tag: Tag, limit: (ArchiveError.Limit, Int), into texts: inout [UInt8]) throws(ArchiveError) {
    let start = texts.count
    while position < bytes.count {
      let byte = bytes[position]
      if byte == UInt8(ascii: "<") {
        if follows("<![CDATA[") {
          try appendCharacterData(into: &texts)
        } else if follows("<!--") {
          try pass("-->")
        } else {
          guard try self.tag() == .end(tag) else { throw broken(.mismatch) }
          return
        }
      } else if byte == UInt8(ascii: "&") {
        try appendReference(into: &texts)
      } else {
        texts.append(byte)
        position += 1
      }
      guard texts.count - start <= limit.1 else { throw .overLimit(limit.0, allowed: limit.1, at: ArchivePath()) }
    }
    throw broken(.truncated)
  }

  private mutating func appendCharacterData(into texts: inout [UInt8]) throws(ArchiveError) {
    let start = position + 9
    try pass("]]>")
    guard start <= position - 3 else { throw broken(.markup) }
    texts += bytes[start..<(position - 3)]
  }

  private mutating func appendReference(into texts: inout [UInt8]) throws(ArchiveError) {
    guard let scalar = takeReference() else { throw broken(.entity) }
    texts += Array(String(scalar).utf8)
  }

  /// Skips `<?…?>`; refuses a declared encoding other than UTF-8 or ASCII.
  private mutating func skipInstruction() throws(ArchiveError) {
    let start = position
    try pass("?>")
    guard bytes[start...].starts(with: Array("<?xml".utf8)) else { return }
    let text = String(decoding: bytes[start..<position].prefix(200), as: UTF8.self).lowercased()
    guard let encoding = text.place(of: "encoding") else { return }
    let value = text[encoding.upperBound...].drop { "= \t\r\n\"'".contains($0) }
    guard ["utf-8", "utf8", "us-ascii", "ascii"].contains(where: { value.hasPrefix($0) }) else {
      throw .brokenPropertyList(.encoding, offset: start)
    }
  }

  /// Skips `<!DOCTYPE …>`; refuses declarations inside it.
  private mutating func skipDocumentType() throws(ArchiveError) {
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "["): throw broken(.entity)
      case UInt8(ascii: ">"):
        position += 1
        return
      default: position += 1
      }
    }
    throw broken(.truncated)
  }

  private mutating func pass(_ end: StaticString) throws(ArchiveError) {
    guard skip(past: end) else { throw broken(.truncated) }
  }

  private func isNameByte(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") }
}

extension Unicode.Scalar {
  /// The character of `&name;`: one of XML's five entities, or a number.
  fileprivate init?(xmlEntity name: String) {
    switch name {
    case "lt": self = "<"
    case "gt": self = ">"
    case "amp": self = "&"
    case "quot": self = "\""
    case "apos": self = "'"
    default:
      guard name.hasPrefix("#") else { return nil }
      let isHexadecimal = name.hasPrefix("#x")
      let digits = name.dropFirst(isHexadecimal ? 2 : 1)
      guard digits.first?.isHexDigit == true, let number = UInt32(digits, radix: isHexadecimal ? 16 : 10), number != 0
      else { return nil }
      self.init(number)
    }
  }
}
