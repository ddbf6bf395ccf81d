#if Daemon
  internal import CSystemd
  import Glibc

  /// A message of sd-bus. It is used by the thread of its connection alone, because sd-bus does not lock.
  @safe struct BusMessage: ~Copyable {
    private let message: OpaquePointer
    /// The values and bytes that may still be read, so that a message cannot take memory out of proportion.
    private var (valuesLeft, bytesLeft) = (valueLimit, byteLimit)
    private var takesFiles = false
    private static let (valueLimit, byteLimit) = (16_384, 4 << 20)

    /// The name of the bus itself, which nobody else can have as a sender.
    static let busName = "org.freedesktop.DBus"
    static let busPath = "/org/freedesktop/DBus"

    /// Takes over a reference.
    init(_ message: OpaquePointer) { unsafe self.message = unsafe message }

    /// An answer to `call`.
    init(answering call: borrowing BusMessage) throws(BusError) {
      var made: OpaquePointer?
      try BusError.check(unsafe sd_bus_message_new_method_return(call.message, &made))
      unsafe try self.init(made: made)
    }

    init(answering call: borrowing BusMessage, with failure: BusFailure) throws(BusError) {
      var made: OpaquePointer?
      let code = unsafe failure.name.withCString { name in
        unsafe failure.message.withCString { message in
          var error = unsafe sd_bus_error(name: name, message: message, _need_free: 0)
          return unsafe sd_bus_message_new_method_error(call.message, &made, &error)
        }
      }
      try BusError.check(code)
      unsafe try self.init(made: made)
    }

    init(_ signal: BusSignal, on bus: OpaquePointer) throws(BusError) {
      var made: OpaquePointer?
      try BusError.check(
        unsafe sd_bus_message_new_signal(bus, &made, signal.path, signal.interface, signal.member))
      if let destination = signal.destination {
        do throws(BusError) {
          try BusError.check(unsafe sd_bus_message_set_destination(made, destination))
        } catch {
          unsafe sd_bus_message_unref(made)
          throw error
        }
      }
      unsafe try self.init(made: made)
    }

    /// A call of another connection's method.
    init(
      calling member: String, of interface: String, at path: String, on destination: String, bus: OpaquePointer
    ) throws(BusError) {
      var made: OpaquePointer?
      try BusError.check(unsafe sd_bus_message_new_method_call(bus, &made, destination, path, interface, member))
      unsafe try self.init(made: made)
    }

    private init(made: OpaquePointer?) throws(BusError) {
      guard let made = unsafe made else { throw BusError(code: 0) }
      unsafe self.init(made)
    }

    deinit { unsafe sd_bus_message_unref(message) }

    // MARK: What it says

    var isCall: Bool { kind == UInt8(SD_BUS_MESSAGE_METHOD_CALL) }
    var isSignal: Bool { kind == UInt8(SD_BUS_MESSAGE_SIGNAL) }

    private var kind: UInt8 {
      var kind: UInt8 = 0
      _ = unsafe sd_bus_message_get_type(message, &kind)
      return kind
    }

    var path: String { unsafe text(sd_bus_message_get_path(message)) ?? "" }
    var interface: String? { unsafe text(sd_bus_message_get_interface(message)) }
    var member: String { unsafe text(sd_bus_message_get_member(message)) ?? "" }
    var sender: String { unsafe text(sd_bus_message_get_sender(message)) ?? "" }
    var signature: String { unsafe text(sd_bus_message_get_signature(message, 1)) ?? "" }

    private func text(_ start: UnsafePointer<CChar>?) -> String? {
      unsafe start.map { unsafe String(cString: $0) }
    }

    // MARK: Reading

    /// The memory that the message and the values read from it take, roughly.
    var byteCount: Int { 4_096 + Self.byteLimit - bytesLeft + 64 * (Self.valueLimit - valuesLeft) }

    /// Reads all values.
    ///
    /// - Parameter takesFiles: whether files may be among them.
    /// - Throws: ``BusFailure`` for types that no method here takes, and beyond the limits.
    mutating func values(takingFiles takesFiles: Bool) throws(BusFailure) -> [BusValue] {
      self.takesFiles = takesFiles
      return try values()
    }

    mutating func values() throws(BusFailure) -> [BusValue] {
      var values: [BusValue] = []
      while let (type, contents) = next() { values.append(try value(type, contents)) }
      return values
    }

    /// The type of the next value of the container that is being read, and what it contains; `nil` at its end.
    private func next() -> (type: UInt8, contents: String)? {
      var (type, contents): (CChar, UnsafePointer<CChar>?) = (0, nil)
      guard unsafe sd_bus_message_peek_type(message, &type, &contents) > 0 else { return nil }
      return (UInt8(bitPattern: type), unsafe text(contents) ?? "")
    }

    private mutating func value(_ type: UInt8, _ contents: String) throws(BusFailure) -> BusValue {
      try take(values: 1)
      switch type {
      case UInt8(ascii: "s"), UInt8(ascii: "o"):
        var start: UnsafePointer<CChar>?
        guard unsafe sd_bus_message_read_basic(message, CChar(type), &start) > 0 else { throw .malformed }
        let text = unsafe text(start) ?? ""
        try take(bytes: text.utf8.count)
        return type == UInt8(ascii: "s") ? .text(text) : .path(text)
      case UInt8(ascii: "b"):
        var flag: Int32 = 0
        guard unsafe sd_bus_message_read_basic(message, CChar(type), &flag) > 0 else { throw .malformed }
        return .bool(flag != 0)
      case UInt8(ascii: "u"):
        var number: UInt32 = 0
        guard unsafe sd_bus_message_read_basic(message, CChar(type), &number) > 0 else { throw .malformed }
        return .number(UInt64(number))
      case UInt8(ascii: "t"):
        var number: UInt64 = 0
        guard unsafe sd_bus_message_read_basic(message, CChar(type), &number) > 0 else { throw .malformed }
        return .number(number)
      case UInt8(ascii: "h") where takesFiles:
        var descriptor: CInt = -1
        guard unsafe sd_bus_message_read_basic(message, CChar(type), &descriptor) > 0 else { throw .malformed }
        return .file(try BusFile(copying: descriptor))
      case UInt8(ascii: "v") where ["n", "q", "i", "x", "y", "d", "g"].contains(contents):
        // Like a property that nobody knows. Only kinds of a few bytes, because what is skipped does not count as memory.
        guard unsafe sd_bus_message_skip(message, "v") >= 0 else { throw .malformed }
        return .variant(.texts([]))
      case UInt8(ascii: "v"):
        let inner = try inside(type, contents) { (message) throws(BusFailure) in try message.single() }
        return .variant(inner)
      case UInt8(ascii: "r"):
        return .structure(try inside(type, contents) { (message) throws(BusFailure) in try message.values() })
      case UInt8(ascii: "a"): return try array(contents)
      default: throw .invalid("a type that no method takes")
      }
    }

    private mutating func single() throws(BusFailure) -> BusValue {
      guard let (type, contents) = next() else { throw .malformed }
      return try value(type, contents)
    }

    private mutating func array(_ contents: String) throws(BusFailure) -> BusValue {
      switch contents {
      case "y":
        var (start, count): (UnsafeRawPointer?, Int) = (nil, 0)
        guard unsafe sd_bus_message_read_array(message, CChar(UInt8(ascii: "y")), &start, &count) >= 0 else {
          throw .malformed
        }
        try take(bytes: count)
        return .bytes(unsafe Array(UnsafeRawBufferPointer(start: start, count: count)))
      case "s", "o":
        let elements = try inside(UInt8(ascii: "a"), contents) { (message) throws(BusFailure) in
          try message.values()
        }
        let texts = elements.compactMap { element -> String? in
          switch element {
          case .text(let text), .path(let text): text
          default: nil
          }
        }
        return contents == "s" ? .texts(texts) : .paths(texts)
      case "{ss}", "{sv}":
        var (texts, variants): ([String: String], [String: BusValue]) = ([:], [:])
        let entry = String(contents.dropFirst().dropLast())
        try inside(UInt8(ascii: "a"), contents) { (message) throws(BusFailure) in
          while message.next() != nil {
            let pair = try message.inside(UInt8(ascii: "e"), entry) { (message) throws(BusFailure) in
              try message.values()
            }
            guard pair.count == 2, case .text(let key) = pair[0] else { throw .malformed }
            guard texts[key] == nil, variants[key] == nil else { throw .invalid("a dictionary has a key twice") }
            switch pair[1] {
            case .text(let text): texts[key] = text
            case .variant(let value): variants[key] = value
            default: throw .malformed
            }
          }
        }
        return contents == "{ss}" ? .attributes(texts) : .properties(variants)
      default: throw .invalid("a type that no method takes")
      }
    }

    private mutating func inside<Result>(
      _ type: UInt8, _ contents: String, _ body: (inout BusMessage) throws(BusFailure) -> Result
    ) throws(BusFailure) -> Result {
      guard unsafe sd_bus_message_enter_container(message, CChar(type), contents) > 0 else { throw .malformed }
      let result = try body(&self)
      guard unsafe sd_bus_message_exit_container(message) >= 0 else { throw .malformed }
      return result
    }

    private mutating func take(values: Int = 0, bytes: Int = 0) throws(BusFailure) {
      (valuesLeft, bytesLeft) = (valuesLeft - values, bytesLeft - bytes)
      guard valuesLeft >= 0, bytesLeft >= 0 else { throw .overLimit }
    }

    // MARK: Writing

    /// Has sd-bus overwrite the message's memory when it is freed.
    func markSensitive() { _ = unsafe sd_bus_message_sensitive(message) }

    func append(_ values: [BusValue]) throws(BusError) {
      for value in values { try append(value) }
    }

    private func append(_ value: BusValue) throws(BusError) {
      switch value {
      case .bool(let flag):
        var number: Int32 = flag ? 1 : 0
        try BusError.check(unsafe sd_bus_message_append_basic(message, CChar(UInt8(ascii: "b")), &number))
      case .number(var number):
        try BusError.check(unsafe sd_bus_message_append_basic(message, CChar(UInt8(ascii: "t")), &number))
      case .word(var number):
        try BusError.check(unsafe sd_bus_message_append_basic(message, CChar(UInt8(ascii: "u")), &number))
      case .file(let file):
        var descriptor = file.descriptor
        try BusError.check(unsafe sd_bus_message_append_basic(message, CChar(UInt8(ascii: "h")), &descriptor))
      case .text(let text): try append(text, as: "s")
      case .path(let path): try append(path, as: "o")
      case .bytes(let bytes):
        try BusError.check(
          unsafe bytes.withUnsafeBytes {
            unsafe sd_bus_message_append_array(message, CChar(UInt8(ascii: "y")), $0.baseAddress, $0.count)
          })
      case .texts(let texts):
        try container("a", "s") { () throws(BusError) in for text in texts { try append(text, as: "s") } }
      case .paths(let paths):
        try container("a", "o") { () throws(BusError) in for path in paths { try append(path, as: "o") } }
      case .attributes(let pairs):
        try entries(pairs, "{ss}") { (key, value) throws(BusError) in
          try append(key, as: "s")
          try append(value, as: "s")
        }
      case .properties(let pairs):
        try entries(pairs, "{sv}") { (key, value) throws(BusError) in
          try append(key, as: "s")
          try append(.variant(value))
        }
      case .secrets(let secrets):
        try entries(secrets, "{o(oayays)}") { (key, value) throws(BusError) in
          try append(key, as: "o")
          try append(value)
        }
      case .structure(let parts):
        try container("r", parts.map(\.signature).joined()) { () throws(BusError) in try append(parts) }
      case .variant(let inner): try container("v", inner.signature) { () throws(BusError) in try append(inner) }
      }
    }

    private func append(_ text: String, as type: Unicode.Scalar) throws(BusError) {
      try BusError.check(
        unsafe text.withCString { unsafe sd_bus_message_append_basic(message, CChar(type.value), $0) })
    }

    private func entries<Value>(
      _ pairs: [String: Value], _ contents: String, _ write: (String, Value) throws(BusError) -> Void
    ) throws(BusError) {
      try container("a", contents) { () throws(BusError) in
        for (key, value) in pairs {
          try container("e", String(contents.dropFirst().dropLast())) { () throws(BusError) in
            try write(key, value)
          }
        }
      }
    }

    private func container(
      _ type: Unicode.Scalar, _ contents: String, _ write: () throws(BusError) -> Void
    ) throws(BusError) {
      try BusError.check(unsafe sd_bus_message_open_container(message, CChar(type.value), contents))
      try write()
      try BusError.check(unsafe sd_bus_message_close_container(message))
    }

    // MARK: Sending

    func send(on bus: OpaquePointer) throws(BusError) {
      try BusError.check(unsafe sd_bus_send(bus, message, nil))
    }

    /// Calls a method, and waits at most 25 seconds for the answer.
    ///
    /// Any client can send an answer, or an error, to a call whose number it guesses, and sd-bus takes the first one that
    /// comes. So an answer counts only if the connection that was called has sent it. Otherwise the call is repeated, which
    /// must do no harm.
    ///
    /// - Parameter owner: the unique name of a connection, or the name of the bus itself, which are also those of the sender.
    static func answer(
      of owner: String, to member: String, of interface: String, at path: String, _ values: [BusValue],
      on bus: OpaquePointer
    ) throws(BusError) -> BusMessage {
      var failure = BusError(code: EBADMSG)
      for _ in 0..<8 {
        let call = unsafe try BusMessage(calling: member, of: interface, at: path, on: owner, bus: bus)
        try call.append(values)
        var answer: OpaquePointer?
        let code = unsafe sd_bus_call(bus, call.message, 25_000_000, nil, &answer)
        guard code >= 0 else {
          failure = BusError(code: -code)
          // Not even a forged answer came.
          if unsafe sd_bus_is_open(bus) <= 0 || failure.code == ETIMEDOUT { throw failure }
          continue
        }
        let received = unsafe try BusMessage(made: answer)
        if received.sender == owner { return received }
      }
      throw failure
    }

    /// What the bus itself answers.
    static func answerOfBus(
      to member: String, _ values: [BusValue], on bus: OpaquePointer
    ) throws(BusError) -> BusMessage {
      unsafe try answer(of: busName, to: member, of: busName, at: busPath, values, on: bus)
    }
  }

  extension BusFailure {
    fileprivate static let malformed = invalid("a message that does not hold what its signature says")
  }
#endif
