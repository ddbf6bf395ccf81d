internal import CVaultSystem
internal import Glibc
internal import Sealing

/// One connection to the socket of `vaultd`. It implements the small part of HTTP/1.1 that the two use.
final class ServiceConnection: Sendable {
  private let descriptor: CInt
  private let path: String
  /// The path of the store that is meant; `nil` for whichever `vaultd` serves.
  private let store: String?
  let process = getpid()

  /// How many seconds an answer may take, and after how many without a byte `vaultd` must answer another connection.
  private let patience, silence: Int

  init(_ path: String, of store: String? = nil, patience seconds: Int = 30, silence: Int = 30) throws(VaultError) {
    (self.path, self.store, patience, self.silence) = (path, store, seconds, silence)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw .locked(.service("the path of its socket is too long"))
    }
    unsafe Swift.withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw .storage(.tooManyFiles) }
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      var patience = timeval(tv_sec: min(seconds, silence), tv_usec: 0)
      _ = unsafe setsockopt(descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
    }
    let result = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        var result: CInt
        repeat {
          result = unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        } while result != 0 && errno == EINTR
        return result
      }
    }
    guard result == 0 else {
      // Others fill its queue.
      if errno == EAGAIN { throw ServiceConnection.brokenReading }
      throw errno == EACCES ? .closedSocket : ServiceClient.nobodyListens
    }
    var (process, user, group): (Int32, UInt32, UInt32) = (0, 0, 0)
    guard unsafe csystem_peer(descriptor, &process, &user, &group) == 0, ServiceConnection.isTrusted(user, at: path)
    else { throw .locked(.service("another user listens on its socket")) }
  }

  deinit { close(descriptor) }

  /// Whether `user` is trusted to listen on the socket at `path`: root, this process's own user, or a user whom root
  /// let make a socket there. The last means that only root can change the parent folder, and only root or `user` the
  /// folder.
  private static func isTrusted(_ user: uid_t, at path: String) -> Bool {
    if user == 0 || user == geteuid() { return true }
    let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    guard let parentEnd = folder.lastIndex(of: "/"), path.hasPrefix("/") else { return false }
    let parent = parentEnd == folder.startIndex ? "/" : String(folder[..<parentEnd])
    var (status, above) = (stat(), stat())
    guard unsafe lstat(folder, &status) == 0, unsafe lstat(parent, &above) == 0 else { return false }
    return status.st_mode & S_IFMT == S_IFDIR && above.st_mode & S_IFMT == S_IFDIR && above.st_uid == 0
      && above.st_mode & 0o022 == 0 && [0, user].contains(status.st_uid) && status.st_mode & 0o022 == 0
  }

  /// Whether the other side has neither closed the connection nor sent anything unasked.
  var isOpen: Bool {
    var byte: UInt8 = 0
    return unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) < 0 && errno == EAGAIN
  }

  func answer(to call: ServiceCall, _ value: OpenedSecret?) throws(VaultError) -> ServiceAnswer {
    let fields = try call.encoded()
    var writer = ByteWriter()
    writer.writeCounted32(fields)
    let broken = call.operation.isReading ? ServiceConnection.brokenReading : ServiceConnection.brokenChange
    return try answer(to: "/vault/1/call", writer.bytes, value, limit: call.answerLimit, or: broken)
  }

  func answer(
    to path: String, _ body: [UInt8], _ value: OpenedSecret? = nil, limit: Int = 1 << 16,
    or broken: VaultError = brokenChange
  ) throws(VaultError) -> ServiceAnswer {
    try send("POST \(path)", body, value, or: broken)
    let head = try receiveHead(or: broken)
    switch head.status {
    case 200: break
    case 429: throw .service(.busy, "vaultd has too many requests at the moment")
    case 500: throw .service(.unexpected, "vaultd has failed; its own log says why")
    case 503: throw .locked(.service("it is sealed, or cannot write its record"))
    default: throw .locked(.service("it does not answer calls of this version"))
    }
    guard head.bodySize <= limit else { throw .service(.overLimit, "vaultd sent an answer that is too large") }
    let body = try receive(count: head.bodySize, or: broken)
    return try unsafe body.withUnsafeBytes { (body) throws(VaultError) in
      guard body.count >= 4 else { throw ServiceClient.misunderstood }
      let count = Int(UInt32(bigEndian: unsafe body.loadUnaligned(as: UInt32.self)))
      guard count <= body.count - 4 else { throw ServiceClient.misunderstood }
      var answer = try ServiceAnswer(decoding: unsafe Array(body[4..<4 + count]))
      // An item that was opened comes with a secret, which may be empty.
      answer.secret = try unsafe OpenedSecret(copying: UnsafeRawBufferPointer(rebasing: body[(4 + count)...]))
      return answer
    }
  }

  /// Whether a `vaultd` that may take long for this answer is not stopped, because it answers another connection.
  private var answersOthers: Bool {
    guard patience > silence, let other = try? ServiceConnection(path, patience: silence) else { return false }
    guard (try? other.send("GET /v1/sys/init")) != nil else { return false }
    if (try? other.receiveHead(or: ServiceConnection.brokenReading)) != nil { return true }
    return !other.isOpen  // It closes one more than it takes.
  }

  /// Asks `vaultd` to close its store; returns whether it did, because it obeys only root and its own user.
  func seal() throws(VaultError) -> Bool {
    try send("PUT /v1/sys/seal")
    return try receiveHead(or: ServiceConnection.brokenChange).status == 204
  }

  private func send(
    _ request: String, _ body: [UInt8] = [], _ value: OpenedSecret? = nil, or broken: VaultError = brokenChange
  ) throws(VaultError) {
    let count = body.count + (value?.count ?? 0)
    let meant = store.flatMap(StoreLocation.mark).map { "X-Vault-Store: \($0)\r\n" } ?? ""
    let head = Array("\(request) HTTP/1.1\r\nHost: vaultd\r\n\(meant)Content-Length: \(count)\r\n\r\n".utf8)
    try unsafe (head + body).span.withUnsafeBytes { (bytes) throws(VaultError) in try unsafe send(bytes, or: broken) }
    try unsafe value?.withUnsafeBytes { (bytes) throws(VaultError) in try unsafe send(bytes, or: broken) }
  }

  private func send(_ bytes: UnsafeRawBufferPointer, or broken: VaultError) throws(VaultError) {
    var rest = unsafe bytes
    while unsafe !rest.isEmpty {
      let sent = unsafe Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
      guard sent > 0 else {
        if sent < 0, errno == EINTR { continue }
        throw broken
      }
      unsafe rest = UnsafeRawBufferPointer(rebasing: rest[sent...])
    }
  }

  private struct Head {
    let status: Int
    let bodySize: Int

    init(parsing text: String) throws(VaultError) {
      let lines = text.split(separator: "\r\n")
      let length = lines.dropFirst().lazy.compactMap { line -> Int? in
        let parts = line.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "content-length" else { return nil }
        return Int(parts[1].drop { $0 == " " }) ?? -1
      }.first
      guard let first = lines.first, first.hasPrefix("HTTP/1.1 "), let status = Int(first.dropFirst(9).prefix(3)),
        let bodySize = length ?? (status == 200 ? nil : 0), (0...1 << 28).contains(bodySize)
      else { throw ServiceClient.misunderstood }
      (self.status, self.bodySize) = (status, bodySize)
    }
  }

  /// Reads the head of the answer, but none of its body, which must go directly into guarded memory.
  private func receiveHead(or broken: VaultError) throws(VaultError) -> Head {
    var seen = [UInt8](repeating: 0, count: 8_192)
    defer { unsafe explicit_bzero(&seen, seen.count) }
    let start = SystemClock.monotonic()
    var known = 0
    while SystemClock.monotonic() - start < .seconds(patience) {
      let count = unsafe recv(descriptor, &seen, seen.count, Int32(MSG_PEEK))
      guard count > 0 else {
        if count < 0, errno == EINTR || errno == EAGAIN && answersOthers { continue }
        throw broken
      }
      let end = (0..<count).first { $0 >= 3 && seen[($0 - 3)...$0].elementsEqual([13, 10, 13, 10]) }.map { $0 + 1 }
      if let end {
        guard unsafe recv(descriptor, &seen, end, Int32(MSG_WAITALL)) == end else { throw broken }
        let head = try Head(parsing: String(decoding: seen[..<end], as: UTF8.self))
        guard head.status == 421, let store else { return head }
        let body = try receive(count: min(head.bodySize, 4_096), or: broken)
        let served = unsafe body.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        throw .locked(.otherStore(store, served: served.isEmpty ? nil : served))
      }
      guard count < seen.count else { throw ServiceClient.misunderstood }
      // The rest of the head has not arrived yet, so wait for more bytes.
      if count == known { usleep(1_000) }
      known = count
    }
    throw broken
  }

  private func receive(count: Int, or broken: VaultError) throws(VaultError) -> GuardedBytes {
    let body = try sealing(GuardedBytes(count: count))
    let start = SystemClock.monotonic()
    try unsafe body.withUnsafeMutableBytes { (memory) throws(VaultError) in
      var rest = unsafe memory
      while unsafe !rest.isEmpty {
        let got = unsafe recv(descriptor, rest.baseAddress, rest.count, 0)
        guard SystemClock.monotonic() - start < .seconds(2 * patience) else { throw broken }
        guard got > 0 else {
          if got < 0, errno == EINTR { continue }
          throw broken
        }
        unsafe rest = UnsafeMutableRawBufferPointer(rebasing: rest[got...])
      }
    }
    return body
  }

  static let brokenReading = VaultError.service(.busy, "vaultd did not answer in time, or ended")
  static let brokenChange = VaultError.service(
    .busy, "vaultd did not answer in time, or ended; the change may have been made")
}
