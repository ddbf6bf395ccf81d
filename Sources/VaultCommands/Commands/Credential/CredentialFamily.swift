import ArgumentParser

/// `vault credential …`
struct CredentialFamily: CommandFamily {
  static let configuration = CommandConfiguration(
    commandName: "credential",
    abstract: "Answer git and docker, which ask for passwords and keep them.",
    usage: "vault credential git | docker OPERATION",
    discussion: """
      The executable called as git-credential-vault or docker-credential-vault does the same; tools/install links them.

      Example:
        git config --global credential.helper vault
      """,
    subcommands: [AnswerGit.self, AnswerDocker.self])
}
