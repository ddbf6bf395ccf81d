import Foundation
import Testing

@testable import VaultCommands

/// A marked secret goes through both helpers in valid and invalid calls and must appear only in their answers.
@Suite struct CredentialLeakTests {
  private let store: TestStore
  private let marks = ["S3CR3T", "UzNDUjNU", "MzQ1IzV", "M0NSM1"]

  init() throws {
    store = try TestStore()
    store.linkHelpers()
    _ = store.shell(#"mkdir "$folder/temporary""#)
    store.environment["TMPDIR"] = store.folder.file("temporary")
  }

  private func expectNone(in text: String, _ place: String, sourceLocation: SourceLocation = #_sourceLocation) {
    for mark in marks { #expect(!text.contains(mark), "\(place)", sourceLocation: sourceLocation) }
  }

  /// No file of the store, its state or the temporary folder has a mark in its name or content.
  private func expectNothingInFiles() {
    var count = 0
    for part in ["store", "state", "temporary"] {
      let names = FileManager.default.enumerator(atPath: store.folder.file(part))?.compactMap { $0 as? String } ?? []
      for name in names {
        expectNone(in: name, name)
        let bytes = store.folder.read("\(part)/\(name)")
        if !bytes.isEmpty { count += 1 }
        for mark in marks { #expect(!bytes.contains(Array(mark.utf8)), "\(name)") }
      }
    }
    #expect(count > 5)
  }

  /// The started processes with their arguments and environment, where this machine can show them.
  private var tracing: String {
    Machine.canTrace ? #"strace -f -qq -v -s 100000 -e trace=execve -o "$folder/trace" "# : ""
  }

  private func expectNothingStartedWithIt() {
    guard Machine.canTrace else { return }
    let trace = String(decoding: store.folder.read("trace"), as: UTF8.self)
    #expect(trace.contains("execve("))
    expectNone(in: trace, "an argument or a variable")
  }

  @Test func `no message leaks a secret, whether it is answered, refused or finds the store locked`() {
    let git = "protocol=https\nhost=h\nusername=S3CR3T-USER\npassword=S3CR3T-VALUE\n"
    let docker = #"{"ServerURL":"https://S3CR3T","Username":"S3CR3T-USER","Secret":"S3CR3T-VALUE"}"#
    let long = String(repeating: "S3CR3T", count: 400_000)
    let runs: [(helper: String, input: String, status: Int32, isAnswer: Bool)] = [
      ("git-credential-vault store", git, 0, false), ("git-credential-vault get", git, 0, true),
      ("git-credential-vault get", "protocol=https\nhost=h\n", 0, true),
      ("git-credential-vault get >/dev/full", git, 23, false),
      ("git-credential-vault store", "protocol=https\nS3CR3T", 64, false),
      ("git-credential-vault store", git + "x=\u{0}S3CR3T\n", 64, false),
      ("git-credential-vault store", git + long, 20, false),
      ("git-credential-vault store", git.replacing("USER", with: long.prefix(3_000)), 20, false),
      ("git-credential-vault store -g S3CR3T", git, 64, false), ("git-credential-vault store --S3CR3T", git, 64, false),
      ("git-credential-vault S3CR3T", git, 0, false), ("git-credential-vault erase", git + "\nS3CR3T", 0, false),
      ("docker-credential-vault store", docker, 0, false),
      ("docker-credential-vault get", "https://S3CR3T", 0, true), ("docker-credential-vault list", "", 0, true),
      ("docker-credential-vault store", docker + "S3CR3T", 1, false),
      ("docker-credential-vault store", #"{"ServerURL":"","Secret":"S3CR3T"}"#, 1, false),
      ("docker-credential-vault store", #"{"ServerURL":"x","Username":"","Secret":"S3CR3T"}"#, 1, false),
      ("docker-credential-vault store", docker.replacing("VALUE", with: long), 1, false),
      ("docker-credential-vault get", "S3CR3T-ABSENT", 1, false),
      ("docker-credential-vault get -g S3CR3T", "https://S3CR3T", 1, false),
      ("docker-credential-vault erase", "https://S3CR3T\n", 0, false),
      ("VAULT_KEY_FILE=/nonexistent git-credential-vault get", git, 11, false),
      ("VAULT_KEY_FILE=/nonexistent docker-credential-vault store", docker, 1, false),
    ]
    for run in runs {
      let result = store.client(run.helper, input: run.input)
      #expect(result.status == run.status, "\(run.helper): \(result)")
      expectNone(in: result.errors, run.helper)
      #expect(marks.contains { result.output.contains($0) } == run.isAnswer, "\(run.helper): \(result.output)")
    }
    expectNothingInFiles()
  }

  @Test func `requests of git and docker put no secret into a process's arguments or environment`() {
    let login = "protocol=https\nhost=h\nusername=u\npassword=S3CR3T-VALUE\n"
    _ = store.folder.write("git", Array(login.utf8))
    _ = store.folder.write("docker", Array(#"{"ServerURL":"s","Username":"u","Secret":"S3CR3T-VALUE"}"#.utf8))
    let result = store.client(
      tracing + #"sh -c "git-credential-vault store <$folder/git; git-credential-vault get <$folder/git;"#
        + #" docker-credential-vault store <$folder/docker; echo s | docker-credential-vault get""#)
    #expect(result.status == 0 && result.output.contains("password=S3CR3T-VALUE\n"), "\(result)")
    #expect(result.output.contains(#""Secret":"S3CR3T-VALUE""#))
    expectNone(in: result.errors, "stderr")
    expectNothingStartedWithIt()
    expectNothingInFiles()
  }

  @Test(.needsClients) func `real git and docker clients leave a secret only in items`() {
    _ = store.folder.write(
      "ask", Array("#!/bin/sh\ncase $1 in U*) echo ann ;; *) cat \"$folder/server/password\" ;; esac\n".utf8),
      mode: 0o700)
    let result = store.clientWithServer(
      """
      printf S3CR3T-VALUE >"$folder/server/password"
      mkdir "$folder/docker" && echo '{"credsStore":"vault"}' >"$folder/docker/config.json"
      cd "$folder" && \(tracing)sh -c '
        git -c credential.helper=vault clone -q "http://$0/repo.git" one &&
        rm server/password && git -c credential.helper=vault clone -q "http://$0/repo.git" two &&
        cut -d: -f2 server/login | docker login --username ann --password-stdin "$0" && docker logout "$0"' "$host" \\
        >"$folder/said" 2>&1 || { cat "$folder/said" >&2; exit 1; }
      grep -rF S3CR3T one two docker said && exit 2
      exit 0
      """, login: "ann:S3CR3T-VALUE",
      environment: ["GIT_ASKPASS": store.folder.file("ask"), "DOCKER_CONFIG": store.folder.file("docker")])
    #expect(result.status == 0, "\(result)")
    expectNone(in: result.errors + result.output, "what they said")
    expectNothingStartedWithIt()
    expectNothingInFiles()
  }
}
