import ArgumentParser

/// `vault app …`
struct ApplicationFamily: CommandFamily {
  static let configuration = CommandConfiguration(
    commandName: "app",
    abstract: "Issue credentials to applications, show and uninstall them.",
    usage: """
      vault app issue APP --output FILE [--again | --replace] …
      vault app list | show APP | uninstall APP [--revoke]
      """,
    discussion: """
      Example:
        vault app issue com.example.api --output /etc/api/credential
      """,
    subcommands: [
      IssueApplication.self, ListApplications.self, ShowApplication.self, UninstallApplication.self,
    ])
}
