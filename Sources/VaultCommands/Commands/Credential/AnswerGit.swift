import ArgumentParser

/// `vault credential git OPERATION`
struct AnswerGit: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "git",
    abstract: "Be git's credential helper: get, store or erase what stdin describes.",
    usage: "vault credential git get|store|erase|capability [-g GROUP]",
    discussion: """
      Credentials are items such as git/https/github.com/alice: JSON with username, password and what else git tells. One \
      stored by hand may be a token alone. What has expired is not given out; erase spares another password than the one it is \
      told, and what is erased can be restored. Where the store is locked and nobody can be asked, git asks itself.

      Example:
        git config --global credential.helper vault
        git config --global credential.helper '!vault credential git -g work'
      """)

  @Argument(help: ArgumentHelp("get, store, erase or capability.", valueName: "operation")) var operation: String
  @OptionGroup var group: GroupOptions
  @OptionGroup var key: KeyOptions

  var request: GitCredentialRequest { GitCredentialRequest(operation: operation, group: group.group, key: key.source) }

  func run(in session: Session) throws { try request.run(in: session) }
}
