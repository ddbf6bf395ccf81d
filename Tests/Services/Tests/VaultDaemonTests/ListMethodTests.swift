import Foundation
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import Testing

@testable import VaultDaemon

/// The handler that lets LIST through, in front of NIO's parser.
struct ListMethodTests {
  /// What the parser makes of `text` in pieces: each request's method, path and body; nil if it refuses the bytes.
  private func requests(_ pieces: [[UInt8]], translated: Bool = true) throws -> [String]? {
    let channel = EmbeddedChannel()
    defer { _ = try? channel.finish() }
    let watch = RequestWatch(Limits())
    let pipeline = channel.pipeline.syncOperations
    if translated { try pipeline.addHandler(ListMethod(watch)) }
    try pipeline.configureHTTPServerPipeline(
      withPipeliningAssistance: false, withErrorHandling: false, withOutboundHeaderValidation: false)
    try pipeline.addHandlers([HTTP1ToHTTPServerCodec(secure: false), watch])
    var found: [String] = []
    do {
      for piece in pieces { try channel.writeInbound(ByteBuffer(bytes: piece)) }
    } catch {
      return nil
    }
    while let part = try channel.readInbound(as: HTTPRequestPart.self) {
      switch part {
      case .head(let head): found.append("\(head.method) \(head.path ?? "") ")
      case .body(let bytes): found[found.count - 1] += String(buffer: bytes)
      case .end: found[found.count - 1] += "."
      }
    }
    return found
  }

  private static let several =
    "LIST /a HTTP/1.1\r\nHost: x\r\n\r\n" + "GET /b HTTP/1.1\r\nHost: LIST x\r\nX: LIST \r\n\r\n"
    + "POST /c HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nLIST LIST " + "LIST /d HTTP/1.1\r\nHost: x\r\n\r\n"
    + "PUT /e HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nLIST \r\n3\r\nabL\r\n0\r\n\r\n"
    + "LIST /LIST HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nL" + "LIST /f HTTP/1.1\r\nHost: x\r\n\r\n"

  private static let expected = [
    "LINK /a .", "GET /b .", "POST /c LIST LIST .", "LINK /d .", "PUT /e LIST abL.", "LINK /LIST L.", "LINK /f .",
  ]

  @Test func `LIST is changed where a request begins, and nowhere else`() throws {
    #expect(try requests([Array(Self.several.utf8)]) == Self.expected)
  }

  @Test func `it does not matter where the bytes are split`() throws {
    let bytes = Array(Self.several.utf8)
    #expect(try requests(bytes.map { [$0] }) == Self.expected)
    for position in bytes.indices {
      #expect(try requests([Array(bytes[..<position]), Array(bytes[position...])]) == Self.expected)
    }
    var random = Numbers(seed: 1)
    for _ in 0..<300 {
      var rest = bytes[...]
      var pieces: [[UInt8]] = []
      while !rest.isEmpty {
        let piece = rest.prefix(Int.random(in: 1...40, using: &random))
        pieces.append(Array(piece))
        rest = rest.dropFirst(piece.count)
      }
      #expect(try requests(pieces) == Self.expected)
    }
  }

  @Test func `bytes without LIST reach the parser as they are`() throws {
    var random = Numbers(seed: 2)
    let words = [
      "GET /a HTTP/1.1\r\n", "Host: x\r\n", "\r\n", "Content-Length: 4\r\n", "abcd", "L", "LI", "LIS", " ", "\n",
      "LINK ",
      "POST / HTTP/1.0\r\n", "Transfer-Encoding: chunked\r\n", "0\r\n\r\n", "4\r\n", "\u{0}", "T ",
      "Connection: close\r\n",
    ]
    for _ in 0..<10_000 {
      var text = ""
      for _ in 0..<Int.random(in: 1...12, using: &random) { text += words.randomElement(using: &random) ?? "" }
      guard !text.contains("LIST ") else { continue }
      let bytes = Array(text.utf8)
      let cut = Int.random(in: 0...bytes.count, using: &random)
      let pieces = [Array(bytes[..<cut]), Array(bytes[cut...])].filter { !$0.isEmpty }
      let plain = try requests(pieces, translated: false)
      let translated = try requests(pieces)
      // A beginning of LIST at the end of the bytes is held back, so its refusal comes with the next byte.
      if plain != nil || translated == nil { #expect(translated == plain, "\(text.debugDescription)") }
    }
  }
}

/// Random numbers that are the same in each run (SplitMix64).
struct Numbers: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
