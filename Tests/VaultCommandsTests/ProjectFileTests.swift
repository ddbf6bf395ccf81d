import Exchange
import Testing
import Vault

@testable import VaultCommands

@Suite struct ProjectFileTests {
  private func project(_ text: String) throws -> ProjectFile { try ProjectFile(Array(text.utf8)) }

  @Test func `each entry of a project file is read`() throws {
    let project = try project(
      """
      # a comment

      group = team.shared
        prefix=shop/
      only = DB_PASSWORD , TOKEN
      env-prefix = SHOP_
      set A = db/a b=c#f
      """.replacing("a b", with: "a%20b"))
    let selection = try #require(project.selection)
    #expect(selection.group == "team.shared" && selection.prefix == "shop/")
    #expect(selection.only == ["DB_PASSWORD", "TOKEN"] && selection.environmentPrefix == "SHOP_")
    #expect(!selection.trustsNames)
    #expect(project.assignments.map(\.variable) == ["A"] && project.assignments.map(\.line) == [7])
    #expect(project.assignments[0].reference == Reference(group: "team.shared", name: "db/a b=c", field: "f"))
  }

  @Test func `a reference may name its own group`() throws {
    let project = try project("set A = vault://other/x\nset B = vault:///y\ngroup = g\n")
    #expect(
      project.assignments.map(\.reference) == [Reference(group: "other", name: "x"), Reference(group: "g", name: "y")])
  }

  @Test func `a project file that only sets variables uses no items of a group`() throws {
    #expect(try project("group = g\nset A = x").selection == nil)
    #expect(try project("group = g").selection != nil)
    #expect(try project("group = g\nset A = x\nprefix = p").selection?.prefix == "p")
  }

  @Test(arguments: [
    "home = /x", "store = /x", "credential = x", "key-file = x", "command = x", "trust-names = yes", "group", "group =",
    "= x", "group = a\ngroup = b", "only = A\nonly = B", "set A = x\nset A = y", "set = x", "set A B = x", "set 1A = x",
    "set A = #f",
    "set A = x y", "only = A,,1", "env-prefix = a-b", "set LD_PRELOAD = x", "set PATH = x", "only = GIT_SSH",
    "set VAULT_HOME = x",
    "group = a\u{0}b", "prefix = \"blog/\"", "group = 'team'",
  ])
  func `a forbidden or malformed entry is refused`(text: String) {
    let failure = #expect(throws: Failure.self) { try project(text) }
    #expect(failure?.status == .usage)
  }

  @Test func `no message repeats the content of the file`() {
    let failure = #expect(throws: Failure.self) { try project("group = a\nS3CRET = x") }
    #expect(failure?.message.hasPrefix("'.vault', line 2: ") == true && failure?.message.contains("S3CRET") == false)
  }
}
