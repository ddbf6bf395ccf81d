import Ground
import Testing

@Suite struct JSONWriterTests {
  /// Keeps what is written, and fails once it is too much.
  private struct Sink: JSONSink {
    struct Full: Error {}
    var bytes: [UInt8] = []
    var limit = Int.max

    mutating func write(_ text: UnsafeRawBufferPointer) throws(Full) {
      unsafe bytes += text
      guard bytes.count <= limit else { throw Full() }
    }

    mutating func write(_ byte: UInt8) throws(Full) {
      bytes.append(byte)
      guard bytes.count <= limit else { throw Full() }
    }
  }

  private func text(
    hasLines: Bool = false, _ body: (inout JSONWriter<Sink>) throws(Sink.Full) -> Void
  ) throws(Sink.Full) -> String {
    var writer = JSONWriter(Sink(), hasLines: hasLines)
    try body(&writer)
    return String(decoding: writer.sink.bytes, as: UTF8.self)
  }

  private func write(_ json: inout JSONWriter<Sink>) throws(Sink.Full) {
    try json.open("[")
    try json.open("{")
    try json.key("a")
    try json.word("1")
    try json.key("b\"" as String)
    try json.open("[")
    try json.close("]")
    try json.close("}")
    try json.string("c")
    try json.open("{")
    try json.close("}")
    try json.close("]")
  }

  @Test func `commas stand between elements and between members, and nowhere else`() throws {
    #expect(try text { (json) throws(Sink.Full) in try write(&json) } == #"[{"a":1,"b\"":[]},"c",{}]"#)
  }

  @Test func `each element of the outermost array can begin a line`() throws {
    let lines = try text(hasLines: true) { (json) throws(Sink.Full) in try write(&json) }
    #expect(lines == "[{\"a\":1,\"b\\\"\":[]},\n\"c\",\n{}]\n")
  }

  @Test(
    arguments: [
      ("", ""), ("a/ü🌀", "a/ü🌀"), (#""\"#, #"\"\\"#), ("\n\r\t", #"\n\r\t"#),
      ("\u{0}\u{1B}\u{7F}", #"\u0000\u001b\u007f"#),
      ("\u{9B}31m", #"\u009b31m"#), ("\u{202E}\u{2028}\u{FEFF}", #"\u202e\u2028\ufeff"#), ("é\u{301}", "é\u{301}"),
    ])
  func `what could control a terminal is escaped`(_ string: String, _ escaped: String) throws {
    #expect(try text { (json) throws(Sink.Full) in try json.string(string) } == "\"\(escaped)\"")
    #expect(try JSONValue(parsing: "\"\(escaped)\"").text == string)
    let units = try text { (json) throws(Sink.Full) in try json.string(codeUnits: string.utf16) }
    #expect(units == "\"\(escaped)\"")
  }

  @Test(
    arguments: [
      ([0xD800], #"\ud800"#), ([0x61, 0xDC00, 0x62], #"a\udc00b"#), ([0xD83C, 0xDF00], "🌀"),
      ([0xD800, 0xD83C, 0xDF00, 0xD800], #"\ud800🌀\ud800"#),
    ] as [([UInt16], String)])
  func `half of a surrogate pair stays as an escape`(_ units: [UInt16], _ escaped: String) throws {
    #expect(try text { (json) throws(Sink.Full) in try json.string(codeUnits: units) } == "\"\(escaped)\"")
  }

  @Test func `text that is JSON already keeps its quotes`() throws {
    let json = Array("{\"a\":\"\u{9B}\u{7F}\",\n\"b\":1}".utf8)
    let written = try text { (writer) throws(Sink.Full) in
      try unsafe json.span.withUnsafeBytes { (json) throws(Sink.Full) in try unsafe writer.verbatim(json) }
    }
    #expect(written == "{\"a\":\"\\u009b\\u007f\",\n\"b\":1}")
  }

  @Test(arguments: ["", "f", "fo", "foo", "foob", "fooba", "foobar"])
  func `Base64 is that of RFC 4648`(_ plain: String) throws {
    let expected = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"][plain.utf8.count]
    let bytes = Array(plain.utf8)
    let written = try text { (writer) throws(Sink.Full) in
      try unsafe bytes.span.withUnsafeBytes { (bytes) throws(Sink.Full) in try unsafe writer.base64(bytes) }
    }
    #expect(written == "\"\(expected)\"")
    var decoded: [UInt8] = []
    #expect(Base64.append(decoding: Array(expected.utf8), to: &decoded) && decoded == bytes)
  }

  @Test func `a sink that is full ends the text`() {
    var writer = JSONWriter(Sink(limit: 3))
    #expect(throws: Sink.Full.self) { try writer.string("abc") }
  }
}
