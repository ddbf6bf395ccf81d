internal import Exchange
internal import Ground

/// Reads the YAML of typical settings and secrets: block mappings and sequences; texts that are plain, in quotes on one
/// line, or in blocks after `|` and `>`; and JSON within a line. Anchors, tags, several documents, and plain texts of
/// several lines are refused, so that nothing in a document can expand or be ambiguous.
struct YAMLReader {
  /// How deep mappings and sequences may be nested.
  static let depth = 64
  /// The most lines; each takes more memory than the one byte that it may have.
  static let mostLines = 1_000_000

  private struct Line {
    var indent: Int
    /// Its text without leading spaces and trailing blanks.
    var text: Substring
    /// The same with trailing blanks.
    let content: Substring
    let number: Int

    var isSequence: Bool { text == "-" || text.hasPrefix("- ") }
    /// Whether it is empty or a comment.
    var isSilent: Bool { text.isEmpty || text.hasPrefix("#") }
  }

  private var lines: [Line] = []
  private var position = 0
  /// Whether the last line ends with a line break.
  private let isLastLineEnded: Bool

  /// - Throws: `damaged` with the line and without any of the text; `unsupported` for refused syntax.
  static func value(of text: String) throws(ImportFault) -> JSONValue {
    var reader = try YAMLReader(text)
    guard let first = reader.next else { return .null }
    let value = try reader.block(first.indent, 0)
    if let rest = reader.next { throw reader.fault(rest) }
    return value
  }

  private init(_ text: String) throws(ImportFault) {
    guard text.utf8.count(where: { $0 == 0x0A || $0 == 0x0D }) < Self.mostLines else {
      throw ImportFault("it has more than \(Self.mostLines) lines", .overLimit)
    }
    isLastLineEnded = text.last.map(Self.isLineBreak) ?? true
    for (index, raw) in text.split(omittingEmptySubsequences: false, whereSeparator: Self.isLineBreak).enumerated() {
      let content = raw.drop { $0 == " " }
      lines.append(
        Line(
          indent: raw.utf8.count - content.utf8.count, text: Self.withoutBlanks(content), content: content,
          number: index + 1))
    }
    // After the last line break there is no further line.
    if isLastLineEnded { lines.removeLast() }
    if let first = lines.firstIndex(where: { !$0.isSilent }), lines[first].text == "---" { position = first + 1 }
    if let more = lines[position...].first(where: { $0.indent == 0 && ($0.text == "---" || $0.text == "...") }) {
      throw ImportFault("it holds more than one document", at: "line \(more.number)", .unsupported)
    }
  }

  private static func isLineBreak(_ character: Character) -> Bool {
    character == "\n" || character == "\r\n" || character == "\r"
  }

  private func fault(_ line: Line, _ words: String = "this is not YAML that can be read") -> ImportFault {
    ImportFault(words, at: "line \(line.number)", .damaged)
  }

  /// The next line with content.
  private var next: Line? {
    mutating get {
      while position < lines.count, lines[position].isSilent { position += 1 }
      return position < lines.count ? lines[position] : nil
    }
  }

  // MARK: Blocks

  /// A mapping or a sequence with the indentation `indent`.
  private mutating func block(_ indent: Int, _ depth: Int) throws(ImportFault) -> JSONValue {
    guard let line = next else { return .null }
    guard depth <= Self.depth else { throw fault(line, "it is nested too deep") }
    if line.isSequence { return .array(try sequence(indent, depth)) }
    guard try key(line) != nil else {
      position += 1
      return try scalar(line.text, line, indent: indent - 1, depth)
    }
    return .object(try mapping(indent, depth))
  }

  private mutating func sequence(_ indent: Int, _ depth: Int) throws(ImportFault) -> [JSONValue] {
    var elements: [JSONValue] = []
    while let line = next, line.indent == indent, line.isSequence {
      let rest = line.text.dropFirst().drop { $0 == " " }
      if rest.isEmpty || rest.hasPrefix("#") {
        position += 1
        let inner = next
        elements.append(inner.map { $0.indent > indent } == true ? try block(inner?.indent ?? 0, depth + 1) : .null)
      } else {
        // The content after the dash is a separate block, on the same line or the next.
        lines[position].indent = indent + (line.text.utf8.count - rest.utf8.count)
        lines[position].text = rest
        elements.append(try element(line, indent, depth))
      }
    }
    if let line = next, line.indent > indent { throw fault(line) }
    return elements
  }

