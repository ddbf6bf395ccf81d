/// Flat YAML 1.2: one object of names and single values, as people and ``line(_:_:)`` write it.
///
/// Plain, quoted and literal (`|`) texts are read. Other YAML is refused instead of guessed: nesting, lists, anchors,
/// tags, folded texts, several documents, and duplicate names.
package enum YAMLItems {
  /// Each member becomes a text item, or a boolean (`true`, `false`). A number keeps its text. A `null` is reported as
  /// lost.
  ///
  /// - Throws: the first fault and its line.
  package static func items(of text: String) throws(ImportFault) -> ImportedItems {
    var parser = Parser(text)
    return try parser.document()
  }

  /// One member with its line break. Every reader of YAML, including the older version 1.1, reads exactly these texts.
  package static func line(_ name: String, _ value: String) -> [UInt8] {
    let isPlain =
      name.utf8.first.map(isLetter) == true && !words.contains(name.lowercased())
      && name.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) }
    return (isPlain ? Array(name.utf8) : quoted(name)) + [UInt8(ascii: ":"), UInt8(ascii: " ")] + quoted(value) + [0x0A]
  }

  /// Words that some version of YAML reads as a boolean or as null.
  private static let words: Set = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"]

  private static func isLetter(_ byte: UInt8) -> Bool {
    (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "_")
  }

  private static func quoted(_ text: String) -> [UInt8] {
    var bytes = [UInt8(ascii: "\"")]
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": bytes += "\\\(scalar)".utf8
      case "\n": bytes += #"\n"#.utf8
      case "\t": bytes += #"\t"#.utf8
      case "\r": bytes += #"\r"#.utf8
      case " "..."~", "\u{A0}"..."\u{2027}", "\u{202A}"..."\u{FEFE}", "\u{FF00}"..."\u{FFFD}", "\u{10000}"...:
        bytes += String(scalar).utf8
      default:
        let digits = String(scalar.value, radix: 16, uppercase: true)
        bytes += (#"\u"# + String(repeating: "0", count: 4 - digits.count) + digits).utf8
      }
    }
    return bytes + [UInt8(ascii: "\"")]
  }
}

extension YAMLItems {
  private struct Parser {
    private enum Value {
      case null
      case bool(Bool)
      case text(String)
    }

    private var lines: [[Unicode.Scalar]] = [[]]
    /// Whether the last line ends with a line break.
    private let isEnded: Bool
    /// The line that is being read, and the position in it.
    private var number = 0
    private var place = 0

    init(_ text: String) {
      var before: Unicode.Scalar?
      for scalar in text.unicodeScalars {
        // The byte-order mark that some editors write is not part of the text.
        let isMark = before == nil && scalar == "\u{FEFF}"
        switch scalar {
        case "\n" where before == "\r": break
        case "\r", "\n": lines.append([])
        default: if !isMark { lines[lines.count - 1].append(scalar) }
        }
        before = scalar
      }
      isEnded = lines.last?.isEmpty == true
      if isEnded { lines.removeLast() }
    }

    mutating func document() throws(ImportFault) -> ImportedItems {
      var imported = ImportedItems()
      var names: Set<String> = []
      var (isBegun, isOver) = (false, false)
      while number < lines.count {
        place = 0
        if isRestBlank {
        } else if isMarker("...") {
          isOver = true
        } else if isOver || isBegun && isMarker("---") {
          throw fault("a second document begins")
        } else if isMarker("---") {
          place = 3
          guard isRestBlank else { throw fault("something stands behind '---'") }
          isBegun = true
        } else {
          isBegun = true
          let at = "line \(number + 1)"
          let name = try name()
          guard names.insert(name).inserted else { throw fault("the name stands twice") }
          switch try value() {
          case .null: imported.losses.append("\(at): '\(name)' is null")
          case .bool(let bool): imported.items.append(ImportedItem(name, .bool, Array(String(bool).utf8), at: at))
          case .text(let text): imported.items.append(ImportedItem(name, .string, Array(text.utf8), at: at))
          }
        }
        number += 1
      }
      return imported
    }

    private func fault(_ words: String) -> ImportFault { ImportFault(words, at: "line \(number + 1)") }

    // MARK: Names and values

    private mutating func name() throws(ImportFault) -> String {
      let name: String
      switch peek {
      case " ", "\t":
        throw fault("it is indented: no nesting is read, and no text of several lines but that behind '|'")
      case "\"", "'": name = try quoted()
      case let first: name = try plain(first, isName: true)
      }
      skipSpaces()
      guard peek == ":", isSpaceOrEnd(place + 1) else { throw fault("it is not 'name: value'") }
      place += 1
      guard !name.isEmpty else { throw fault("the name is missing") }
      guard name != "<<" else { throw fault("it merges another object ('<<'), which is not read") }
      return name
    }

    private mutating func value() throws(ImportFault) -> Value {
      skipSpaces()
      guard !isRestBlank, let first = peek else { return .null }
      switch first {
      case "|": return .text(try literal())
      case "\"", "'":
        let text = try quoted()
        guard isRestBlank else { throw fault("something stands behind the quoted text") }
        return .text(text)
      default: break
      }
      let text = try plain(first, isName: false)
      switch text {
      case "null", "Null", "NULL", "~": return .null
      case "true", "True", "TRUE": return .bool(true)
      case "false", "False", "FALSE": return .bool(false)
      default: return .text(text)
      }
    }

