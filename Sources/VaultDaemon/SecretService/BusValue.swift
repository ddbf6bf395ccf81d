#if Daemon
  import Glibc
  import VaultFoundation

  /// A value of D-Bus, with those types that `org.freedesktop.secrets`, the portal and properties have.
  indirect enum BusValue: Sendable, Equatable {
    case bool(Bool)
    /// A number of 64 bits; one of 32 is read as such, too.
    case number(UInt64)
    /// A number of 32 bits, to write.
    case word(UInt32)
    case text(String)
    case path(String)
    /// An array of bytes.
    case bytes([UInt8])
    case texts([String])
    case paths([String])
    /// A dictionary of texts.
    case attributes([String: String])
    /// A dictionary of variants.
    case properties([String: BusValue])
    case structure([BusValue])
    /// A dictionary of secrets, by the paths of their items.
    case secrets([String: BusValue])
    case variant(BusValue)
    case file(BusFile)

    /// The signature of the value's type.
    var signature: String {
      switch self {
      case .bool: "b"
      case .number: "t"
      case .word: "u"
      case .text: "s"
      case .path: "o"
      case .bytes: "ay"
      case .texts: "as"
      case .paths: "ao"
      case .attributes: "a{ss}"
      case .properties: "a{sv}"
      case .structure(let parts): "(" + parts.map(\.signature).joined() + ")"
      case .secrets: "a{o(oayays)}"
      case .variant: "v"
      case .file: "h"
      }
    }
  }

  /// A secret on its way over the bus.
  struct BusSecret: Sendable, Equatable {
    /// The path of the session that it is encrypted for.
    var session: String
    var parameters: [UInt8]
    var value: [UInt8]
    var contentType: String

    init(session: String, parameters: [UInt8], value: [UInt8], contentType: String) {
      (self.session, self.parameters, self.value, self.contentType) = (session, parameters, value, contentType)
    }

    /// - Returns: `nil` for anything else than a secret.
    init?(_ value: BusValue) {
      guard case .structure(let parts) = value, parts.count == 4, case .path(let session) = parts[0],
        case .bytes(let parameters) = parts[1], case .bytes(let bytes) = parts[2], case .text(let type) = parts[3]
      else { return nil }
      self.init(session: session, parameters: parameters, value: bytes, contentType: type)
    }

    var asValue: BusValue {
      .structure([.path(session), .bytes(parameters), .bytes(value), .text(contentType)])
    }
  }

  /// A file that a program passed over the bus. It is closed when nobody needs it any more.
  final class BusFile: Sendable, Equatable {
    let descriptor: CInt

    /// Copies a descriptor that belongs to a message.
    init(copying descriptor: CInt) throws(BusFailure) {
      let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
      guard copy >= 0 else { throw .overLimit }
      self.descriptor = copy
    }

    deinit { close(descriptor) }

    static func == (one: BusFile, other: BusFile) -> Bool { one === other }

    /// Writes to a pipe or a socket, without ever waiting for its reader, who may be hostile.
    ///
    /// - Returns: whether it took all bytes; `false` for any other file.
    func write(_ bytes: [UInt8]) -> Bool {
      var facts = stat()
      guard unsafe fstat(descriptor, &facts) == 0 else { return false }
      switch facts.st_mode & S_IFMT {
      case S_IFIFO:
        // Opened again, because O_NONBLOCK belongs to an open file, and the program has this one, too.
        let pipe = unsafe open("/proc/self/fd/\(descriptor)", O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        guard pipe >= 0 else { return false }
        defer { close(pipe) }
        return unsafe Glibc.write(pipe, bytes, bytes.count) == bytes.count
      case S_IFSOCK:
        let flags = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)
        return unsafe send(descriptor, bytes, bytes.count, flags) == bytes.count
      default: return false
      }
    }
  }

  /// A method call that arrived.
  struct BusCall: Sendable {
    /// Identifies the call until it is answered.
    let number: UInt64
    /// The unique name of the connection, which the bus vouches for and never gives away twice.
    var sender: String
    let path: String
    /// `nil` if the caller leaves it to the object.
    let interface: String?
    let member: String
    let signature: String
    let arguments: [BusValue]
    var program: BusProgram
    /// Whether the caller is xdg-desktop-portal, the connection with the name that sandboxed programs call.
    var isFromPortal = false

    /// The first three arguments, which are all that any method here looks at.
    var given: (BusValue?, BusValue?, BusValue?) {
      (arguments.first, arguments.dropFirst().first, arguments.dropFirst(2).first)
    }
  }

  /// An error, as the bus carries it. No message holds a secret, or a name that the caller did not send.
  struct BusFailure: Error, Equatable {
    let name: String
    let message: String

    static let isLocked = BusFailure(
      name: "org.freedesktop.Secret.Error.IsLocked", message: "the collection is locked")
    static let noSession = BusFailure(
      name: "org.freedesktop.Secret.Error.NoSession", message: "there is no such session of this client")
    static let noObject = BusFailure(
      name: "org.freedesktop.Secret.Error.NoSuchObject", message: "there is no such object")
    static let unknownObject = standard("UnknownObject", "there is no such object")
    static let unknownMethod = standard("UnknownMethod", "the object has no such method")
    static let unknownProperty = standard("UnknownProperty", "the object has no such property")
    static let readOnlyProperty = standard("PropertyReadOnly", "the property cannot be set")
    static let denied = standard("AccessDenied", "the program may not do this")
    static let overLimit = standard("LimitsExceeded", "this is more than the service accepts")

    static let plannedOtherwise = failed("other programs keep making items like this one; try again")

    static func invalid(_ message: String) -> BusFailure { standard("InvalidArgs", message) }
    static func unsupported(_ message: String) -> BusFailure { standard("NotSupported", message) }
    static func failed(_ message: String) -> BusFailure { standard("Failed", message) }

    private static func standard(_ name: String, _ message: String) -> BusFailure {
      BusFailure(name: "org.freedesktop.DBus.Error." + name, message: message)
    }
  }

  /// An error number of sd-bus.
  struct BusError: Error {
    let code: Int32

    static func check(_ code: Int32) throws(BusError) {
      if code < 0 { throw BusError(code: -code) }
    }
  }

  extension BusFailure {
    init(_ error: any Error) {
      switch error {
      case let failure as BusFailure: self = failure
      case VaultError.notFound: self = .noObject
      case VaultError.denied: self = .denied
      case VaultError.locked, VaultError.noStore: self = .isLocked
      case VaultError.overLimit: self = .overLimit
      case let error as VaultError where error.exitStatus == .usage: self = .invalid(error.message)
      case let refusal as Refusal: self = .failed(refusal.messages.first ?? "the service cannot answer now")
      default: self = .failed("the service cannot answer now")
      }
    }
  }

  /// A signal to send.
  struct BusSignal: Sendable {
    let path: String
    let interface: String
    let member: String
    let values: [BusValue]
    /// The unique name of the one who gets it; `nil` for everybody who listens.
    var destination: String?
  }
#endif
