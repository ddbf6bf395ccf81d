import Foundation
import Synchronization

/// A session bus with one client, which gets a forged error and a forged answer before the true one, as from another client
/// of the bus that guesses calls.
final class ForgingBus: Sendable {
  /// A value of an answer in the wire format of D-Bus.
  struct Answer: Sendable {
    var signature = ""
    var body: [UInt8] = []

    static let nothing = Answer()
    static func number(_ number: UInt32) -> Answer { Answer(signature: "u", body: bytes(number)) }
    static func text(_ text: String) -> Answer { Answer(signature: "s", body: string(text)) }
  }

  /// A message of the client.
  struct Message: Sendable {
    let kind: UInt8
    let serial: UInt32
    /// Texts of the header by their numbers in D-Bus's specification: 3 the member, 4 the name of an error, 6 the receiver.
    let texts: [UInt8: String]
    let replies: UInt32?
  }

  let address: String
  private let path: String
  private let listener: Int32
  private let state = Mutex((client: Int32(-1), counts: [String: Int](), answers: [UInt32: Message](), hasEnded: false))
  private let answer: @Sendable (Message) -> (forged: Answer, true: Answer)
  /// Sent when the client asks for its name on the bus.
  private let call: [UInt8]

  static let callSerial: UInt32 = 77

  /// - Parameters:
  ///   - call: a call of the client `:1.9`, if there is one, or several.
  ///   - answer: what a call is answered, first by a forger and then by whom it went to.
  init?(call: [UInt8] = [], answer: @escaping @Sendable (Message) -> (forged: Answer, true: Answer)) {
    path = NSTemporaryDirectory() + "bus-\(UUID().uuidString.prefix(8))"
    address = "unix:path=" + path
    (self.call, self.answer) = (call, answer)
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let result = withUnixAddress(path) { bind(listener, $0, $1) }
    guard result == 0, listen(listener, 1) == 0 else { return nil }
    Thread.detachNewThread { [self] in serve() }
  }

  func end() {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    unlink(path)
  }

  /// Ends the connection.
  func leave() { state.withLock { _ = shutdown($0.client, Int32(SHUT_RDWR)) } }

  /// The client's answer to ``call``; `nil` before it comes.
  var answerOfClient: Message? { state.withLock { $0.answers[Self.callSerial] } }

  /// All answers of the client.
  var answers: [Message] { state.withLock { Array($0.answers.values) } }

  /// Whether the client has left.
  var hasEnded: Bool { state.withLock { $0.hasEnded } }

  // MARK: Serving

  private func serve() {
    let client = accept(listener, nil, nil)
    guard client >= 0 else { return }
    _ = fcntl(client, F_SETFD, FD_CLOEXEC)
    state.withLock { $0.client = client }
    defer {
      close(client)
      state.withLock { $0.hasEnded = true }
    }
    var input = greet(client)
    while let message = next(on: client, &input) {
      if message.kind == 1 { reply(to: message, on: client) }
      if let replies = message.replies { state.withLock { $0.answers[replies] = message } }
    }
  }

  /// The beginning of a connection, which is lines of text.
  ///
  /// - Returns: what the client sent after it.
  private func greet(_ client: Int32) -> [UInt8] {
    var input: [UInt8] = []
    while true {
      while let end = input.firstIndex(of: 10) {
        let line = String(decoding: input[..<end], as: UTF8.self)
        input.removeFirst(end + 1)
        if line.contains("BEGIN") { return input }
        if line.contains("AUTH EXTERNAL\r") { send("DATA\r\n", to: client) }
        if line.hasPrefix("DATA") || line.contains("AUTH EXTERNAL ") {
          send("OK 0123456789abcdef0123456789abcdef\r\n", to: client)
        }
        if line.hasPrefix("NEGOTIATE") { send("AGREE_UNIX_FD\r\n", to: client) }
      }
      guard receive(from: client, &input) else { return [] }
    }
  }

