import Testing

@testable import VaultCommands

@Suite struct ArgumentErrorsTests {
  /// The message, without the usage lines that follow it.
  static let table: [(arguments: [String], message: String, hint: String)] = [
    ([], "a command is missing", "see vault --help"),
    (["group"], "a command is missing", "see vault group --help"),
    (["gte", "x"], "there is no such command", "did you mean 'vault get'?"),
    (["group", "lst"], "there is no such command", "did you mean 'vault group list'?"),
    (["s3cret"], "there is no such command", "see vault --help"),
    (["get"], "NAME is missing", "see vault get --help"),
    (
      ["import", "s3cret"], "--from is missing",
      "formats: dotenv, csv, plist, json, pass, gopass, kdbx, bitwarden, keychain, yaml, sops, keepass-xml, 1pux, secret-service"
    ),
    (["export", "-g", "s3cret"], "--to is missing", "see vault export --help"),
    (["get", "x", "-g"], "-g needs a value", "see vault get --help"),
    (["get", "x", "--output"], "--output needs a value", "see vault get --help"),
    (["get", "x", "--version", "s3cret"], "the value of --version is not valid", "see vault get --help"),
    (["get", "x", "--version", "-1"], "--version needs a value", "see vault get --help"),
    (["get", "x", "-g", "a", "--group", "b"], "--group is given more than once", "see vault get --help"),
    (["get", "x", "--group=a", "--group=b"], "--group is given more than once", "see vault get --help"),
    (
      ["info", "--key-file", "a", "x", "--key-file", "b"], "--key-file is given more than once", "see vault info --help"
    ),
    (["info", "x", "s3cret"], "there are too many arguments", "see vault info --help"),
    (["get", "x", "--ouptut", "s3cret"], "'vault get' has no such option", "did you mean --output?"),
    (["get", "x", "--s3cret"], "'vault get' has no such option", "see vault get --help"),
    (
      ["get", "-hs3cret"], "'vault get' has no such option",
      "see vault get --help; a name that begins with '-', or a program to run, comes after --"
    ),
    (["watch", "g", "s3cret"], "the program and its arguments come after --", "vault watch GROUP -- PROGRAM ARG..."),
    (
      ["rotate-value", "x", "s3cret"], "the program and its arguments come after --",
      "vault rotate-value NAME -- PROGRAM ARG..."
    ),
    (["help", "s3cret"], "there is no such command", "see vault --help"),
    (["help", "group", "s3cret"], "there is no such command", "see vault group --help"),
    (["-v"], "there is no such command", "to see the version: vault --version"),
    (["-V"], "there is no such command", "to see the version: vault --version"),
    (["version", "s3cret"], "there is no such command", "to see the version: vault --version"),
    (["lsit"], "there is no such command", "did you mean 'vault list'?"),
    (["rmeove"], "there is no such command", "did you mean 'vault remove'?"),
    (["hist"], "there is no such command", "did you mean 'vault history'?"),
    (["get", "x", "--json=s3cret"], "--json takes no value", "see vault get --help"),
    (
      ["get", "x", "-s3cret"], "'vault get' has no such option",
      "see vault get --help; a name that begins with '-', or a program to run, comes after --"
    ),
    (
      ["run", "sh", "-c", "s3cret"], "'vault run' has no such option",
      "see vault run --help; a name that begins with '-', or a program to run, comes after --"
    ),
    (
      ["set", "x", "s3cret"],
      "a value is never taken from an argument, because other users and your shell's history would see it",
      "pipe it: printf %s \"$VALUE\" | vault set NAME; or, from a file: --file PATH"
    ),
    (
      ["set", "x", "s3cret", "s3cret"],
      "a value is never taken from an argument, because other users and your shell's history would see it",
      "pipe it: printf %s \"$VALUE\" | vault set NAME; or, from a file: --file PATH"
    ),
    (["slot", "remove", "s3cret"], "the value of NUMBER is not valid", "see vault slot remove --help"),
    (["run", "s3cret"], "the program and its arguments come after --", "vault run -- PROGRAM ARG..."),
    (["get", "x", "-g", "a", "-gs3cret"], "--group is given more than once", "see vault get --help"),
    (["group list"], "there is no such command", "see vault --help"),
    (["", "get", "x"], "there is no such command", "see vault --help"),
    (["set", "x", "--fd", "s3cret"], "the value of --fd is not valid", "see vault set --help"),
    (
      ["set", "x", "--passphrase-fd", "' is invalid for '--fd"], "the value of --passphrase-fd is not valid",
      "see vault set --help"
    ),
  ]

  @Test(arguments: table.indices) func `an error about the command line does not repeat what was typed`(row: Int) {
    let (arguments, message, hint) = Self.table[row]
    let transcript = Transcript(arguments)
    #expect(transcript.status == 64)
    #expect(transcript.output.isEmpty)
    #expect(transcript.errors.hasPrefix("vault: error: \(message)\nvault: hint: \(hint)\nusage: vault"))
    #expect(!transcript.errors.contains("s3cret"))
  }

  @Test(arguments: table.indices) func `with --json an error about the command line is one object`(row: Int) throws {
    let (arguments, message, _) = Self.table[row]
    let transcript = Transcript(arguments + ["--json"])
    let error = try readJSON(transcript.errors)
    #expect(error["status"] as? Int == 64)
    #expect(error["name"] as? String == "usage")
    // If the last option lacks its value, --json is taken as the value and the error is a different one.
    // A command without --json refuses it first.
    let command = TypedLine(arguments).command
    let takesJSON = command.type == nil || command.options.contains("--json")
    if arguments.last?.hasPrefix("-") == false, takesJSON { #expect(error["message"] as? String == message) }
    #expect(!transcript.errors.contains("s3cret"))
  }
}

@Suite struct ClosenessTests {
  @Test func `a mistyped word is recognized, and an unrelated one is not`() {
    let words = ["--output", "--json", "--group"]
    #expect(Closeness.nearest(to: "--ouput", among: words) == "--output")
    #expect(Closeness.nearest(to: "--josn", among: words) == "--json")
    #expect(Closeness.nearest(to: "--password", among: words) == nil)
    #expect(Closeness.nearest(to: "nope", among: ["copy", "get"]) == nil)
    #expect(Closeness.nearest(to: "cpoy", among: ["copy", "get"]) == "copy")
    #expect(Closeness.nearest(to: String(repeating: "-", count: 10_000), among: words) == nil)
  }
}
