import Testing

@testable import VaultCommands

@Suite struct ServiceCommandTests {
  private let store: TestStore
  private let app = "com.example.web"

  init() throws { store = try TestStore() }

  private var credential: String { store.folder.file("credential") }

  @Test func `a service is enrolled, shown and revoked`() throws {
    store.run("group", "create", "team")
    let enrolled = store.run("service", "enroll", "--output", credential, "--group", "team:read", "--group", "default")
    #expect(enrolled.status == 0 && enrolled.output.isEmpty)
    #expect(store.folder.mode("credential") == 0o600)
    let shown = try readJSON(store.run("service", "show", "--json").output)
    #expect(shown["state"] as? String == "issued")
    #expect(
      shown["groups"] as? [[String: String]] == [
        ["name": "default", "rights": "write"], ["name": "team", "rights": "read"],
      ])
    #expect(store.run("service", "show").output.contains("group: team, may read\n"))
    #expect(store.run("get", "a", "-g", "team", "--credential", credential).status == 10)
    #expect(store.run("service", "enroll", "--output", store.folder.file("b")).status == 22)
    #expect(store.run("service", "enroll", "--output", store.folder.file("b"), "--again", "--all").status == 0)
    #expect(store.run("service", "revoke").status == 0)
    #expect(store.run("get", "a", "-g", "team", "--credential", credential).status == 12)
    #expect(store.run("service", "show").output.contains("state: revoked\n"))
    #expect(store.run("service", "enroll", "--output", store.folder.file("c"), "--replace").status == 0)
  }

  @Test func `whoever restores older groups of the service is told to enroll it again, until that is done`() throws {
    let again = "let it in again: vault service enroll --output FILE --again"
    store.run("service", "enroll", "--output", credential)
    let backup = store.folder.file("backup")
    #expect(store.run("backup", backup).status == 0)
    let same = store.run("restore-backup", backup, "vault.service", "vault.tokens", "--replace")
    #expect(same.status == 0 && !same.errors.contains("enroll"), "\(same.errors)")
    #expect(store.run("service", "enroll", "--output", store.folder.file("second"), "--replace").status == 0)
    #expect(!store.run("verify").errors.contains("vaultd"))
    let groups = "vaultd does not work: its credential does not open 'vault.service', 'vault.tokens'"
    let restored = store.run("restore-backup", backup, "vault.service", "vault.tokens", "--replace")
    #expect(restored.status == 0, "\(restored.errors)")
    #expect(restored.errors.contains("\(groups); accept that state, then \(again)\n"), "\(restored.errors)")
    for group in ["vault.service", "vault.tokens"] {
      #expect(store.run("group", "accept", group, "--yes").status == 0)
    }
    for command in ["verify", "status"] {
      let told = store.run(command)
      #expect(told.status == 0 && told.errors.contains("\(groups); \(again)\n"), "\(command): \(told.errors)")
    }
    #expect(store.run("service", "enroll", "--output", store.folder.file("third"), "--again").status == 0)
    for command in ["verify", "status"] { #expect(!store.run(command).errors.contains("vaultd"), "\(command)") }
  }

  @Test func `a store without a service says so`() {
    #expect(store.run("service", "show").output == "state: not enrolled\n")
    #expect(store.run("service", "revoke").status == 10)
    #expect(store.run("app", "unbind", app, "--all").status == 10)
  }

  @Test func `an application is bound, shown and unbound`() throws {
    store.run("service", "enroll", "--output", credential)
    let bound = store.run(
      "app", "bind", app, "--unit", "web", "--user", "www-data", "--load-credential", "db=db/password#user",
      "--load-credential", "tls=vault://team/a%23b")
    #expect(bound.status == 0, "\(bound.errors)")
    #expect(store.run("app", "bind", app, "--exe", "/usr/bin/web").status == 0)
    let shown = try readJSON(store.run("app", "show", app, "--json").output)
    let alternatives = try #require(shown["alternatives"] as? [[String: Any]])
    #expect(alternatives.map { $0["unit"] as? String } == ["web.service", nil])
    #expect(
      alternatives[0]["credentials"] as? [String: String] == [
        "db": "vault:///db/password#user", "tls": "vault://team/a%23b",
      ])
    let text = store.run("app", "show", app).output
    #expect(text.contains("bound: unit web.service, user www-data\nbound: exe /usr/bin/web\n"))
    #expect(text.contains("group: \(app), may write, survives, served\n"))
    #expect(store.run("app", "list").output.contains("\tbound\n"))
    #expect(store.run("app", "unbind", app, "--exe", "/usr/bin/web").status == 0)
    #expect(store.run("app", "unbind", app, "--exe", "/usr/bin/web").status == 10)
    #expect(store.run("app", "unbind", app, "--all").status == 0)
    #expect(!store.run("app", "list").output.contains("\tbound\n"))
    #expect(store.run("service", "show", "--json").output.contains("\"bindings\":[]"))
  }

  @Test func `a group that the service does not serve is named with the command for it`() {
    let bound = store.run("app", "bind", app, "--user", "0")
    #expect(bound.errors.contains("vault service enroll --output FILE --group \(app):write\n"))
    store.run("service", "enroll", "--output", credential)
    store.run("group", "create", "team")
    let granted = store.run("grant", "team", app, "--rights", "read")
    #expect(granted.errors.contains("vault grant team vault.service --rights read\n"))
    #expect(store.run("app", "show", app).output.contains("group: team, may read, survives, not served\n"))
    #expect(store.run("grant", "team", "vault.service", "--rights", "read").status == 0)
    #expect(store.run("app", "show", app).output.contains("group: team, may read, survives, served\n"))
  }

  @Test(arguments: [
    ["app", "bind", "com.example.web"], ["app", "bind", "com.example.web", "--exe", "web"],
    ["app", "bind", "com.example.web", "--unit", "a b"], ["app", "bind", "com.example.web", "--unit", "web.timer"],
    ["app", "bind", "vault.service", "--user", "0"], ["app", "bind", "default", "--user", "0"],
    ["app", "bind", "com.example.web", "--unit", "web.socket"],
    ["app", "bind", "com.example.web", "--unit", "a.scope"],
    ["app", "bind", "com.example.web", "--user", "0", "--load-credential", "db=a"],
    ["app", "bind", "com.example.web", "--unit", "web", "--load-credential", "db"],
    ["app", "bind", "com.example.web", "--unit", "web", "--load-credential", "../db=a"],
    ["app", "bind", "com.example.web", "--unit", "web", "--load-credential", "a=b", "--load-credential", "a=c"],
    ["app", "bind", "com.example.web", "--certificate", "a b"],
    ["app", "bind", "com.example.web", "--certificate", "web.example.com", "--user", "0"],
    ["app", "unbind", "com.example.web"], ["app", "unbind", "com.example.web", "--all", "--user", "0"],
    ["app", "issue", "vault.service", "--output", "/nonexistent/x"],
    ["service", "enroll", "--output", "/nonexistent/x", "--again", "--replace"],
    ["service", "enroll", "--output", "/nonexistent/x", "--accept"],
    ["service", "enroll", "--output", "/nonexistent/x", "--group", "vault.audit"],
    ["service", "enroll", "--output", "/nonexistent/x", "--group", "default:all"],
    ["service", "enroll", "--output", "/nonexistent/x", "--group", "default", "--group", "default:read"],
  ])
  func `contradictory arguments are refused, and the store is unchanged`(arguments: [String]) {
    let refused = Transcript(arguments, environment: store.environment)
    #expect(refused.status == 64, "\(refused.errors)")
    #expect(store.run("group", "list").output == "default\n")
  }

  @Test func `conditions that nothing on this machine meets cause a warning`() {
    let bound = store.run("app", "bind", app, "--user", "no-such-user-here", "--exe", "/nonexistent/web")
    #expect(bound.status == 0)
    #expect(bound.errors.contains("this machine has no user of this name"))
    #expect(bound.errors.contains("there is no such program on this machine"))
    #expect(!store.run("app", "bind", app, "--user", "0", "--exe", "/bin/sh").errors.contains("this machine"))
  }

  @Test func `a certificate is bound by its name or by a fingerprint as programs print it`() {
    let digits = String(repeating: "AB:", count: 31) + "AB"
    for text in ["Web.Example.com", "spiffe://example.com/Web", digits] {
      #expect(store.run("app", "bind", app, "--certificate", text).status == 0)
    }
    #expect(
      store.run("app", "show", app).output.split(separator: "\n").suffix(3) == [
        "bound: certificate web.example.com", "bound: certificate spiffe://example.com/Web",
        "bound: certificate sha256:\(String(repeating: "ab", count: 32))",
      ])
    #expect(store.run("app", "show", app, "--json").output.contains("{\"certificate\":\"web.example.com\","))
    #expect(store.run("app", "unbind", app, "--certificate", digits).status == 0)
  }

  @Test func `making or serving a group with a name of HashiCorp's interface causes a warning`() {
    let created = store.run("group", "create", "sys")
    #expect(created.status == 0 && created.errors.contains("'sys' cannot be a mount"))
    #expect(store.run("set", "a", "-g", "sys", input: "x").status == 0)
    let enrolled = store.run("service", "enroll", "--output", credential, "--group", "sys")
    #expect(enrolled.status == 0 && enrolled.errors.contains("'sys' cannot be a mount"))
    #expect(!store.run("group", "create", "system").errors.contains("mount"))
  }

  @Test func `a revoked service is enrolled again with a new credential, and the error says how`() {
    store.run("service", "enroll", "--output", credential)
    store.run("service", "revoke")
    let refused = store.run("service", "enroll", "--output", store.folder.file("second"))
    #expect(refused.status != 0 && refused.errors.contains("vault service enroll --output FILE --replace"))
    #expect(store.run("service", "enroll", "--output", store.folder.file("second"), "--replace").status == 0)
  }

  @Test func `the store's own groups stay out of lists of items`() throws {
    store.run("service", "enroll", "--output", credential)
    store.run("app", "bind", app, "--user", "0")
    store.run("set", "mine", input: "x")
    #expect(store.run("list", "--all").output.split(separator: "\n").count == 1)
    #expect(store.run("search", "bind").output.isEmpty)
    #expect(store.run("expiring", "--within", "36500d").status == 0)
    store.run("service", "revoke")
    #expect(store.run("exposure").output.isEmpty)
    #expect(store.run("verify").status == 0)
    #expect(store.run("group", "list").output == "\(app)\ndefault\nvault.audit\nvault.service\nvault.tokens\n")
    #expect(store.run("group", "list", "--json").output.contains("\"purpose\":\"the record of decisions\""))
    #expect(store.run("list", "-g", "vault.service").output.contains("bind/\(app)\t"))
    #expect(store.run("backup", store.folder.file("backup")).status == 0)
    let restored = store.run("restore-backup", store.folder.file("backup"))
    #expect(restored.status == 0 && store.run("audit", "verify").status == 0, "\(restored.errors)")
  }
}
