import Testing

@testable import VaultCommands

/// A marked secret goes through every command and every failing path, and must appear only in output that was asked for.
@Suite struct SecrecyTests {
  private let store: TestStore
  private let marked = "s3cret"

  init() throws { store = try TestStore() }

  private func expectSilence(
    _ arguments: [String], input: String = "", _ status: Int32? = nil, onOutput: Bool = true
  ) {
    let transcript = Transcript(arguments, input: Array(input.utf8), environment: store.environment)
    if let status { #expect(transcript.status == status, "\(arguments) \(transcript.errors)") }
    if onOutput { #expect(!transcript.output.contains(marked), "\(arguments)") }
    #expect(!transcript.errors.contains(marked), "\(arguments)")
  }

  @Test func `only get prints a value`() {
    expectSilence(["set", "a"], input: marked, 0)
    expectSilence(["set", "a", "--json"], input: marked + "2", 0)
    for command in [
      ["list"], ["info", "a"], ["history", "a"], ["status"], ["verify"], ["group", "list"],
      ["group", "show", "default"],
    ] {
      expectSilence(command, 0)
      expectSilence(command + ["--json"], 0)
    }
    for command in [
      ["remove", "a"], ["restore", "a"], ["remove", "a", "--destroy", "--yes"],
      ["group", "compact", "default", "--yes"],
    ] {
      expectSilence(command, 0)
    }
  }

  @Test func `no message contains a value that was refused`() {
    let large = String(repeating: marked, count: 200_000)
    expectSilence(["set", "a"], input: large, 20)
    expectSilence(["set", "a", "--if-version", "7"], input: marked, 18)
    expectSilence(["set", "a", "-g", "absent"], input: marked, 10)
    expectSilence(["set", "", "--json"], input: marked, 64)
    expectSilence(["set", "a", "--passphrase-fd", "0"], input: marked + "\n" + marked, 11)
    store.environment["VAULT_HOME"] = "/nonexistent"
    expectSilence(["set", "a"], input: marked, 21)
  }

  @Test func `no message contains a secret given in place of an argument`() {
    for command in NamedCommand.leaves where command.path != "vault group create" {
      let path = command.path.split(separator: " ").dropFirst().map(String.init)
      // A stored name or label is data, so the commands that show it may print it.
      let isSilent = command.path != "vault set"
      expectSilence(path + [marked, marked, marked], onOutput: isSilent)
      expectSilence(path + ["--" + marked], onOutput: isSilent)
      for option in command.options where !["-h", "--help"].contains(option) {
        let isPath = ["--output", "-o", "--file", "--key-file", "--new-key-file"].contains(option)
        let value = isPath ? "/dev/null/\(marked)" : marked
        expectSilence(path + ["a", option, value, "--json"], onOutput: false)
        expectSilence(path + ["a", option + "=" + value], onOutput: false)
        // Uses as many arguments as the command accepts, so that it gets to use the value. After an option that takes no value, the secret
        // is an argument and may become an item's name, so the store is emptied afterwards.
        // Only a separate process can wait for an editor, and a watch of a group that exists has no end.
        let all = [[], ["a"], ["/nonexistent/a", "b"], ["--", "/nonexistent/x"]]
        for others in command.path == "vault edit" ? [] : command.path == "vault watch" ? Array(all[1...2]) : all {
          expectSilence(path + [option, "/dev/null/\(marked)"] + others, onOutput: false)
        }
        if store.run("list").output.contains(marked) { empty() }
      }
    }
    for arguments in [
      ["inject", "-i", marked], ["run", "--env-file", marked, "--", "/nonexistent/program"],
      ["credential", "docker", marked], ["credential", "git", marked],
    ] {
      expectSilence(arguments)
    }
    expectSilence(["verify", marked], 10)
    expectSilence(["verify", "default", marked, "--json"], 10)
  }

  /// Removes every item from the store.
  private func empty() {
    let names = store.run("list").output.split(separator: "\n").compactMap { $0.split(separator: "\t").first }
    for name in names { #expect(store.run("remove", "--destroy", "--yes", "--", String(name)).status == 0) }
    #expect(store.run("group", "compact", "default", "--yes").status == 0)
  }

  @Test func `no error names a key file or output that cannot be used`() {
    for path in [store.folder.file(marked), "/\(marked)/x"] {
      expectSilence(["list", "--key-file", path], 11)
      expectSilence(["set", "a", "--file", path], 64)
      expectSilence(["get", "a", "--output", path])
    }
  }
}
