#if Daemon
  import Ground
  import Foundation

  // What etcd's gateway takes and gives: the messages of its `rpc.proto` in JSON. Bytes are in Base64, numbers of 64 bits
  // are strings, and fields that are zero, false or empty are left out.

  struct EtcdRange: Encodable, Sendable {
    var key: Data
    var rangeEnd: Data?
    var limit: Int?
    var keysOnly: Bool?
  }

  struct EtcdPut: Encodable, Sendable {
    var key: Data
    var value: Data
  }

  struct EtcdDeletion: Encodable, Sendable {
    var key: Data
    var rangeEnd: Data?
  }

  struct EtcdCompare: Encodable, Sendable {
    var key: Data
    var target: String
    var result = "EQUAL"
    var modRevision: String?
    var value: Data?

    /// The key was last written at `revision`; `nil` if it must not be there.
    static func revision(of key: Data, is revision: LogRevision?) -> EtcdCompare {
      EtcdCompare(key: key, target: "MOD", modRevision: String(revision?.number ?? 0))
    }

    static func value(of key: Data, is value: [UInt8]) -> EtcdCompare {
      EtcdCompare(key: key, target: "VALUE", value: Data(value))
    }
  }

  struct EtcdOperation: Encodable, Sendable {
    var requestRange: EtcdRange?
    var requestPut: EtcdPut?
    var requestDeleteRange: EtcdDeletion?

    static func read(_ key: Data) -> EtcdOperation { EtcdOperation(requestRange: EtcdRange(key: key)) }

    static func read(_ range: EtcdRange) -> EtcdOperation { EtcdOperation(requestRange: range) }

    static func put(_ key: Data, _ value: [UInt8]) -> EtcdOperation {
      EtcdOperation(requestPut: EtcdPut(key: key, value: Data(value)))
    }

    static func delete(_ key: Data, upTo end: Data? = nil) -> EtcdOperation {
      EtcdOperation(requestDeleteRange: EtcdDeletion(key: key, rangeEnd: end))
    }
  }

  struct EtcdTransaction: Encodable, Sendable {
    var compare: [EtcdCompare] = []
    var success: [EtcdOperation]
    var failure: [EtcdOperation] = []
  }

  struct EtcdWatch: Encodable, Sendable {
    struct Creation: Encodable, Sendable {
      var key: Data
      var rangeEnd: Data
      var startRevision: String
      /// Answers are split where they exceed the server's limit for a request.
      var fragment = true
      /// A watch that has had no event for some minutes is told how far the server's store is.
      var progressNotify = true
    }

    var createRequest: Creation
  }

  /// A number of 64 bits, which JSON has as a string.
  struct EtcdNumber<Value: FixedWidthInteger & Sendable>: Decodable, Sendable {
    let value: Value

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      guard let value = Value(try container.decode(String.self)), value >= 0, value < .max else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "no number")
      }
      self.value = value
    }
  }

  /// The part of each answer that says which cluster answers, and the newest revision of its store.
  struct EtcdHeader: Decodable, Sendable {
    var clusterId: EtcdNumber<UInt64>?
    let revision: EtcdNumber<Int64>
  }

  struct EtcdPair: Decodable, Sendable {
    let key: Data
    var modRevision: EtcdNumber<Int64>?
    var value: Data?

    var bytes: [UInt8] { Array(value ?? Data()) }

    var revision: LogRevision? {
      modRevision.flatMap { $0.value > 0 ? LogRevision(number: $0.value) : nil }
    }
  }

  struct EtcdRangeAnswer: Decodable, Sendable {
    let header: EtcdHeader
    var kvs: [EtcdPair]?
  }

  struct EtcdTransactionAnswer: Decodable, Sendable {
    struct Response: Decodable, Sendable {
      var responseRange: EtcdRangeAnswer?
    }

    let header: EtcdHeader
    var succeeded: Bool?
    var responses: [Response]?
  }

  /// An answer that says no more than that the call was done.
  struct EtcdDone: Decodable, Sendable {
    let header: EtcdHeader
  }

  struct EtcdWatchLine: Decodable, Sendable {
    struct Event: Decodable, Sendable {
      /// `DELETE`; left out for a put.
      var type: String?
      let kv: EtcdPair
    }

    struct Header: Decodable, Sendable {
      var clusterId: EtcdNumber<UInt64>?
      var revision: EtcdNumber<Int64>?
    }

    struct Result: Decodable, Sendable {
      let header: Header
      var created: Bool?
      var canceled: Bool?
      var compactRevision: EtcdNumber<Int64>?
      var fragment: Bool?
      var events: [Event]?
    }

    let result: Result
  }
#endif
