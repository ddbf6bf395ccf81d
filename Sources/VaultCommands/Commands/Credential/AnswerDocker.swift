import ArgumentParser

/// `vault credential docker OPERATION`
struct AnswerDocker: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "docker",
    abstract: "Be docker's credential helper: keep what docker login is given.",
    usage: "vault credential docker store|get|erase|list|version [-g GROUP]",
    discussion: """
      Logins are items such as docker/https://index.docker.io/v1/: JSON with username and password. Errors are told on stdout, \
      with status 1, as docker expects it.

      Example:
        echo '{"credsStore":"vault"}' > ~/.docker/config.json
        echo https://index.docker.io/v1/ | vault credential docker get
      """)

  @Argument(help: ArgumentHelp("store, get, erase, list or version.", valueName: "operation"))
  var operations: [String] = []
  @OptionGroup var group: GroupOptions
  @OptionGroup var key: KeyOptions

  var request: DockerCredentialRequest {
    DockerCredentialRequest(operations: operations, group: group.group, key: key.source)
  }

  func run(in session: Session) throws { try request.run(in: session) }
}
