import Glibc
import Testing

@testable import VaultCommands

/// The real docker client with a registry that only checks logins.
@Suite(.needsClients) struct DockerClientTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.linkHelpers()
    unsafe mkdir(store.folder.file("docker"), 0o700)
    _ = store.folder.write("docker/config.json", Array(#"{"credsStore":"vault"}"#.utf8))
    store.environment["DOCKER_CONFIG"] = store.folder.file("docker")
  }

  @Test func `docker stores a password at login, reads it when needed, and erases it at logout`() {
    let result = store.clientWithServer(
      """
      printf s3cret | docker login --username ann --password-stdin "$host" || exit 1
      # It finds the login, and then goes to a daemon, which is not here.
      docker login "$host" </dev/null 2>&1 | grep -o "Authenticating with existing credentials" || exit 2
      echo "$host" | docker-credential-vault get || exit 3
      cat "$folder/docker/config.json" >"$folder/config"
      docker logout "$host" || exit 4
      echo "$host" | docker-credential-vault get
      docker logout "$host"
      """, login: "ann:s3cret")
    #expect(result.status == 0, "\(result)")
    #expect(result.output.contains("Login Succeeded"))
    #expect(result.output.contains(#""Username":"ann","Secret":"s3cret"}"#))
    #expect(result.output.contains("credentials not found in native keychain\n"))
    #expect(!result.errors.contains("s3cret") && !result.errors.contains("could not erase"), "\(result.errors)")
    let settings = String(decoding: store.folder.read("config"), as: UTF8.self)
    #expect(settings.contains(#""credsStore": "vault""#) && settings.contains("127.0.0.1"))
    #expect(!settings.contains(#""auth""#) && !settings.contains("s3cret"))
    #expect(store.run("list", "docker/").output.isEmpty)
  }

  @Test func `a wrong password is not stored by docker`() {
    let result = store.clientWithServer(
      #"printf wrong | docker login --username ann --password-stdin "$host""#, login: "ann:s3cret")
    #expect(result.status != 0)
    #expect(store.run("list", "docker/").output.isEmpty)
  }
}
