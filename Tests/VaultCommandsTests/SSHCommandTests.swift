import Foundation
import Testing

@testable import VaultCommands

/// SSH keys as items; OpenSSH's own programs make and read the files.
@Suite struct SSHCommandTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  private func output(_ words: String...) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", words.joined(separator: " ") + " 2>&1"]
    let pipe = Foundation.Pipe()
    process.standardOutput = pipe
    try process.run()
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text
  }

  @Test func `a generated key is one that ssh-keygen reads, and its public part is listed`() throws {
    let made = store.run("ssh", "generate", "ssh/github")
    #expect(made.status == 0 && made.output.hasPrefix("ssh-ed25519 AAAA") && made.output.hasSuffix(" ssh/github\n"))
    let path = store.folder.file("made")
    let file = Data(store.run("get", "ssh/github").output.utf8)
    _ = FileManager.default.createFile(atPath: path, contents: file, attributes: [.posixPermissions: 0o600])
    #expect(try output("ssh-keygen -y -f \(path)") == made.output)
    #expect(store.run("ssh", "list").output == made.output)
    #expect(store.run("ssh", "generate", "ssh/github").status != 0)
  }

  @Test func `a key from a file of ssh-keygen is stored, and others are refused`() throws {
    let path = store.folder.file("id")
    _ = try output("ssh-keygen -q -t ed25519 -N '' -C me@here -f \(path)")
    let added = store.run("ssh", "add", path, "--name", "mine")
    let text = try String(contentsOfFile: path + ".pub", encoding: .utf8).split(separator: " ").prefix(2)
    #expect(added.status == 0 && added.output == text.joined(separator: " ") + " mine\n")
    _ = try output("ssh-keygen -q -t ed25519 -N word -f \(path).locked; ssh-keygen -q -t ecdsa -N '' -f \(path).ecdsa")
    let locked = store.run("ssh", "add", path + ".locked")
    #expect(locked.status == 64 && locked.errors.contains("has a passphrase"))
    #expect(store.run("ssh", "add", path + ".ecdsa").errors.contains("only ed25519"))
    #expect(store.run("ssh", "add", path + ".pub").status == 64)
    #expect(store.run("ssh", "list").output == added.output)
  }

  @Test func `no cut and no flipped byte of a key's file traps`() throws {
    store.run("ssh", "generate", "a")
    let file = Array(store.run("get", "a").output.utf8)
    for length in stride(from: 0, to: file.count, by: 3) { check(Array(file[..<length])) }
    for index in file.indices {
      var changed = file
      changed[index] ^= 0x41
      check(changed)
    }
  }

  private func check(_ file: [UInt8]) {
    let path = store.folder.file("broken")
    _ = FileManager.default.createFile(atPath: path, contents: Data(file))
    let status = store.run("ssh", "add", path, "--name", "x").status
    #expect([0, 64].contains(status))
    if status == 0 { store.run("remove", "x") }
  }
}
