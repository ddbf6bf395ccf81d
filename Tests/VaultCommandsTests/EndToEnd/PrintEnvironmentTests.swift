import Foundation
import Glibc
import Testing

@testable import VaultCommands

/// `vault env`: shells and other readers get exactly the stored values.
@Suite struct PrintEnvironmentTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  /// Values that a shell, a JSON reader or an env file might read as something else.
  static let hostile: [String] = [
    "", " ", "'", "''", "\"", "\\", "\\'", "a'b'c", "$(touch hacked)", "`touch hacked`", "${HOME}", "$HOME", "!!", "*",
    "a\nb", "\n", "a\n\n", "\r\n", "a\rb", "\t", "\u{7F}", "\u{1}", "\u{1B}[31m", "ü€😀", "\u{2028}", "\u{FEFF}x", "#x",
    " # x", "a # b", "; touch hacked", "&& touch hacked", "|", ">hacked", "\\n", "%s", "-n", "~", "a=b", "'\n'",
    "\"'`$\\",
    "'; touch hacked; '", "\u{A0}x\u{85}",
  ]

  private func check(_ values: [String], _ reader: (TestStore) -> [String: String]?) {
    for (number, value) in values.enumerated() {
      let set = Transcript(
        ["set", "hostile/\(number)", "--exact"], input: Array(value.utf8), environment: store.environment)
      #expect(set.status == 0)
    }
    let read = reader(store)
    for (number, value) in values.enumerated() { #expect(read?["_\(number)"] == value, "\(value.debugDescription)") }
    #expect(read?.count == values.count)
    #expect(!store.folder.exists("hacked"))
  }

  /// Runs a script in the store's folder; the script writes its environment at the end.
  private static func read(_ store: TestStore, _ script: String, _ shell: String) -> [String: String]? {
    let result = Executable(
      ["-c", "cd \"$folder\"; " + script], program: shell, environment: store.scriptEnvironment
    ).wait()
    #expect(result.status == 0, "\(result.errors)")
    var values: [String: String] = [:]
    for field in result.outputBytes.split(separator: 0) {
      let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(decoding: parts[0], as: UTF8.self)
      guard name.wholeMatch(of: /_[0-9]+/) != nil else { continue }
      values[name] = String(decoding: parts[1], as: UTF8.self)
    }
    return values
  }

  private static let random: [String] = {
    var generator = SystemRandomNumberGenerator()
    let letters = Array("ab'\"\\$`(){}!#&;|<> \t\n\r=*~%ü\u{85}\u{1}")
    return (0..<60).map { _ in
      String((0..<Int.random(in: 0...20, using: &generator)).map { _ in letters.randomElement() ?? "x" })
    }
  }()

  @Test(arguments: ["/bin/bash", "/bin/dash"]) func `eval in a shell restores every value`(shell: String) {
    check(Self.hostile + Self.random) { store in
      Self.read(store, #"eval "$("$vault" env --prefix hostile/)"; env -0"#, shell)
    }
  }

  @Test func `a JSON reader restores every value`() {
    check(Self.hostile + Self.random) { store in
      let text = store.run("env", "--prefix", "hostile/", "--shell", "json").outputBytes
      return try? JSONDecoder().decode([String: String].self, from: Data(text))
    }
  }

  @Test func `our reader of env files restores every value`() {
    let values = (Self.hostile + Self.random).filter { !$0.hasSuffix("\\") }
    check(values) { store in
      Self.read(
        store,
        #""$vault" env --prefix hostile/ --shell dotenv >env && exec "$vault" run --env-file env -- env -0"#, "/bin/sh")
    }
  }

  @Test func `a prefix that no item has is an error`() {
    store.run("set", "orders/token", input: "1")
    let mistyped = store.run("env", "--prefix", "order/")
    #expect(mistyped.status == 10 && mistyped.errors.contains("there is no item with this prefix"))
  }

  @Test func `variables are sorted, with and without a prefix`() {
    store.run("set", "b/x", input: "it's")
    store.run("set", "a", input: "1")
    #expect(store.run("env").output == "export A='1'\nexport B_X='it'\\''s'\n")
    #expect(store.run("env", "--prefix", "b/", "--shell", "dotenv").output == "X=\"it's\"\n")
    #expect(store.run("env", "-g", "default", "--shell", "json").output == "{\"A\":\"1\",\n\"B_X\":\"it's\"}\n")
    #expect(store.run("env", "--shell", "csh").status == 64)
  }

  @Test func `if a variable cannot be written, nothing is written`() {
    store.run("set", "a", input: "1")
    _ = Transcript(["set", "z"], input: [0x61, 0, 0x62], environment: store.environment)
    let zero = store.run("env")
    #expect(zero.status == 64 && zero.errors.contains("Z: the value contains a zero byte") && zero.output.isEmpty)
    _ = Transcript(["set", "z"], input: [0x61, 255], environment: store.environment)
    #expect(Transcript(["env"], environment: store.environment).outputBytes.contains(255))
    for form in ["json", "dotenv"] {
      let text = store.run("env", "--shell", form)
      #expect(text.status == 64 && text.errors.contains("Z: the value is not UTF-8 text, as \(form) needs it"))
      #expect(text.output.isEmpty)
    }
    store.run("set", "Z", input: "x")
    let clash = store.run("env")
    #expect(clash.status == 18 && clash.errors.contains("two items would both set Z") && clash.output.isEmpty)
  }

  @Test func `a value that some readers of env files would change causes a warning`() {
    store.run("set", "a", input: "x${HOME}")
    #expect(store.run("env", "--shell", "dotenv").errors.contains("the value of A contains '${'"))
    #expect(store.run("env").errors.isEmpty)
  }
}
