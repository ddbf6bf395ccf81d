import Foundation

/// A client that sends exactly the bytes it is told, and waits on its own thread.
final class RawClient: @unchecked Sendable {
  private let descriptor: Int32
  /// Whether nothing came for so long that nothing will.
  private(set) var isForgotten = false
  /// In seconds; longer than the daemon keeps a silent connection.
  private static let patience = 600

  /// Connects to a port of this machine.
  init?(port: UInt16) {
    descriptor = Self.socket(AF_INET)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { return nil }
  }

  /// - Returns: `nil` if nobody listens.
  init?(_ path: String) {
    descriptor = Self.socket(AF_UNIX)
    let result = withUnixAddress(path) { connect(descriptor, $0, $1) }
    // Everything is initialized, so the descriptor is closed by deinit.
    guard result == 0 else { return nil }
  }

  deinit { close(descriptor) }

  private static func socket(_ family: Int32) -> Int32 {
    let descriptor = Foundation.socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var time = timeval(tv_sec: patience, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    return descriptor
  }

  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// The next bytes; empty at the end, `nil` if the connection is broken.
  func receive() -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    if count < 0, errno == EAGAIN { isForgotten = true }
    return count < 0 ? nil : Array(bytes[..<count])
  }

  /// All bytes until the other side closes the connection.
  func receiveAll() -> String {
    var all: [UInt8] = []
    while let bytes = receive(), !bytes.isEmpty { all += bytes }
    return String(decoding: all, as: UTF8.self)
  }

  /// Sends a request, and waits for its answer.
  ///
  /// - Returns: the status and the body; `nil` if the connection ended before.
  func request(_ method: String, _ path: String, _ body: String = "") -> (status: Int, body: String)? {
    let head = "\(method) \(path) HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
    return send(Array((head + body).utf8)) ? answer() : nil
  }

  /// Waits for the answer to one request.
  func answer() -> (status: Int, body: String)? {
    var all = ""
    while true {
      guard let bytes = receive(), !bytes.isEmpty else { return nil }
      all += String(decoding: bytes, as: UTF8.self)
      guard let end = all.range(of: "\r\n\r\n") else { continue }
      let head = all[..<end.lowerBound]
      guard let status = head.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
      let length =
        head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
        .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
      if all[end.upperBound...].utf8.count >= length { return (status, String(all[end.upperBound...])) }
    }
  }
}

/// Runs `body` on a thread of its own, because the threads of the tests are also the daemon's.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: body()) }
  }
}

/// Calls `body` with the address of the Unix socket at `path`, which may be an abstract name, and the number of its bytes.
func withUnixAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
  return withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(2 + path.utf8.count)) }
  }
}
