#if Daemon
  package import Ground
  import HTTPTypes
  import Hummingbird
  import HummingbirdCore
  import NIOCore

  // The forms that answers of HashiCorp's interface have.

  extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
  {
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int) { self = .number(String(value)) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) { self = .members(elements) }

    static func members(_ pairs: some Sequence<(String, JSONValue)>) -> JSONValue {
      .object(pairs.map { Member(name: $0.0, value: $0.1, line: 0) })
    }

    static func number(_ value: some BinaryInteger) -> JSONValue { .number(String(value)) }

    /// The members of an object; if a name occurs more than once, the last one counts. `nil` for anything else.
    var members: [String: JSONValue]? {
      guard case .object(let members) = self else { return nil }
      return Dictionary(members.map { ($0.name, $0.value) }) { $1 }
    }

    var flag: Bool? { if case .bool(let flag) = self { flag } else { nil } }

    /// A whole number, given as a number or, as some clients write it, as text.
    var whole: Int? {
      switch self {
      case .number(let text), .string(let text): Int(text)
      default: nil
      }
    }
  }

  extension Response {
    init(_ status: HTTPResponse.Status, json: JSONValue) { self.init(status, "application/json", json.json) }

    init(_ status: HTTPResponse.Status, _ type: String, _ bytes: [UInt8]) {
      self.init(
        status: status, headers: [.contentType: type, .cacheControl: "no-store"],
        body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// The envelope of every answer that contains data.
    static func data(
      _ data: JSONValue, _ status: HTTPResponse.Status = .ok, lease: Int = 0, auth: JSONValue = .null,
      warnings: [String] = []
    ) -> Response {
      Response(
        status,
        json: [
          "request_id": .string(RequestID().description), "lease_id": "", "renewable": false,
          "lease_duration": .number(lease), "data": data, "wrap_info": .null,
          "warnings": warnings.isEmpty ? .null : .array(warnings.map(JSONValue.string)), "auth": auth,
        ])
    }

    static var nothing: Response { Response(status: .noContent, headers: [.cacheControl: "no-store"]) }

    init(_ refusal: Refusal) {
      self.init(refusal.status, json: ["errors": .array(refusal.messages.map(JSONValue.string))])
      if let seconds = refusal.retryAfter { headers[.retryAfter] = String(seconds) }
    }
  }
#endif