    private mutating func plain(_ first: Unicode.Scalar?, isName: Bool) throws(ImportFault) -> String {
      switch first {
      case "&", "*": throw fault("it has an anchor or an alias ('&', '*'), which is not read")
      case "!": throw fault("it has a tag ('!'), which is not read")
      case "[", "{": throw fault("it begins a list or an object: no nesting is read")
      case ">": throw fault("it is a folded text ('>'), which is not read; '|' keeps the lines")
      case "-" where isSpaceOrEnd(place + 1), "?" where isSpaceOrEnd(place + 1):
        throw fault("it is an element of a list or a complex name: no nesting is read")
      case "%", "@", "`", "|", "]", "}", ",", "#": throw fault("no text without quotes begins so")
      default: break
      }
      var text = String.UnicodeScalarView()
      while let scalar = peek {
        if scalar == "#", let last = text.last, isSpace(last) { break }
        if scalar == ":", isSpaceOrEnd(place + 1) {
          guard !isName else { break }
          throw fault("': ' stands in a text without quotes")
        }
        try require(scalar)
        text.append(scalar)
        place += 1
      }
      while let last = text.last, isSpace(last) { text.removeLast() }
      return String(text)
    }

    /// The text between quotes. Afterwards `place` is after them.
    private mutating func quoted() throws(ImportFault) -> String {
      let quote = lines[number][place]
      place += 1
      var text = String.UnicodeScalarView()
      while let scalar = peek {
        place += 1
        switch scalar {
        case "'" where quote == "'" && peek == "'":
          text.append(scalar)
          place += 1
        case quote: return String(text)
        case "\\" where quote == "\"": text.append(try escaped())
        default:
          try require(scalar)
          text.append(scalar)
        }
      }
      throw fault("the quote is not closed on its line")
    }

    private mutating func escaped() throws(ImportFault) -> Unicode.Scalar {
      guard let letter = peek else { throw fault("the quote is not closed on its line") }
      place += 1
      if let meant = Parser.escapes[letter] { return meant }
      guard let count = ["x": 2, "u": 4, "U": 8][letter] else {
        throw fault("'\\' stands before what it escapes nowhere")
      }
      let digits = lines[number].dropFirst(place).prefix(count)
      place += count
      let isHexadecimal = digits.count == count && digits.allSatisfy { $0.isASCII && $0.properties.isASCIIHexDigit }
      let text = String(String.UnicodeScalarView(digits))
      guard isHexadecimal, let value = UInt32(text, radix: 16), let scalar = Unicode.Scalar(value) else {
        throw fault("the digits behind '\\' make no character")
      }
      return scalar
    }

    private static let escapes: [Unicode.Scalar: Unicode.Scalar] = [
      "0": "\0", "a": "\u{7}", "b": "\u{8}", "t": "\t", "\t": "\t", "n": "\n", "v": "\u{B}", "f": "\u{C}", "r": "\r",
      "e": "\u{1B}", " ": " ", "\"": "\"", "/": "/", "\\": "\\", "N": "\u{85}", "_": "\u{A0}", "L": "\u{2028}",
      "P": "\u{2029}",
    ]

    // MARK: Literal texts

    /// The lines after `|`, without their indentation. Afterwards `number` is the last of them.
    private mutating func literal() throws(ImportFault) -> String {
      place += 1
      var (ending, indentation) = (Unicode.Scalar(" "), Int?.none)
      while let scalar = peek, !isSpace(scalar) {
        if "+-".unicodeScalars.contains(scalar), ending == " " {
          ending = scalar
        } else if ("1"..."9").contains(scalar), indentation == nil {
          indentation = Int(scalar.value) - 48
        } else {
          throw fault("'|' has none but '+', '-' and a digit behind it")
        }
        place += 1
      }
      guard isRestBlank else { throw fault("something stands behind '|'") }
      var content: [String] = []
      var blank: [String] = []
      while number + 1 < lines.count {
        let line = lines[number + 1]
        let spaces = line.prefix { $0 == " " }.count
        if spaces == line.count {
          blank.append(String(repeating: " ", count: max(0, spaces - (indentation ?? spaces))))
        } else if spaces > 0, spaces >= indentation ?? spaces {
          indentation = indentation ?? spaces
          for scalar in line { try require(scalar) }
          content += blank + [String(String.UnicodeScalarView(line.dropFirst(indentation ?? spaces)))]
          blank = []
        } else {
          break
        }
        number += 1
      }
      let isCut = !isEnded && number + 1 == lines.count
      switch ending {
      case "+":
        return (content + blank).joined(separator: "\n") + (content.count + blank.count == 0 || isCut ? "" : "\n")
      case "-": return content.joined(separator: "\n")
      default: return content.joined(separator: "\n") + (content.isEmpty || isCut && blank.isEmpty ? "" : "\n")
      }
    }

    // MARK: Characters

    private var peek: Unicode.Scalar? { place < lines[number].count ? lines[number][place] : nil }

    private func isSpace(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" }

    private func isSpaceOrEnd(_ place: Int) -> Bool { place >= lines[number].count || isSpace(lines[number][place]) }

    /// Whether the rest of the line is only white space and possibly a comment after it.
    private var isRestBlank: Bool {
      let line = lines[number]
      guard let next = line[place...].firstIndex(where: { !isSpace($0) }) else { return true }
      return line[next] == "#" && (next == 0 || isSpace(line[next - 1]))
    }

    private func isMarker(_ marker: String) -> Bool {
      lines[number].starts(with: marker.unicodeScalars) && isSpaceOrEnd(3)
    }

    private mutating func skipSpaces() { while let scalar = peek, isSpace(scalar) { place += 1 } }

    /// - Throws: an error for a character that YAML allows only as an escape.
    private func require(_ scalar: Unicode.Scalar) throws(ImportFault) {
      switch scalar {
      case "\t", " "..."~", "\u{85}", "\u{A0}"..."\u{FFFD}", "\u{10000}"...: return
      default: throw fault("a control character stands there; in double quotes it can be escaped")
      }
    }
  }
}
