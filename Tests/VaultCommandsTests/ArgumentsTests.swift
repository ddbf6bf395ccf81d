import Testing
import Vault

@testable import VaultCommands

@Suite struct ArgumentsTests {
  /// The typed words, separated by single spaces.
  private func line(_ text: String) -> TypedLine { TypedLine(text.split(separator: " ").map(String.init)) }

  private func parsed<Parsed: Command>(_ text: String, as type: Parsed.Type = Parsed.self) throws -> Parsed {
    try #require(try line(text).parsed() as? Parsed)
  }

  @Test(arguments: [
    "get a -g b --version 2 --json", "get -g b --version 2 --json a", "get --json --version=2 --group=b a",
    "get -gb --version +2 a --json", "get -g=b --version 2 --json -- a", "cat --group b a --json --json --version 2",
  ])
  func `options and arguments can be in any order and form`(text: String) throws {
    let command: GetItem = try parsed(text)
    #expect(command.names == ["a"] && command.group == "b" && command.version == 2 && command.json)
    #expect(command.field == nil && command.output == nil && command.key == KeySource())
  }

  @Test func `a repeatable option keeps its order`() throws {
    let set: SetItem = try parsed("set -a k=v x --attribute l=w --attribute=m=y=z -an=o")
    #expect(set.name == "x" && set.attributes == ["k=v", "l=w", "m=y=z", "n=o"])
    #expect(try parsed("archive check f --allow A --allow B", as: CheckArchive.self).allowed == ["A", "B"])
    #expect(
      try parsed("repair --keep-unproved a g --keep-unproved b", as: RepairGroup.self).keepUnproved == ["a", "b"])
    #expect(
      try parsed("app issue a --output f --group g:read --group h:read", as: IssueApplication.self).groups.count == 2)
  }

  @Test func `after two hyphens everything is an argument`() throws {
    #expect(try parsed("get -- -g", as: GetItem.self).names == ["-g"])
    #expect(try parsed("get a -- --help -h", as: GetItem.self).names == ["a", "--help", "-h"])
    let run: RunProgram = try parsed("run --mask -- sh -c x --mask -- y")
    #expect(run.mask && run.command == ["sh", "-c", "x", "--mask", "--", "y"])
    #expect(try parsed("complete -- get --group", as: Complete.self).words == ["get", "--group"])
  }

  @Test func `a value that begins with a hyphen must follow an equals sign, and a single hyphen is a value`() throws {
    #expect(try parsed("set a --label=-x", as: SetItem.self).label == "-x")
    #expect(try parsed("set a --label=", as: SetItem.self).label == "")
    #expect(try parsed("inject -i - -o -", as: InjectTemplate.self).input == nil)
    #expect(try parsed("import - --from json", as: ImportItems.self).file == "-")
  }

  @Test func `a missing option has its default`() throws {
    let generate: GenerateItem = try parsed("generate a")
    #expect(generate.random.length == 32 && generate.random.alphabet == "safe" && !generate.show)
    #expect(try parsed("env", as: PrintEnvironment.self).shell == .bash)
    #expect(try parsed("list", as: ListItems.self).request.prefix == "")
    #expect(try parsed("remove --prefix p", as: RemoveItem.self).name == nil)
  }

  @Test func `the options that open the store may come before the command`() throws {
    let get: GetItem = try parsed("--credential c --passphrase-fd=3 get -- -x")
    #expect(get.key == KeySource(passphraseDescriptor: 3, credential: "c") && get.names == ["-x"])
    #expect(throws: ArgumentFault.repeated("--key-file")) { try line("--key-file a list --key-file b").parsed() }
    #expect(throws: ArgumentFault.commandAfterOption) { try line("--group b get a").parsed() }
  }

  @Test(
    arguments: [
      ("get", .missing("NAME")), ("get --", .missing("NAME")), ("app issue a", .missing("--output")),
      ("get a -g", .needsValue("-g")), ("get a --group --json", .needsValue("--group")), ("get a -g -", nil),
      ("get a -g --", .needsValue("-g")), ("get a --json=true", .takesNoValue("--json")),
      ("get a --version x", .invalid("--version")), ("get a --version=-1", .invalid("--version")),
      ("get a --passphrase-fd 9999999999", .invalid("--passphrase-fd")), ("slot remove x", .invalid("NUMBER")),
      ("env --shell csh", .invalid("--shell")), ("get a -g b -g c", .repeated("--group")),
      ("get a -g b -- -g c", nil), ("get a --ouptut f", .unknownOption(meant: "--output")),
      ("get a --zzzzzz=y", .unknownOption(meant: nil)), ("get a -x", .unknownLetter),
      ("get a --jso", .unknownOption(meant: "--json")),
      ("get a -ho", .unknownLetter), ("info a b", .tooMany), ("status a", .tooMany), ("run ls", .tooMany),
      ("lock -- a", .tooMany),
      ("", .missingCommand), ("group", .missingCommand), ("group --json", .missingCommand),
      ("slot add", .missingCommand), ("--hlep", .unknownOption(meant: "--help")), ("--s3cret x", .missingCommand),
      ("group --json list", .commandAfterOption),
      ("gte", .unknownCommand(meant: "get")), ("group lst", .unknownCommand(meant: "list")),
      ("help gte", .unknownCommand(meant: "get")), ("group help", .unknownCommand(meant: nil)), ("help status", nil),
    ] as [(String, ArgumentFault?)])
  func `each fault of a command line has its own error`(text: String, fault: ArgumentFault?) {
    do throws(ArgumentFault) {
      _ = try line(text).parsed()
      #expect(fault == nil)
    } catch {
      #expect(error == fault)
    }
  }

  @Test(arguments: [
    "get --help", "get a b -h --nosuch", "--help get", "help get -h", "group --help", "help", "run -h -- ls",
  ])
  func `help is requested anywhere before the two hyphens`(text: String) throws {
    #expect(try line(text).parsed() == nil)
  }

  @Test func `every command line gets an answer`() {
    let words = [
      "get", "set", "run", "help", "group", "list", "a", "", "-", "--", "-g", "-gb", "--json", "--json=", "--=", "-=",
      "--group=b",
      "--version", "3", "-a", "k=v", "-h", "--help", "\u{301}", "-\u{301}", "--group\u{301}", "group list",
    ]
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<2_000 {
      let arguments = (0..<Int.random(in: 0...6, using: &generator)).map { _ in
        words.randomElement(using: &generator) ?? ""
      }
      do throws(ArgumentFault) {
        _ = try TypedLine(arguments).parsed()
      } catch {
        #expect(error.failure(at: TypedLine(arguments).command).status == .usage)
      }
      _ = CompletionLine(arguments)
    }
  }
}
