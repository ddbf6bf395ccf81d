import Testing

@testable import VaultCommands

@Suite struct PlainFormTests {
  /// The argument parser's result.
  private func parsed(_ arguments: [String]) throws -> PlainForm? {
    switch try parse(arguments, Session(arguments: arguments, environment: [:], streams: Streams())) {
    case let command as GetItem: .get(command.request)
    case let command as SetItem: .set(command.request)
    case let command as ListItems: .list(command.request)
    case let command as AnswerGit: .git(command.request)
    case let command as AnswerDocker: .docker(command.request)
    default: nil
    }
  }

  @Test(arguments: [
    "get a", "get a -g b", "get a --group b --json", "get a --version 2 --output f --key-file k", "get a --version +2",
    "get a --passphrase-fd 3", "get a --recovery-fd 3", "set a", "set a -g b --json", "set a -a k v",
    "set a -a k=v -a l=w --label x --exact",
    "set a --expires 30d --fd 3 --file f --keep-value", "set a --if-version 0 --attribute k=v -a l=w", "list", "list a",
    "credential git get", "credential git get -g b --key-file k", "credential docker list --group b",
    "credential git anything", "list --json", "list a -a k=v --match x -g b --key-file k --passphrase-fd 4",
  ])
  func `a plain form has the same meaning as in the parser`(line: String) throws {
    let arguments = line.split(separator: " ").map(String.init)
    guard let form = PlainForm(arguments) else {
      // If the line is not plain, the parser refuses it too.
      #expect(throws: Failure.self) { try parsed(arguments) }
      return
    }
    #expect(try parsed(arguments) == form)
  }

  @Test(arguments: [
    "", "get", "get -h", "get --help", "get -- a", "get a b", "get a -g", "get a -g -h", "get a -g b -g c",
    "get -g b a",
    "get a --version x", "get a --version -1", "get a --passphrase-fd 9999999999", "get a --json --json",
    "get a --group=b",
    "get a -", "get a -gb", "set", "set a value", "set a --label -x", "set a --unknown", "list a b", "info a",
    "credential", "credential git", "credential docker -h", "credential git get x", "credential pass get",
    "git get", "help get", "list --key-file --json b", "list --key-file -a k=v b", "get a -g --json b",
  ])
  func `all other lines are left to the parser`(line: String) {
    let arguments = line.split(separator: " ").map(String.init)
    #expect(PlainForm(arguments) == nil)
  }

  @Test func `every line taken as plain is read as by the parser`() throws {
    let words = [
      "a", "-g", "b", "--json", "--version", "3", "--label", "-a", "k=v", "--match", "--fd", "--exact", "--key-file",
      "-x",
    ]
    var generator = SystemRandomNumberGenerator()
    var taken = 0
    for _ in 0..<300 {
      let command = ["get", "set", "list"].randomElement(using: &generator)!
      let count = Int.random(in: 0...5, using: &generator)
      let arguments = [command] + (0..<count).map { _ in words.randomElement(using: &generator)! }
      guard let form = PlainForm(arguments) else { continue }
      taken += 1
      #expect(try parsed(arguments) == form, "\(arguments)")
    }
    #expect(taken > 0)
  }
}
