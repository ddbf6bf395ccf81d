import Foundation
import Testing
import VaultFoundation

@testable import VaultDaemon

/// Sockets that systemd passes.
struct ListeningSocketTests {
  private func activated(_ socket: ListeningSocket, names: String?) throws(ListeningSocket.Problem) -> [String] {
    var environment = ["LISTEN_PID": String(getpid()), "LISTEN_FDS": "1"]
    environment["LISTEN_FDNAMES"] = names
    return try ListeningSocket.activated(by: environment, first: socket.descriptor).map(\.name)
  }

  @Test func `a socket of systemd has one of three names, and one without a name answers HTTP`() throws {
    let path = NSTemporaryDirectory() + "activated-\(UUID().uuidString.prefix(8))"
    defer { unlink(path) }
    let local = try ListeningSocket.unix(at: path)
    let remote = try ListeningSocket.tcp("127.0.0.1:0")
    defer { for socket in [local, remote] { close(socket.descriptor) } }
    for name in ["http", "credentials", "ssh-agent"] { #expect(try activated(local, names: name) == [name]) }
    for socket in [local, remote] {
      for names in [nil, "", "http"] { #expect(try activated(socket, names: names) == ["http"]) }
    }
    #expect(throws: ListeningSocket.Problem.unknownName("vaultd.socket", .unix)) {
      try activated(local, names: "vaultd.socket")
    }
    for name in ["credentials", "ssh-agent", "web.socket"] {
      #expect(throws: ListeningSocket.Problem.unknownName(name, .tcp)) { try activated(remote, names: name) }
    }
  }

  @Test func `the daemon removes the file of a socket that it made before a handover, and none of systemd's`() throws {
    let path = NSTemporaryDirectory() + "activated-\(UUID().uuidString.prefix(8))"
    defer { unlink(path) }
    let socket = try ListeningSocket.unix(at: path)
    defer { close(socket.descriptor) }
    var environment = ["LISTEN_PID": String(getpid()), "LISTEN_FDS": "1"]
    var configuration = Configuration(location: try StoreLocation(home: path, state: path))
    func paths() throws -> [String?] {
      try Daemon.openSockets(configuration, environment, first: socket.descriptor).map(\.path)
    }
    configuration.socket = path
    #expect(try paths() == [nil])
    // Without an option the path is the default one, which the new version does not look for.
    configuration.socket = nil
    environment[Handover.pathsVariable] = path
    #expect(try paths() == [path])
  }
}
