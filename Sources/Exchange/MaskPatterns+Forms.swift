internal import Ground

extension MaskPatterns {
  /// The size in bytes of the largest value that is also searched for in other forms.
  private static let largestWithForms = 65_536
  /// Shorter lines, in bytes, are searched for only as part of their value.
  private static let shortestLine = 8
  /// Shorter pieces of base64, in characters, could occur in ordinary words.
  private static let shortestBase64 = 6

  /// Searches for values as they are, and in the forms in which programs write them:
  ///
  /// - without trailing newlines;
  /// - each line of a multi-line value, if it has at least eight bytes;
  /// - in base64 and base64url, also as part of a longer encoded text (`user:password`), before the newline that `echo`
  ///   adds, and in lines of 64 or 76 characters;
  /// - percent-encoded (RFC 3986), with or without `/`;
  /// - as the content of a JSON string, with or without `\u` for non-ASCII and HTML characters, and with or without `\`
  ///   before `/`;
  /// - in a shell's quotes (`'it'\''s'`, `it\'s`), as a web form sends it (`a+b`), with HTML escapes, in hexadecimal
  ///   digits of either case, and in base32;
  /// - the strings in a value that is a JSON object or array (``texts(in:)``), in the same forms.
  public init(values: some Sequence<[UInt8]>) {
    let texts = values.flatMap { [$0] + MaskPatterns.texts(in: $0) }
    // Lazily, because all forms of many values together take far more memory than the automaton.
    self.init(exactly: texts.lazy.flatMap { MaskPatterns.patterns(of: $0) })
  }

  private static func patterns(of value: [UInt8]) -> [[UInt8]] {
    guard value.count >= shortestValue else { return [] }
    var patterns = [value]
    var forms = [trimmed(value)]
    if value.count <= largestWithForms {
      forms += percentEncoded(value) + escaped(value) + quoted(value) + hexadecimal(value)
      forms.append(Base32.digits(value))
      patterns += base64(value).filter { $0.count >= shortestBase64 }
    }
    return patterns + forms.filter { $0.count >= shortestValue } + lines(of: value)
  }

  /// Whether a value is too short to be concealed, not counting trailing newlines.
  public static func isTooShort(_ value: [UInt8]) -> Bool {
    !value.isEmpty && trimmed(value).count < shortestValue
  }

  private static func trimmed(_ value: [UInt8]) -> [UInt8] {
    var value = value
    while let last = value.last, last == 0x0A || last == 0x0D { value.removeLast() }
    return value
  }

  private static func lines(of value: [UInt8]) -> [[UInt8]] {
    let lines = value.split { $0 == 0x0A || $0 == 0x0D }
    guard lines.count > 1 else { return [] }
    // The first and last lines of a PEM text are not secret and are the same for everybody.
    return lines.filter { $0.count >= shortestLine && !$0.starts(with: "-----".utf8) }.map(Array.init)
  }

  // MARK: Base64

  /// The base64 of the value at the end of a text, before a final newline, and elsewhere in a text. Left out are the
  /// characters that also depend on what comes before, and elsewhere those that depend on what follows.
  private static func base64(_ value: [UInt8]) -> [[UInt8]] {
    var forms: [[UInt8]] = []
    for offset in 0..<3 {
      let text = [UInt8](repeating: 0, count: offset) + value
      let last = base64Characters(text)
      let inside = last.dropLast(text.count % 3 == 0 ? 0 : 1)
      let own = offset == 0 ? 0 : offset + 1
      forms += [last[...], base64Characters(text + [0x0A])[...], inside].map { Array($0.dropFirst(own)) }
    }
    let urlForms = forms.map {
      $0.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 }
    }
    return forms + urlForms + forms[..<3].flatMap { wrapped($0, 64) + wrapped($0, 76) }
  }

  /// The lines into which programs break long base64. A last one that is too short to be searched for alone is
  /// searched for after the line before it.
  private static func wrapped(_ characters: [UInt8], _ columns: Int) -> [[UInt8]] {
    guard characters.count > columns else { return [] }
    let lines = stride(from: 0, to: characters.count, by: columns).map {
      Array(characters[$0..<min($0 + columns, characters.count)])
    }
    guard let last = lines.last, last.count < shortestBase64 else { return lines }
    return lines + [lines[lines.count - 2] + [0x0A] + last]
  }

  /// RFC 4648, without the padding.
  private static func base64Characters(_ bytes: [UInt8]) -> [UInt8] {
    var characters: [UInt8] = []
    Base64.append(encoding: bytes, to: &characters)
    while characters.last == UInt8(ascii: "=") { characters.removeLast() }
    return characters
  }

  // MARK: Escapes

  private static func percentEncoded(_ value: [UInt8]) -> [[UInt8]] {
    [(false, false), (true, false), (false, true)].map { inLowerCase, keepsSlashes in
      PercentEncoding.encoded(value, inLowerCase: inLowerCase) { byte in
        byte.isLetter || byte.isDigit || "-._~".utf8.contains(byte) || keepsSlashes && byte == UInt8(ascii: "/")
      }
    }
  }

  /// How writers of JSON differ: which characters they escape as `\u` and four digits without having to, and whether
  /// they escape `/`.
  private static let escapes: [(unicode: Bool, html: Bool, slash: Bool)] = [
    (false, false, false), (true, false, false), (false, true, false), (false, false, true), (true, false, true),
  ]

  private static func escaped(_ value: [UInt8]) -> [[UInt8]] {
    guard let text = String(validating: value, as: UTF8.self) else { return [] }
    return escapes.map { style in
      text.unicodeScalars.flatMap { scalar -> [UInt8] in
        switch scalar {
        case "\"", "\\": Array("\\\(scalar)".utf8)
        case "/" where style.slash: Array("\\/".utf8)
        case "\n": Array("\\n".utf8)
        case "\r": Array("\\r".utf8)
        case "\t": Array("\\t".utf8)
        case "&" where style.html, "<" where style.html, ">" where style.html,
          _ where scalar.value < 0x20 || style.unicode && !scalar.isASCII:
          String(scalar).utf16.flatMap { unit in
            let digits = String(unit, radix: 16)
            return Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
          }
        default: Array(String(scalar).utf8)
        }
      }
    }
  }
}
