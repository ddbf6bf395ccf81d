import Foundation
import Synchronization
import VaultFoundation

@testable import VaultDaemon

/// etcd servers on loopback, from Debian's packages. They end with the last reference, or with the process of the tests.
final class EtcdCluster: Sendable {
  static let program = "/usr/bin/etcd"
  static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }
  static let needsEtcd = "etcd is not installed: tools/prepare --with-clients"

  /// One server for all tests that only store and read.
  static func shared() async throws -> EtcdCluster { try await sharing.value }
  private static let sharing = Task { try await EtcdCluster(1) }

  let folder: String
  let ports: [Int]
  private let peerPorts: [Int]
  private let arguments: [String]
  private let scheme: String
  private let remover: Program
  private let nodes: Mutex<[Int: Program]> = Mutex([:])
  /// Another one for each group that a test makes.
  private static let groups = Atomic<UInt64>(0)

  /// - Parameters:
  ///   - count: how many servers.
  ///   - scheme: of the clients' connections.
  ///   - arguments: more for each of them.
  ///   - isReady: whether to wait until they answer.
  init(_ count: Int, scheme: String = "http", arguments: [String] = [], isReady: Bool = true) async throws {
    folder = Self.place(for: count) + "etcd-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let free = FreePorts.take(2 * count)
    (ports, peerPorts) = (Array(free.prefix(count)), Array(free.suffix(count)))
    (self.arguments, self.scheme) = (arguments, scheme)
    // It removes the folder when the pipe is closed, so also when this process is gone. The servers end at the same time.
    remover = try Program(
      "/bin/sh", ["-c", #"cat >/dev/null; for i in 1 2 3 4 5; do rm -rf "$1"; sleep 0.2; done"#, "sh", folder])
    for node in 0..<count { try start(node) }
    if isReady { try await untilReady() }
  }

  deinit {
    for node in ports.indices { kill(node) }
    remover.closeInput()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// A folder in memory if that is large enough: while other tests keep the disk busy, servers that sync on it cannot
  /// keep time limits. Each of them prepares 192 MiB of logs.
  private static func place(for count: Int) -> String {
    var space = statvfs()
    guard statvfs("/dev/shm", &space) == 0, access("/dev/shm", W_OK) == 0,
      Int(space.f_bavail) * Int(space.f_frsize) > count << 29
    else { return NSTemporaryDirectory() }
    return "/dev/shm/"
  }

  var address: String { address(of: ports) }

  func address(of ports: [Int]) -> String {
    (scheme == "https" ? "etcds://" : "etcd://") + ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
  }

  /// Starts a server, with what it stored before.
  func start(_ node: Int) throws {
    let peers = peerPorts.enumerated().map { "n\($0)=http://127.0.0.1:\($1)" }.joined(separator: ",")
    // The shell ends the server when the pipe is closed, so also when this process is gone.
    let script = [
      "-c",
      #"log=$1; pid=$2; shift 2; "$@" >>"$log" 2>&1 </dev/null & echo $! >"$pid"; cat >/dev/null; kill -9 $!; wait"#,
      "sh",
      "\(folder)/n\(node).log", pidFile(node), Self.program, "--name", "n\(node)", "--data-dir", "\(folder)/n\(node)",
      "--listen-client-urls", "\(scheme)://127.0.0.1:\(ports[node])",
      "--advertise-client-urls", "\(scheme)://127.0.0.1:\(ports[node])",
      "--listen-peer-urls", "http://127.0.0.1:\(peerPorts[node])",
      "--initial-advertise-peer-urls", "http://127.0.0.1:\(peerPorts[node])",
      "--initial-cluster", peers, "--initial-cluster-state", "new",
    ]
    let server = try Program("/bin/sh", script + arguments)
    nodes.withLock { $0[node] = server }
  }

  /// Ends a server without a warning.
  func kill(_ node: Int) {
    guard let server = nodes.withLock({ $0.removeValue(forKey: node) }) else { return }
    server.closeInput()
    server.wait()
  }

  /// Stops a server as a lost network does: connections stay, and nothing answers.
  func freeze(_ node: Int) { signal(SIGSTOP, to: node) }

  func thaw(_ node: Int) { signal(SIGCONT, to: node) }

  private func signal(_ number: Int32, to node: Int) {
    guard let text = try? String(contentsOfFile: pidFile(node), encoding: .utf8),
      let pid = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines))
    else { return }
    _ = Foundation.kill(pid, number)
  }

  private func pidFile(_ node: Int) -> String { "\(folder)/n\(node).pid" }

  /// For tests of other things than time: a busy machine can take longer to answer than a daemon waits.
  static let patience = {
    var limits = EtcdClient.TimeLimits()
    (limits.call, limits.attempt) = (.seconds(60), .seconds(20))
    return limits
  }()

  /// A client of all servers, or of those with `ports`, which begins with the first.
  func client(
    _ ports: [Int]? = nil, timeLimits: EtcdClient.TimeLimits = patience, user: String? = nil, password: String? = nil
  ) throws -> EtcdClient {
    let remote = try Remote(
      "test", at: address(of: ports ?? self.ports), user: user, password: try password.map { try Secret($0) })
    return try EtcdClient(remote, timeLimits: timeLimits, first: 0)
  }

  /// The log of a group that no other test knows.
  func log(timeLimits: EtcdClient.TimeLimits = patience) throws -> EtcdLog {
    EtcdLog(try client(timeLimits: timeLimits), group: Self.newGroup())
  }

  static func newGroup() -> [UInt8] {
    let number = groups.add(1, ordering: .relaxed).newValue
    return withUnsafeBytes(of: number.bigEndian) { Array($0) } + Array(repeating: 7, count: 8)
  }

  private func untilReady() async throws {
    let log = try log(timeLimits: .init())
    for _ in 0..<20 {
      do {
        _ = try await log.head()
        return
      } catch LogError.unavailable {
        continue
      }
    }
    throw LogError.unavailable
  }

  /// The server that leads; `nil` if there is none that answers.
  func leader() async throws -> Int? {
    for (node, port) in ports.enumerated() {
      let output = try await RunningDaemon.output(
        of: "/usr/bin/curl",
        ["--silent", "--max-time", "5", "-d", "{}", "http://127.0.0.1:\(port)/v3/maintenance/status"])
      guard let status: Status = try? EtcdClient.decode(Array(output.utf8)) else { continue }
      if status.leader == status.header.memberId { return node }
    }
    return nil
  }

  private struct Status: Decodable {
    struct Header: Decodable { let memberId: String }
    let header: Header
    var leader: String?
  }

  /// Forgets what was stored before `revision`.
  func compact(_ revision: Int64) async throws {
    struct Compaction: Encodable { let revision: Int64 }
    let _: EtcdDone = try await client().call("kv/compaction", Compaction(revision: revision))
  }
}

/// Ports on loopback that nobody uses.
enum FreePorts {
  /// Below those that the kernel gives to connections, one of which could take the port of a server that restarts.
  private static let range = 16_384..<32_768

  static func take(_ count: Int) -> [Int] {
    var ports: [Int] = []
    while ports.count < count {
      let port = Int.random(in: range)
      if !ports.contains(port), isFree(port) { ports.append(port) }
    }
    return ports
  }

  private static func isFree(_ port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}
