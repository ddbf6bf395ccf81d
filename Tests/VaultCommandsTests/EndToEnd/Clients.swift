import Glibc

@testable import VaultCommands

/// Client programs that ask our helpers for passwords.
extension TestStore {
  /// Links the executable as git's and docker's helper in the folder where `client` looks for programs.
  func linkHelpers(named name: String = "vault") {
    unsafe mkdir(folder.file("bin"), 0o700)
    for helper in ["git-credential-", "docker-credential-", "cargo-credential-"] {
      unsafe symlink(Executable.path, folder.file("bin/\(helper)\(name)"))
    }
    unsafe symlink(Executable.path, folder.file("bin/\(name)-askpass"))
  }

  /// The folder of the package.
  static let clone = String(
    #filePath.prefix(upTo: #filePath.firstRange(of: "/Tests/")?.lowerBound ?? #filePath.endIndex))

  /// The folder of the clients that are written in Python, in an environment of their own. tools/prepare makes it.
  static let pythonClients = "\(clone)/.build/clients/bin"

  /// Runs a script that can find the clients and helpers. Git has only the settings in `$HOME` and never prompts.
  @discardableResult
  func client(_ script: String, input: String = "", environment more: [String: String] = [:]) -> Executable.Result {
    var environment = scriptEnvironment.merging(more) { $1 }
    environment["PATH"] = "\(folder.file("bin")):/usr/local/bin:\(Machine.path)"
    environment["GIT_CONFIG_NOSYSTEM"] = "1"
    environment["GIT_TERMINAL_PROMPT"] = "0"
    environment["LC_ALL"] = "C.UTF-8"
    return Executable(["-c", script], program: "/bin/sh", input: Array(input.utf8), environment: environment).wait()
  }

  /// Runs a script next to a server on the loopback interface that requires `login`, a user name and a password. It is a git host with
  /// an empty `repo.git`, and a docker registry. The script gets its address in `$host`, and may change `$folder/server/login`.
  func clientWithServer(_ script: String, login: String, environment: [String: String] = [:]) -> Executable.Result {
    unsafe mkdir(folder.file("server"), 0o700)
    _ = folder.write("server/login", Array(login.utf8))
    return client(
      """
      git init -q --bare "$folder/server/repo.git" && git -C "$folder/server/repo.git" config http.receivepack true
      /usr/bin/python3 "\(Self.clone)/Tests/Clients/server.py" "$folder/server" & server=$!
      trap 'kill $server' EXIT
      for _ in $(seq 3600); do [ -s "$folder/server/port" ] && break; sleep 0.05; done
      host=127.0.0.1:$(cat "$folder/server/port")
      \(script)
      """, environment: environment)
  }
}
