import Foundation
import Ground
import Sealing
import Testing

@testable import VaultCommands

/// SSH keys as items; OpenSSH's own programs make and read the files.
@Suite struct SSHCommandTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  private func output(_ words: String...) -> String {
    store.shell(words.joined(separator: " ") + " 2>&1").output
  }

  @Test func `a generated key is one that ssh-keygen reads, and its public part is listed`() throws {
    let made = store.run("ssh", "generate", "ssh/github")
    #expect(made.status == 0 && made.output.hasPrefix("ssh-ed25519 AAAA") && made.output.hasSuffix(" ssh/github\n"))
    let path = store.folder.file("made")
    let file = Data(store.run("get", "ssh/github").output.utf8)
    _ = FileManager.default.createFile(atPath: path, contents: file, attributes: [.posixPermissions: 0o600])
    #expect(output("ssh-keygen -y -f \(path)") == made.output)
    #expect(store.run("ssh", "list").output == made.output)
    let listed = store.run("ssh", "list", "--json").output
    #expect(listed.hasPrefix(#"[{"item":""#) && listed.contains(#","key":"ssh-ed25519 "#), "\(listed)")
    #expect(listed.hasSuffix(#""confirm":false,"expires":null}]"# + "\n"))
    let repeated = store.run("ssh", "generate", "ssh/github")
    #expect(repeated.status == 22 && repeated.errors.contains("an item of this name exists"))
    #expect(store.run("ssh", "generate", "ssh/short", "--expires", "2001-01-01").status == 0)
    #expect(store.run("expiring").output.contains("ssh/short"))
  }

  @Test func `a key from a file of ssh-keygen is stored, and others are refused`() throws {
    let path = store.folder.file("id")
    _ = output("ssh-keygen -q -t ed25519 -N '' -C me@here -f \(path)")
    let added = store.run("ssh", "add", path, "--name", "mine")
    let text = try String(contentsOfFile: path + ".pub", encoding: .utf8).split(separator: " ").prefix(2)
    #expect(added.status == 0 && added.output == text.joined(separator: " ") + " mine\n")
    _ = output(
      "ssh-keygen -q -t ed25519 -N word -f \(path).locked; ssh-keygen -q -t rsa -b 1024 -N '' -f \(path).short")
    let locked = store.run("ssh", "add", path + ".locked")
    #expect(locked.status == 64 && locked.errors.contains("has a passphrase"))
    #expect(store.run("ssh", "add", path + ".short").errors.contains("2048"))
    let shown = store.run("ssh", "add", path + ".pub")
    #expect(shown.status == 64)
    #expect(
      shown.errors == """
        vault: error: this is the public key
        vault: hint: add the private one, usually the file without .pub

        """)
    #expect(store.run("ssh", "list").output == added.output)
  }

  @Test(arguments: ["rsa -b 2048", "ecdsa -b 256", "ecdsa -b 384", "ecdsa -b 521"])
  func `RSA and ECDSA keys are stored as ssh-keygen wrote them`(kind: String) throws {
    let path = store.folder.file("id")
    _ = output("ssh-keygen -q -t \(kind) -N '' -C me@here -f \(path)")
    let added = store.run("ssh", "add", path, "--name", "mine")
    let text = try String(contentsOfFile: path + ".pub", encoding: .utf8).split(separator: " ").prefix(2)
    #expect(added.status == 0 && added.output == text.joined(separator: " ") + " mine\n", "\(added)")
    let kept = store.folder.write("kept", Array(store.run("get", "mine").output.utf8), mode: 0o600)
    #expect(try output("ssh-keygen -y -f \(kept)") == String(contentsOfFile: path + ".pub", encoding: .utf8))
  }

  /// The places in n, e, d, the inverse, p and q, and a number to put there.
  @Test(arguments: [
    (4, [0]), (5, [1]), (4, [2]), (0, [0]), (2, []), (1, [4]), (3, [0x80]), (5, [UInt8](repeating: 7, count: 5_000)),
  ])
  func `an RSA key whose numbers cannot be one is refused`(place: Int, number: [UInt8]) throws {
    let path = store.folder.file("id")
    _ = output("ssh-keygen -q -t rsa -b 2048 -N '' -C '' -f \(path)")
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let lines = text.split(separator: "\n").dropFirst().dropLast()
    var file = OpenSSHFile(try #require(Data(base64Encoded: lines.joined())).map(\.self))
    #expect(file.fields.count == 7)
    let whole = store.folder.write("whole", Array(file.text.utf8))
    #expect(store.run("ssh", "add", whole, "--name", "whole").status == 0)
    file.fields[place] = number
    let changed = store.folder.write("changed", Array(file.text.utf8))
    #expect(store.run("ssh", "add", changed, "--name", "changed").status == 64)
  }

  @Test func `an RSA key of more than 8192 bits is refused`() throws {
    let path = store.folder.file("id")
    _ = output("ssh-keygen -q -t rsa -b 2048 -N '' -C '' -f \(path)")
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").dropFirst().dropLast()
    var file = OpenSSHFile(try #require(Data(base64Encoded: lines.joined())).map(\.self))
    // Numbers of the right sizes for one bit more.
    for (place, count) in [(0, 1_025), (4, 513), (5, 513)] { file.fields[place] = [UInt8](repeating: 1, count: count) }
    let refused = store.run("ssh", "add", store.folder.write("large", Array(file.text.utf8)), "--name", "large")
    #expect(refused.status == 64 && refused.errors.contains("8192"))
  }

  @Test func `a file of an older format is refused with the way to convert it`() throws {
    let path = store.folder.file("id")
    _ = output("ssh-keygen -q -t rsa -b 2048 -m PEM -N '' -f \(path)")
    let refused = store.run("ssh", "add", path)
    #expect(refused.status == 64 && refused.errors.contains("ssh-keygen -p -f"))
    _ = output("ssh-keygen -q -p -N '' -f \(path)")
    #expect(store.run("ssh", "add", path).status == 0)
  }

  @Test(arguments: ["ed25519", "rsa -b 2048", "ecdsa"]) func `no cut and no flipped byte of a key's file traps`(
    kind: String
  ) throws {
    let path = store.folder.file("whole")
    _ = output("ssh-keygen -q -t \(kind) -N '' -f \(path)")
    let file = store.folder.read("whole")
    for length in stride(from: 0, to: file.count, by: 9) { check(Array(file[..<length])) }
    for index in stride(from: 0, to: file.count, by: 1 + file.count / 400) {
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

/// The file of one RSA key without a passphrase, in its parts.
private struct OpenSSHFile {
  private let head: [UInt8]
  private let check: [UInt8]
  /// The numbers, and the comment.
  var fields: [[UInt8]]

  init(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    _ = try? reader.read(count: 15)
    for _ in 0..<3 { _ = try? reader.readCounted32(limit: 99) }
    _ = try? reader.read(UInt32.self)
    _ = try? reader.readCounted32(limit: 9_999)
    head = Array(bytes[..<reader.offset])
    var secret = ByteReader((try? reader.readCounted32(limit: 9_999)) ?? [])
    check = (try? secret.read(count: 8)).map(Array.init) ?? []
    _ = try? secret.readCounted32(limit: 99)
    fields = (0..<7).compactMap { _ in try? secret.readCounted32(limit: 9_999) }
  }

  var text: String {
    var secret = ByteWriter()
    secret.write(check)
    for field in [Array("ssh-rsa".utf8)] + fields { secret.writeCounted32(field) }
    var file = ByteWriter()
    file.write(head)
    file.writeCounted32(secret.bytes)
    let base64 = Data(file.bytes).base64EncodedString()
    return "-----BEGIN OPENSSH PRIVATE KEY-----\n\(base64)\n-----END OPENSSH PRIVATE KEY-----\n"
  }
}