  private mutating func element(_ line: Line, _ indent: Int, _ depth: Int) throws(ImportFault) -> JSONValue {
    let inner = lines[position]
    let isMapping = try key(inner) != nil
    if inner.isSequence || isMapping { return try block(inner.indent, depth + 1) }
    position += 1
    return try scalar(inner.text, line, indent: indent, depth)
  }

  private mutating func mapping(_ indent: Int, _ depth: Int) throws(ImportFault) -> [JSONValue.Member] {
    var members: [JSONValue.Member] = []
    var names: Set<[UInt8]> = []
    while let line = next, line.indent == indent, !line.isSequence {
      guard let (name, rest) = try key(line) else { throw fault(line) }
      guard names.insert(Array(name.utf8)).inserted else { throw fault(line, "a key stands here twice") }
      position += 1
      let value: JSONValue
      if rest.isEmpty || rest.hasPrefix("#") {
        let inner = next
        // A sequence may have the same indentation as its key.
        if let inner, inner.indent > indent || inner.indent == indent && inner.isSequence {
          value = try block(inner.indent, depth + 1)
        } else {
          value = .null
        }
      } else {
        value = try scalar(rest, line, indent: indent, depth)
      }
      members.append(JSONValue.Member(name: name, value: value, line: line.number))
    }
    if let line = next, line.indent > indent { throw fault(line) }
    return members
  }

  /// The key of a line and the rest of the line; nil if the line has no key. Tabs separate like spaces, except before
  /// the key, where they would count as indentation.
  private func key(_ line: Line) throws(ImportFault) -> (name: String, rest: Substring)? {
    let text = line.text
    if text.hasPrefix("? ") || text.hasPrefix("\t") || text.hasPrefix("-\t") { throw fault(line) }
    if let quote = text.first, quote == "\"" || quote == "'" {
      guard let (name, rest) = quoted(text), rest.first == ":" else { return nil }
      let value = rest.dropFirst()
      guard value.first.map(Self.isBlank) != false else { return nil }
      return (name, value.drop(while: Self.isBlank))
    }
    if text.hasPrefix("{") || text.hasPrefix("[") { return nil }
    var index = text.startIndex
    while let colon = text[index...].firstIndex(of: ":") {
      let after = text.index(after: colon)
      if after == text.endIndex || Self.isBlank(text[after]) {
        let name = text[..<colon]
        if Self.comment(in: name) != nil { return nil }
        try refuseMarks(name, line)
        return (String(Self.withoutBlanks(name)), text[after...].drop(while: Self.isBlank))
      }
      index = after
    }
    return nil
  }

  private func refuseMarks(_ text: Substring, _ line: Line) throws(ImportFault) {
    guard let first = text.first, "&*!%@`<".contains(first) else { return }
    throw ImportFault("anchors and tags of YAML are not read", at: "line \(line.number)", .unsupported)
  }

  // MARK: Scalars

  /// A value that begins on the line before ``position``.
  private mutating func scalar(
    _ text: Substring, _ line: Line, indent: Int, _ depth: Int
  ) throws(ImportFault) -> JSONValue {
    if let first = text.first, first == "|" || first == ">" {
      return .string(try blockText(header: text, line, indent: indent))
    }
    if let first = text.first, first == "\"" || first == "'" {
      guard let (content, rest) = quoted(text), Self.saysNothing(rest) else { throw fault(line) }
      return .string(content)
    }
    if let first = text.first, first == "[" || first == "{" {
      do { return try JSONValue(parsing: String(text)) } catch {
        throw fault(line, "a collection on one line has to be JSON")
      }
    }
    try refuseMarks(text, line)
    let plain = String(Self.withoutBlanks(text[..<(Self.comment(in: text) ?? text.endIndex)]))
    if let following = next, following.indent > indent, position < lines.count {
      throw fault(following, "a text of several lines has to be in quotes or after '|'")
    }
    return Self.plainValue(plain)
  }

  private static func saysNothing(_ rest: Substring) -> Bool {
    let rest = rest.drop(while: isBlank)
    return rest.isEmpty || rest.hasPrefix("#")
  }

