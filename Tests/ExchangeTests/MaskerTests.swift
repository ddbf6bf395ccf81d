import Foundation
import Ground
import TestSupport
import Testing

@testable import Exchange

@Suite struct MaskerTests {
  private static let placeholder = Masker.placeholder

  private func masked(_ text: String, hiding values: String..., pieces: Int = 1) -> String {
    var masker = Masker(MaskPatterns(values: values.map { Array($0.utf8) }))
    let bytes = Array(text.utf8)
    var output: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: pieces) {
      output += masker.take(bytes[start..<min(start + pieces, bytes.count)])
    }
    return String(decoding: output + masker.finish(), as: UTF8.self)
      .replacing(Masker.placeholder, with: "<>")
  }

  @Test func `a value is replaced, and all other text is kept`() {
    #expect(masked("the hunter2, hunter, hunter22", hiding: "hunter2") == "the <>, hunter, <>2")
    #expect(masked("", hiding: "hunter2") == "")
    #expect(masked("hunt", hiding: "hunter2") == "hunt")
    #expect(masked("abc", hiding: "abc") == "abc")
    #expect(masked("any text", hiding: "") == "any text")
  }

  @Test func `occurrences that overlap or touch become one placeholder`() {
    #expect(masked("xabcdefghix", hiding: "abcdef", "defghi") == "x<>x")
    #expect(masked("abcdabcd!", hiding: "abcd") == "<>!")
    #expect(masked("aaaaaaa", hiding: "aaaa") == "<>")
    #expect(masked("abcdef abcde", hiding: "abcd", "abcdef") == "<> <>e")
  }

  @Test func `escaped and encoded forms of a value are found`() {
    let value = "p\"s/s+w\nörd%1"
    #expect(masked("{\"p\\\"s/s+w\\nörd%1\"}", hiding: value) == "{\"<>\"}")
    #expect(masked("p\\\"s/s+w\\n\\u00f6rd%1", hiding: value) == "<>")
    #expect(masked("?a=p%22s%2Fs%2Bw%0A%C3%B6rd%251&b", hiding: value) == "?a=<>&b")
    #expect(masked("?a=p%22s%2fs%2bw%0a%c3%b6rd%251&b", hiding: value) == "?a=<>&b")
    // printf 'hunter2' | base64, and of user:hunter2, ab:hunter2!, a:hunter2
    #expect(masked("aHVudGVyMg==", hiding: "hunter2") == "<>==")
    #expect(masked("dXNlcjpodW50ZXIy", hiding: "hunter2") == "dXNlcjp<>")
    #expect(masked("YWI6aHVudGVyMiE=", hiding: "hunter2") == "YWI6<>iE=")
    #expect(masked("YTpodW50ZXIy", hiding: "hunter2") == "YTp<>")
    // echo hunter2 | base64, and of ab:hunter2 without and with the newline
    #expect(masked("aHVudGVyMgo=", hiding: "hunter2") == "<>=")
    #expect(masked("YWI6aHVudGVyMg==", hiding: "hunter2") == "YWI6<>==")
    #expect(masked("YWI6aHVudGVyMgo=", hiding: "hunter2") == "YWI6<>=")
    #expect(
      masked("-----BEGIN KEY-----\r\nMIIabcdefgh\r\nshort\r\n", hiding: "-----BEGIN KEY-----\nMIIabcdefgh\nshort\n")
        == "-----BEGIN KEY-----\r\n<>\r\nshort\r\n")
    #expect(masked("value!", hiding: "value\n") == "<>!")
  }

  @Test func `a shell's quotes, forms, HTML, hexadecimal digits and base32 are found`() {
    let value = "it's <a> & b+c"
    for form in [
      #"it'\''s <a> & b+c"#, #"it'"'"'s <a> & b+c"#, #"it\'s\ \<a\>\ \&\ b+c"#, "it%27s+%3Ca%3E+%26+b%2Bc",
      "it&#39;s &lt;a&gt; &amp; b+c", "it&#x27;s &lt;a&gt; &amp; b+c", "it's &lt;a&gt; &amp; b+c",
      "69742773203c613e202620622b63", "69742773203C613E202620622B63",
    ] { #expect(masked("x \(form) y", hiding: value) == "x <> y", "\(form)") }
    #expect(masked(#"$'a\nb\tc'"#, hiding: "a\nb\tc") == "$'<>'")
    // printf hunter2 | base32: the last character before the padding holds bits of what would follow.
    #expect(masked("NB2W45DFOIZA====", hiding: "hunter2") == "<>A====")
  }

  @Test func `escapes of other JSON writers and wrapped base64 are found`() {
    let value = "a<b>&c/dé"
    #expect(masked(#"a\u003cb\u003e\u0026c/dé"#, hiding: value) == "<>")
    #expect(masked(#"a<b>&c\/dé a<b>&c\/d\u00e9"#, hiding: value) == "<> <>")
    #expect(masked("a%3Cb%3E%26c/d%C3%A9", hiding: value) == "<>")
    // seq -s ' ' 1 45 | head -c 120 | base64 -w 64, and -w 76
    let long = (1...45).map(String.init).joined(separator: " ").prefix(120)
    for (columns, lines) in [(64, 3), (76, 3)] {
      let encoded = Data(long.utf8).base64EncodedString()
      let wrapped = stride(from: 0, to: encoded.count, by: columns).map { encoded.dropFirst($0).prefix(columns) }
      #expect(wrapped.count == lines)
      let text = wrapped.joined(separator: "\n")
      #expect(masked(text, hiding: String(long)) == Array(repeating: "<>", count: lines).joined(separator: "\n"))
    }
    // base64 of 58 bytes: the last line is too short to be searched for alone.
    let encoded = Data(long.utf8.prefix(58)).base64EncodedString()
    #expect(masked(encoded.prefix(76) + "\n" + encoded.dropFirst(76), hiding: String(long.prefix(58))) == "<>==")
  }

  @Test func `strings in a JSON value are found, except names, user names and URLs`() {
    let login = #" {"username":"annette","password":"hun\"ter2","url":"https://example.org","more":[{"x":["S3CR3T"]}]}"#
    #expect(
      masked(#"annette hun"ter2 hun\"ter2 aHVuInRlcjI= S3CR3T https://example.org password"#, hiding: login)
        == "annette <> <> <>= <> https://example.org password")
    #expect(masked("S3CR3T", hiding: #"["S3CR3T","abc"]"#) == "<>")
    #expect(masked("abc true 12345", hiding: #"["abc",true,12345]"#) == "abc true 12345")
    #expect(masked("https://ann:pass@example.org", hiding: #"{"url":"https://ann:pass@example.org"}"#) == "<>")
    #expect(masked("hunter2", hiding: #"{"password":"hunter2""#) == "hunter2")
    #expect(masked(login, hiding: login) == "<>")
  }

  /// The expected output, computed slowly: every byte of every occurrence is left out.
  private func expected(_ text: [UInt8], _ values: [[UInt8]]) -> String {
    var isConcealed = [Bool](repeating: false, count: text.count)
    for value in values where !value.isEmpty && value.count <= text.count {
      for start in 0...(text.count - value.count) where text[start...].starts(with: value) {
        for place in start..<(start + value.count) { isConcealed[place] = true }
      }
    }
    var output = ""
    for (place, byte) in text.enumerated() {
      if !isConcealed[place] { output.append(Character(Unicode.Scalar(byte))) }
      if isConcealed[place], place == 0 || !isConcealed[place - 1] { output += Self.placeholder }
    }
    return output
  }

  @Test func `random values are concealed in random texts that are cut at random places`() {
    for seed in 0..<4_000 {
      var generator = SeededGenerator(seed: UInt64(seed))
      // Few letters, so that values overlap, repeat and contain each other.
      let letters = Array("XYZ".utf8.prefix(Int.random(in: 1...3, using: &generator)))
      func word(_ lengths: ClosedRange<Int>) -> [UInt8] {
        (0..<Int.random(in: lengths, using: &generator)).map { _ in letters.randomElement(using: &generator) ?? 0 }
      }
      let values = (0..<Int.random(in: 0...5, using: &generator)).map { _ in word(1...7) }
      let text = word(0...60)
      var masker = Masker(MaskPatterns(exactly: values))
      var (output, rest): ([UInt8], ArraySlice<UInt8>) = ([], text[...])
      while !rest.isEmpty {
        let count = Int.random(in: 0...9, using: &generator)
        output += masker.take(rest.prefix(count))
        rest = rest.dropFirst(count)
      }
      output += masker.finish()
      let shown = String(decoding: output, as: UTF8.self)
      #expect(shown == expected(text, values), "seed \(seed)")
      for value in values where !value.isEmpty {
        #expect(!shown.contains(String(decoding: value, as: UTF8.self)), "seed \(seed)")
      }
    }
  }

  @Test func `pauses at random places never reveal a value or drop other text`() {
    for seed in 0..<4_000 {
      var generator = SeededGenerator(seed: UInt64(seed))
      let letters = Array("XY".utf8)
      func word(_ lengths: ClosedRange<Int>) -> [UInt8] {
        (0..<Int.random(in: lengths, using: &generator)).map { _ in letters.randomElement(using: &generator) ?? 0 }
      }
      let values = (0..<Int.random(in: 1...3, using: &generator)).map { _ in word(4...16) }
      let text = word(0...60)
      var masker = Masker(MaskPatterns(exactly: values))
      var output: [UInt8] = []
      for byte in text {
        output += masker.take([byte])
        if Bool.random(using: &generator) { output += masker.pause() }
      }
      output += masker.finish()
      let shown = String(decoding: output, as: UTF8.self)
      for value in values { #expect(!shown.contains(String(decoding: value, as: UTF8.self)), "seed \(seed)") }
      let kept = shown.replacing(Self.placeholder, with: "")
      let least = expected(text, values).replacing(Self.placeholder, with: "")
      #expect(kept.count >= least.count, "seed \(seed)")
    }
  }

  @Test func `a pause releases a short beginning, and never more than a quarter of a value`() {
    var masker = Masker(MaskPatterns(values: [Array("hunter2-hunter3-hunter4".utf8)]))
    func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
    #expect(text(masker.take("Name: h".utf8)) == "Name: ")
    #expect(masker.isHolding && text(masker.pause()) == "h" && !masker.isHolding)
    #expect(text(masker.take("unt".utf8)).isEmpty && text(masker.pause()) == "unt")
    #expect(text(masker.take("er2".utf8)).isEmpty && text(masker.pause()).isEmpty)
    #expect(text(masker.take("-hunter3-hunter4!".utf8)) == Self.placeholder + "!")
    #expect(text(masker.take("hun".utf8)).isEmpty && text(masker.take("t you".utf8)) == "hunt you")
  }

  @Test func `thousands of values with the same beginnings and any bytes are concealed, and nothing else`() {
    var generator = SeededGenerator(seed: 1)
    // All begin with one letter or two of them, and then no byte is a newline.
    var values: [[UInt8]] = []
    for number in 0..<4_000 {
      var value = [UInt8](repeating: 0x78, count: 1 + number % 2)
      for _ in 0..<4 { value.append(UInt8.random(in: 0x0B...0xFF, using: &generator)) }
      values.append(value)
    }
    var masker = Masker(MaskPatterns(exactly: values))
    for value in values {
      #expect(masker.take(value + [0x0A]) == Array((Self.placeholder + "\n").utf8))
      let beginning = Array(value.dropLast()) + [0x0A]
      #expect(masker.take(beginning) == beginning)
    }
  }

  @Test func `a value of a million equal letters is concealed`() {
    let value = [UInt8](repeating: 0x61, count: 1 << 20)
    var masker = Masker(MaskPatterns(values: [value]))
    var count = 0
    for _ in 0..<64 { count += masker.take([UInt8](repeating: 0x61, count: 65_536)).count }
    #expect(count + masker.finish().count == Masker.placeholder.utf8.count)
  }
}
