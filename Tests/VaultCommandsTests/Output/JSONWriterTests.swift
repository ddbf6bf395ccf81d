import Foundation
import Testing

@testable import VaultCommands

@Suite struct JSONWriterTests {
  /// The text that `write` produces.
  static func text(_ write: (inout JSONWriter) throws(Failure) -> Void) throws -> String {
    let descriptor = Pipe.nameless()
    let output = try Output(descriptor: descriptor)
    var json = JSONWriter(output)
    try write(&json)
    try output.flush()
    return String(decoding: Pipe.contents(of: descriptor), as: UTF8.self)
  }

  @Test func `keys keep their order, and each array element has its own line`() throws {
    let text = try Self.text { (json) throws(Failure) in
      try json.array { (json) throws(Failure) in
        try json.object { (json) throws(Failure) in
          try json.string("name", "a")
          try json.number("version", 3)
          try json.string("label", orNull: nil)
          try json.flag("expired", true)
          try json.object("attributes") { (json) throws(Failure) in try json.string("k", "v") }
        }
        try json.object { (json) throws(Failure) in try json.array("list") { (_) throws(Failure) in } }
      }
    }
    #expect(
      text == """
        [{"name":"a","version":3,"label":null,"expired":true,"attributes":{"k":"v"}},
        {"list":[]}]

        """)
  }

  @Test func `another JSON reader reads any text back`() throws {
    let everything = String(String.UnicodeScalarView((0...0x2FF).compactMap(Unicode.Scalar.init))) + "𝄞\u{2028}é"
    let text = try Self.text { (json) throws(Failure) in
      try json.object { (json) throws(Failure) in try json.string("value", everything) }
    }
    let read = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String]
    #expect(read?["value"] == everything)
    #expect(text.dropLast().utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
  }

  @Test func `base64 equals Foundation's`() throws {
    for count in 0..<20 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 89 + 200) }
      let text = try Self.text { (json) throws(Failure) in
        try json.object { (json) throws(Failure) in
          try unsafe bytes.span.withUnsafeBytes { bytes throws(Failure) in try unsafe json.base64("b", bytes) }
        }
      }
      #expect(text == "{\"b\":\"\(Data(bytes).base64EncodedString())\"}\n")
    }
  }
}