  private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }

  private static func withoutBlanks(_ text: Substring) -> Substring {
    text.lastIndex { !isBlank($0) }.map { text[...$0] } ?? ""
  }

  /// Where the comment after a plain text begins.
  private static func comment(in text: Substring) -> Substring.Index? {
    [" #", "\t#"].compactMap { text.place(of: $0)?.lowerBound }.min()
  }

  static func plainValue(_ text: String) -> JSONValue {
    switch text {
    case "", "~", "null", "Null", "NULL": return .null
    case "true", "True", "TRUE": return .bool(true)
    case "false", "False", "FALSE": return .bool(false)
    default: break
    }
    // `0123` and `1_000` mean different things to different readers, so they stay texts, and so do `+49` and `1e3`.
    // A number stays as it is written.
    guard let first = text.utf8.first, first == UInt8(ascii: "-") || (0x30...0x39).contains(first),
      case .number(let number)? = try? JSONValue(parsing: text), number == text
    else { return .string(text) }
    let isFraction = text.contains(".") && Double(text)?.isFinite == true
    return Int64(text) != nil || isFraction ? .number(text) : .string(text)
  }

  /// The quoted text at the start, and the rest of the line.
  private func quoted(_ text: Substring) -> (String, rest: Substring)? {
    guard let quote = text.first else { return nil }
    var content = ""
    var rest = text.dropFirst()
    while let character = rest.popFirst() {
      if character == quote {
        guard quote == "'", rest.first == "'" else { return (content, rest) }
        rest.removeFirst()
        content.append("'")
      } else if character == "\\", quote == "\"" {
        guard let escaped = Self.escaped(&rest) else { return nil }
        content += escaped
      } else {
        content.append(character)
      }
    }
    return nil
  }

  private static let escapes: [Character: String] = [
    "0": "\0", "a": "\u{7}", "b": "\u{8}", "t": "\t", "n": "\n", "v": "\u{B}", "f": "\u{C}", "r": "\r", "e": "\u{1B}",
    " ": " ", "\"": "\"", "/": "/", "\\": "\\", "N": "\u{85}", "_": "\u{A0}", "L": "\u{2028}", "P": "\u{2029}",
  ]

  private static func escaped(_ rest: inout Substring) -> String? {
    guard let kind = rest.popFirst() else { return nil }
    if let text = escapes[kind] { return text }
    guard let count = ["x": 2, "u": 4, "U": 8][kind] else { return nil }
    let digits = rest.prefix(count)
    guard digits.count == count, digits.allSatisfy(\.isHexDigit), let number = UInt32(digits, radix: 16),
      let scalar = Unicode.Scalar(number)
    else { return nil }
    rest = rest.dropFirst(count)
    return String(Character(scalar))
  }

  /// The text of the indented lines below the one with `|` or `>`.
  private mutating func blockText(
    header: Substring, _ line: Line, indent parent: Int
  ) throws(ImportFault) -> String {
    let marks = header.dropFirst().prefix { !Self.isBlank($0) && $0 != "#" }
    guard marks.count <= 2, marks.allSatisfy({ $0 == "-" || $0 == "+" || ("1"..."9").contains($0) }),
      Self.saysNothing(header.dropFirst(1 + marks.count))
    else { throw fault(line) }
    var indent = marks.compactMap(\.wholeNumberValue).first.map { max(parent, 0) + $0 }
    var texts: [String] = []
    // The most spaces in a line before the first text.
    var spaces = 0
    while position < lines.count {
      let line = lines[position]
      if line.content.isEmpty {
        // Further spaces than those of the indentation are text.
        texts.append(String(repeating: " ", count: max(0, line.indent - (indent ?? line.indent))))
        if indent == nil { spaces = max(spaces, line.indent) }
      } else {
        let wanted = indent ?? line.indent
        guard line.indent >= wanted, line.indent > parent else { break }
        guard indent != nil || spaces <= wanted else { throw fault(line) }
        indent = wanted
        texts.append(String(repeating: " ", count: line.indent - wanted) + line.content)
      }
      position += 1
    }
    let count = texts.count
    while texts.last?.isEmpty == true { texts.removeLast() }
    // The line breaks that follow the text. The last line may have none.
    var breaks = count - texts.count + (texts.isEmpty ? 0 : 1)
    if count > 0, position == lines.count, !isLastLineEnded { breaks -= 1 }
    if !marks.contains("+") { breaks = marks.contains("-") || texts.isEmpty ? 0 : min(breaks, 1) }
    let text = header.first == "|" ? texts.joined(separator: "\n") : Self.folded(texts)
    return text + String(repeating: "\n", count: breaks)
  }

  /// Line breaks become spaces, except those around empty lines and those that begin with a blank.
  private static func folded(_ texts: [String]) -> String {
    var folded = ""
    var breaks = 0
    var former: String?
    for text in texts {
      if text.isEmpty {
        breaks += 1
        continue
      }
      let isIndented = former?.first.map(isBlank) == true || text.first.map(isBlank) == true
      if former != nil, breaks == 0, !isIndented { folded += " " }
      if former != nil, isIndented { breaks += 1 }
      folded += String(repeating: "\n", count: breaks) + text
      (former, breaks) = (text, 0)
    }
    return folded
  }
}
