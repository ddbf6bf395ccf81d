import Testing

@testable import VaultCommands

/// The largest, smallest and strangest inputs that a command accepts, and the first that it refuses.
@Suite struct LimitTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  @Test func `a value of 1 MiB is stored, and one more byte is over the limit`() {
    let limit = 1_048_576
    let bytes = (0..<limit).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    #expect(store.execute(["set", "big"], input: bytes).status == 0)
    #expect(store.execute("get", "big").outputBytes == bytes)
    #expect(store.execute(["set", "big"], input: bytes + [0]).status == 20)
    let file = store.folder.write("value", bytes + [0])
    #expect(store.execute("set", "big", "--file", file).status == 20)
    #expect(store.shell(#""$vault" set big </dev/zero"#).status == 20)
    #expect(store.shell(#""$vault" set big --file /dev/zero"#).status == 20)
    // A final newline that is removed does not count.
    let text = [UInt8](repeating: UInt8(ascii: "x"), count: limit)
    #expect(store.execute(["set", "text"], input: text + [0x0A]).status == 0)
    #expect(store.execute(["set", "text"], input: text + [0x0D, 0x0A]).status == 0)
    #expect(store.execute("get", "text").outputBytes == text)
    #expect(store.execute(["set", "text", "--exact"], input: text + [0x0A]).status == 20)
    #expect(store.execute("get", "big").outputBytes == bytes)
    #expect(store.execute("verify").status == 0)
  }

  @Test(.needsLimits) func `a wrong passphrase is refused after the same work as a right one`() {
    let result = store.shell(
      """
      export VAULT_HOME="$folder/other" VAULT_STATE="$folder/other-state"
      echo right | "$vault" init --passphrase-fd 0 2>&1 || exit
      for passphrase in right wrong; do
        echo $passphrase | "$vault" list --passphrase-fd 0 2>/dev/null; echo $?
        # Without room for the 256 MiB of the stretching, neither gets as far as an answer.
        echo $passphrase | prlimit --as=250000000 "$vault" list --passphrase-fd 0 2>/dev/null; echo $?
        prlimit --as=250000000 "$vault" --version >/dev/null; echo $?
      done
      """)
    #expect(result.output.hasSuffix("0\n23\n0\n16\n23\n0\n"), "\(result.output)")
  }

  @Test(.needsTime) func `values of every size are returned unchanged`() {
    for count in Array(0...1_200) + stride(from: 1_200, through: 1_048_576, by: 30_011) {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 131 ^ count) }
      #expect(store.execute(["set", "a", "--exact"], input: bytes).status == 0)
      #expect(store.execute("get", "a").outputBytes == bytes, "\(count)")
    }
  }

  @Test func `a piped line loses its newline and is otherwise unchanged`() {
    let cases: [(input: [UInt8], kept: [UInt8], exact: Bool)] = [
      ([], [], false), ([0x0A], [], false), ([0x0A], [0x0A], true), (Array("a\n".utf8), Array("a".utf8), false),
      (Array("a\r\n".utf8), Array("a".utf8), false), (Array("a\r\n".utf8), Array("a\r\n".utf8), true),
      (Array("a\n\n".utf8), Array("a\n\n".utf8), false), (Array("a\r".utf8), Array("a\r".utf8), false),
      (Array("a\r\n\r\n".utf8), Array("a\r\n\r\n".utf8), false), ([0, 1, 0, 0x0A], [0, 1, 0], false),
      ([0xFF, 0x0A], [0xFF, 0x0A], false), ([0xEF, 0xBB, 0xBF, 0x61], [0xEF, 0xBB, 0xBF, 0x61], false),
      ([0xC3, 0xA9, 0x0A], [0xC3, 0xA9], false), ([0xED, 0xA0, 0x80, 0x0A], [0xED, 0xA0, 0x80, 0x0A], false),
    ]
    for (input, kept, exact) in cases {
      #expect(store.execute(["set", "a"] + (exact ? ["--exact"] : []), input: input).status == 0)
      #expect(store.execute("get", "a").outputBytes == kept, "\(input)")
    }
  }

  @Test func `names have 1 to 1,024 bytes, and two spellings in Unicode are the same name`() {
    let longest = String(repeating: "é", count: 512)
    #expect(store.execute("set", longest, input: "x").status == 0)
    #expect(store.execute("get", longest).output == "x")
    for command in ["set", "get", "info", "history", "remove", "restore"] {
      #expect(store.execute(command, longest + "x", input: "x").status == 20, "\(command)")
      for bad in ["", "a\nb", "\u{7F}", "\u{85}", "\u{2028}", "\u{10FFFF}"] {
        #expect(store.execute(command, bad, input: "x").status == 64, "\(command) \(bad.debugDescription)")
      }
    }
    #expect(store.execute("set", "e\u{301}", input: "composed").status == 0)
    #expect(store.execute("get", "\u{E9}").output == "composed")
    for odd in ["../../etc/passwd", ".", " ", "-", "a b", "%00", "😀", "'; --"] {
      #expect(store.execute("set", "--", odd, input: odd).status == 0)
      #expect(store.execute("get", "--", odd).output == odd)
    }
    #expect(store.execute("verify").status == 0)
  }

  @Test func `an item can have 64 attributes and 64 KiB of them`() {
    func attributes(_ numbers: Range<Int>) -> [String] { numbers.flatMap { ["-a", "key\($0)=value"] } }
    #expect(store.execute(["set", "a"] + attributes(0..<64), input: []).status == 0)
    #expect(store.execute(["set", "a"] + attributes(64..<65), input: []).status == 20)
    #expect(store.execute(["set", "b"] + attributes(0..<65), input: []).status == 20)
    #expect(store.execute(["set", "a", "--keep-value"] + attributes(64..<65), input: []).status == 20)
    #expect(store.execute(["set", "a", "-a", "key0=", "-a", "key64=v"], input: []).status == 0)
    #expect(store.execute(["set", "c", "-a", "k=" + String(repeating: "v", count: 65_000)], input: []).status == 0)
    #expect(store.execute(["set", "c", "-a", "k=" + String(repeating: "v", count: 66_000)], input: []).status == 20)
    #expect(store.execute(["set", "c", "--label", String(repeating: "v", count: 66_000)], input: []).status == 20)
    #expect(store.execute("get", "b").status == 10)
  }

  @Test func `an item keeps as many versions as its group's setting`() {
    #expect(store.execute("group", "create", "few", "--keep", "2").status == 0)
    for number in 1...4 { #expect(store.execute("set", "a", "-g", "few", input: "\(number)").status == 0) }
    #expect(store.execute("get", "a", "-g", "few", "--version", "3").output == "3")
    #expect(store.execute("get", "a", "-g", "few", "--version", "2").status == 10)
    #expect(store.execute("get", "a", "-g", "few", "--version", "5").status == 10)
    #expect(store.execute("get", "a", "-g", "few", "--version", "0").status == 10)
    for keep in ["0", "-1", "1001", "x", "", "18446744073709551616"] {
      #expect(store.execute("group", "create", "g", "--keep", keep).status == 64, "\(keep)")
    }
  }
}
