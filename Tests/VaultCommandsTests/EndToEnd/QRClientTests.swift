import TestSupport
import Testing

@testable import VaultCommands

/// Tests that another program reads our QR codes.
@Suite struct QRClientTests {
  @Test(
    .needsClients,
    arguments: ["otpauth://totp/Ann?secret=JBSWY3DPEHPK3PXP", "geheim 日本語", String(repeating: "x1!", count: 700)])
  func `zbarimg reads the value from the QR code`(value: String) throws {
    let store = try TestStore()
    store.run("set", "a", input: value)
    let drawn = store.run("get", "a", "--qr")
    try #require(drawn.status == 0)
    // Without colours, the light modules are drawn.
    var rows: [String] = []
    for line in drawn.output.split(separator: "\n") {
      for halves in ["█▀", "█▄"] { rows.append(line.map { halves.contains($0) ? "0" : "1" }.joined(separator: " ")) }
    }
    let scaled = rows.flatMap { row in
      Array(repeating: row.split(separator: " ").map { "\($0) \($0) \($0)" }.joined(separator: " "), count: 3)
    }
    let width = (rows.first?.split(separator: " ").count ?? 0) * 3
    let picture = "P1\n\(width) \(scaled.count)\n" + scaled.joined(separator: "\n") + "\n"
    _ = store.folder.write("code.pbm", Array(picture.utf8))
    #expect(store.shell("zbarimg -q --raw --oneshot -Sbinary \"$folder/code.pbm\" 2>/dev/null").output == value)
  }
}
