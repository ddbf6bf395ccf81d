import TestSupport
import Testing

@testable import VaultCommands

/// Tests a project's `.vault` with `vault allow` and `vault run`.
@Suite struct ProjectCommandTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("set", "shop/db-password", input: "s3cret")
    store.run("set", "stripe", input: "k3y")
    let made = store.shell(#"mkdir -p "$folder/project/deep""#)
    try #require(made.status == 0)
    write("prefix = shop/\nset STRIPE_KEY = stripe\n")
  }

  private func write(_ text: String, mode: String = "644") {
    store.shell(#"cat >"$folder/project/.vault" && chmod \#(mode) "$folder/project/.vault""#, input: text)
  }

  private func inProject(_ script: String) -> Executable.Result {
    store.shell(#"cd "$folder/project/deep" && "# + script)
  }

  private func run(_ options: String = "") -> Executable.Result {
    inProject(#""$vault" run \#(options) -- sh -c 'echo "[$DB_PASSWORD] [$STRIPE_KEY]"'"#)
  }

  @Test func `an allowed file gives its variables to programs in the project's folders`() {
    let allowed = inProject(#""$vault" allow --yes"#)
    #expect(allowed.status == 0)
    #expect(allowed.output.hasSuffix("/project/.vault:\n  prefix = shop/\n  set STRIPE_KEY = stripe\n"))
    #expect(run().output == "[s3cret] [k3y]\n")
    #expect(store.shell(#"cd "$folder" && "$vault" run -- sh -c 'echo "[$STRIPE_KEY]"'"#).output == "[]\n")
  }

  @Test func `the variables for a shell are those of the project, unless a group is named`() {
    #expect(inProject(#""$vault" env"#).status == 12)
    #expect(inProject(#""$vault" allow --yes"#).status == 0)
    #expect(inProject(#""$vault" env --shell zsh"#).output == "export DB_PASSWORD='s3cret'\nexport STRIPE_KEY='k3y'\n")
    #expect(inProject(#""$vault" env -g default --only STRIPE"#).output == "export STRIPE='k3y'\n")
  }

  @Test func `with a file that was not allowed, no program is started`() {
    let refused = run()
    #expect(refused.status == 12 && refused.output.isEmpty)
    #expect(refused.errors.contains("was not allowed") && refused.errors.contains("vault allow"))
  }

  @Test func `a file that names a group which does not exist gets no hint about references`() {
    write("group = nobody\n")
    #expect(inProject(#""$vault" allow --yes"#).status == 0)
    #expect(run().status == 10 && run().errors.contains("'.vault': "))
    #expect(!run().errors.contains("vault:///NAME"))
  }

  @Test func `a changed file must be allowed again`() {
    #expect(inProject(#""$vault" allow --yes"#).status == 0)
    write("prefix = shop/\n")
    #expect(run().status == 12 && run().errors.contains("has changed since it was allowed"))
    #expect(inProject(#""$vault" allow --yes"#).status == 0)
    #expect(run().output == "[s3cret] []\n")
  }

  @Test func `a denied file is ignored, and the decision can be revoked`() {
    #expect(inProject(#""$vault" allow --deny"#).status == 0)
    write("prefix = other/\n")
    #expect(run().output == "[] []\n")
    #expect(inProject(#""$vault" allow --revoke"#).status == 0)
    #expect(run().status == 12)
  }

  @Test func `permission for a file can be revoked`() {
    #expect(inProject(#""$vault" allow --yes && "$vault" allow --revoke"#).status == 0)
    #expect(run().status == 12)
  }

  @Test func `options on the command line replace the file`() {
    #expect(run("-g default --prefix shop/").output == "[s3cret] []\n")
    #expect(inProject(#""$vault" allow --yes"#).status == 0)
    #expect(run("--set STRIPE_KEY=vault:///shop/db-password").output == "[s3cret] [s3cret]\n")
  }

  @Test func `a file that nobody has read is not allowed`() {
    let unread = store.unread(#"allow "$folder/project""#)
    #expect(unread.status == 23 && unread.errors.contains("nobody read the file"), "\(unread.errors)")
    #expect(run().status == 12)
  }

  @Test func `without a terminal, allowing a file requires --yes`() {
    let refused = inProject(#""$vault" allow"#)
    #expect(refused.status == 64 && refused.errors.contains("--yes"))
    #expect(run().status == 12)
  }

  @Test func `on a terminal the file is shown, and allowed only after a yes`() {
    for (answer, status) in [("no\n", Int32(130)), ("yes\n", 0)] {
      let terminal = PseudoTerminal()
      terminal.type(answer)
      let (ended, _) = store.run(["allow", store.folder.file("project")], on: terminal)
      let shown = terminal.shown()
      #expect(ended == status && shown.contains("set STRIPE_KEY = stripe") && shown.contains("(yes/no)"))
    }
    #expect(run().status == 0)
  }

  @Test func `only the user can access the decisions in the state folder`() {
    #expect(inProject(#""$vault" allow --yes"#).status == 0)
    let names = store.shell(#"cd "$folder/state/projects" && stat -c '%a' . *"#)
    #expect(names.output == "700\n600\n")
  }

  @Test func `a file that others can write is ignored`() {
    #expect(inProject(#""$vault" allow --yes && chmod g+w ../.vault"#).status == 0)
    let ran = run()
    #expect(ran.output == "[] []\n" && ran.errors.contains("is ignored: others can write it"))
    #expect(inProject(#""$vault" allow --yes"#).status == 12)
  }

  @Test(.needsRoot) func `a file of another user is ignored`() {
    #expect(inProject(#""$vault" allow --yes && chown 12345 ../.vault"#).status == 0)
    #expect(run().output == "[] []\n" && run().errors.contains("belongs to another user"))
  }

  @Test func `a link is not followed, and a folder of this name is ignored`() {
    #expect(inProject(#"mv ../.vault ../other && ln -s other ../.vault"#).status == 0)
    #expect(run().output == "[] []\n" && run().errors.contains("is a symbolic link"))
    #expect(inProject(#"rm ../.vault && mkdir ../.vault"#).status == 0)
    #expect(run().output == "[] []\n" && run().errors.isEmpty)
  }

  @Test func `a file in the home folder is ignored`() {
    #expect(store.shell(#"echo 'set A = stripe' >"$folder/.vault" && rm "$folder/project/.vault""#).status == 0)
    #expect(run().output == "[] []\n" && run().errors.isEmpty)
    #expect(inProject(#""$vault" allow --yes"#).status == 10)
  }

  @Test func `a file with a forbidden entry cannot be allowed`() {
    write("credential = /tmp/x\n")
    #expect(inProject(#""$vault" allow --yes"#).status == 64)
  }
}