  private func reply(to message: Message, on client: Int32) {
    let member = message.texts[3] ?? ""
    guard member != "Hello" else {
      return send(Self.message(2, to: message.serial, from: Self.bus, .text(":1.5")), to: client)
    }
    let turn = state.withLock { state in
      state.counts[member, default: 0] += 1
      return state.counts[member, default: 0]
    }
    let (forged, real) = answer(message)
    if turn == 1 { send(Self.message(3, to: message.serial, from: ":1.66", .nothing), to: client) }
    if turn == 2 { send(Self.message(2, to: message.serial, from: ":1.66", forged), to: client) }
    send(Self.message(2, to: message.serial, from: message.texts[6] ?? Self.bus, real), to: client)
    if member == "RequestName", turn == 3 { send(call, to: client) }
  }

  private func next(on client: Int32, _ input: inout [UInt8]) -> Message? {
    func number(_ offset: Int) -> Int { input[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | Int($1) } }
    func padded(_ offset: Int, _ size: Int) -> Int { (offset + size - 1) / size * size }
    while input.count < 16 || input.count < padded(16 + number(12), 8) + number(4) {
      guard receive(from: client, &input) else { return nil }
    }
    let end = 16 + number(12)
    var (texts, replies, offset) = ([UInt8: String](), UInt32?.none, 16)
    while offset < end {
      offset = padded(offset, 8)
      let (code, type) = (input[offset], input[offset + 2])
      // The code, and the type as a signature of one character.
      offset += 4
      if type == UInt8(ascii: "g") {
        offset += 2 + Int(input[offset])
      } else if type == UInt8(ascii: "u") {
        if code == 5 { replies = UInt32(number(offset)) }
        offset += 4
      } else {
        let count = number(offset)
        texts[code] = String(decoding: input[(offset + 4)..<(offset + 4 + count)], as: UTF8.self)
        offset += 5 + count
      }
    }
    let message = Message(kind: input[1], serial: UInt32(number(8)), texts: texts, replies: replies)
    input.removeFirst(padded(end, 8) + number(4))
    return message
  }

  private func receive(from client: Int32, _ input: inout [UInt8]) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = recv(client, &bytes, bytes.count, 0)
    input += bytes.prefix(max(0, count))
    return count > 0
  }

  private func send(_ text: String, to client: Int32) { send(Array(text.utf8), to: client) }

  private func send(_ bytes: [UInt8], to client: Int32) {
    _ = Foundation.send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  // MARK: Bytes

  private static let bus = "org.freedesktop.DBus"

  static func bytes(_ number: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }
  static func string(_ text: String) -> [UInt8] { bytes(UInt32(text.utf8.count)) + text.utf8 + [0] }

  /// A call, an answer or an error.
  private static func message(_ kind: UInt8, to serial: UInt32, from sender: String, _ answer: Answer) -> [UInt8] {
    var fields: [(UInt8, String, [UInt8])] = [
      (5, "u", bytes(serial)), (7, "s", string(sender)), (6, "s", string(":1.5")),
    ]
    if kind == 3 { fields.append((4, "s", string("org.freedesktop.DBus.Error.Failed"))) }
    return message(kind, serial + 1_000, fields, answer)
  }

  /// A call of `:1.9`.
  static func call(
    _ member: String, of interface: String, at path: String, _ arguments: Answer, serial: UInt32 = callSerial
  ) -> [UInt8] {
    message(
      1, serial,
      [
        (1, "o", string(path)), (2, "s", string(interface)), (3, "s", string(member)), (7, "s", string(":1.9")),
        (6, "s", string(":1.5")),
      ], arguments)
  }

  private static func message(
    _ kind: UInt8, _ serial: UInt32, _ fields: [(code: UInt8, type: String, value: [UInt8])], _ content: Answer
  ) -> [UInt8] {
    var list: [UInt8] = []
    func pad(_ bytes: inout [UInt8]) { while bytes.count % 8 != 0 { bytes.append(0) } }
    var all = fields
    if !content.signature.isEmpty {
      all.append((8, "g", [UInt8(content.signature.utf8.count)] + content.signature.utf8 + [0]))
    }
    for field in all {
      pad(&list)
      list += [field.code, 1] + field.type.utf8 + [0] + field.value
    }
    var message = [UInt8(ascii: "l"), kind, 0, 1] + bytes(UInt32(content.body.count)) + bytes(serial)
    message += bytes(UInt32(list.count)) + list
    pad(&message)
    return message + content.body
  }
}
