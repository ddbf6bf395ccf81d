internal import Ground

/// Every command, in the order of the first page of the help. Parsing, help, manual, reference and completion all use
/// this table and the commands' own descriptions.
enum CommandTable {
  struct Section {
    let title: String
    let entries: [Entry]

    init(_ title: String, _ entries: [Entry]) { (self.title, self.entries) = (title, entries) }
  }

  struct Entry {
    /// The words after `vault` that name the command.
    let path: String
    /// The text after these words on the first page.
    let operands: String
    let line: String
    let type: any Command.Type
    /// Short names from other tools. Each is equivalent to the command.
    let aliases: [String]

    init(_ path: String, _ operands: String, _ line: String, _ type: any Command.Type, aliases: [String] = []) {
      (self.path, self.operands, self.line, self.type, self.aliases) = (path, operands, line, type, aliases)
    }
  }

  static let sections = [
    Section(
      "Secrets",
      [
        Entry("set", "NAME", "store a value: piped, from a file, or typed without echo", SetItem.self),
        Entry("get", "NAME", "write exactly the bytes of a value", GetItem.self, aliases: ["cat", "show"]),
        Entry("edit", "NAME", "change a value in your editor", EditItem.self),
        Entry("pick", "", "find an item in a full-screen list; copy or show it", PickItem.self),
        Entry("generate", "NAME", "store a new random value", GenerateItem.self),
        Entry("list", "[PREFIX]", "list names, labels, versions and dates", ListItems.self, aliases: ["ls"]),
        Entry("search", "TEXT", "search all groups that can be opened", SearchItems.self),
        Entry("info", "NAME", "show everything about an item except its value", InfoItem.self),
        Entry("history", "NAME", "list the kept versions of an item", HistoryOfItem.self),
        Entry("restore", "NAME", "bring back a removed item, or an older version", RestoreItem.self),
        Entry("remove", "NAME", "remove an item; restore brings it back", RemoveItem.self, aliases: ["rm"]),
        Entry("expiring", "", "list what expires soon, for people and monitoring", ExpiringItems.self),
        Entry(
          "rotate-value", "NAME -- COMMAND", "hand a new random value to a program, then store it", RotateValue.self),
        Entry("copy", "NAME", "copy an item to another group or name", CopyItem.self, aliases: ["cp"]),
        Entry("move", "NAME", "move an item to another group, or rename it", MoveItem.self, aliases: ["mv"]),
      ]),
    Section(
      "Using them",
      [
        Entry("unlock", "", "open the store without a prompt for a time", UnlockStore.self),
        Entry("lock", "", "lock an unlocked store again", LockStore.self),
        Entry("run", "-- COMMAND", "run a program with secrets in its environment", RunProgram.self),
        Entry("allow", "[FOLDER]", "let a project's .vault choose variables for run", AllowProject.self),
        Entry("read", "REFERENCE", "write the value that vault://GROUP/NAME names", ReadReference.self),
        Entry("inject", "-i FILE", "fill values into a template", InjectTemplate.self),
        Entry("env", "", "write a group as variables for a shell or an env file", PrintEnvironment.self),
        Entry("watch", "[GROUP] -- COMMAND", "run a program whenever something in a group changes", WatchGroup.self),
        Entry("totp", "NAME", "write the current one-time code", ShowOneTimeCode.self),
        Entry("ssh generate", "NAME", "make an SSH key for vaultd's agent", GenerateSSHKey.self),
        Entry("ssh add", "FILE", "store an SSH key from a file", AddSSHKey.self),
        Entry("ssh list", "", "list the public parts of SSH keys", ListSSHKeys.self, aliases: ["ssh ls"]),
        Entry("credential git", "OPERATION", "act as git's credential helper", AnswerGit.self),
        Entry("credential docker", "OPERATION", "act as docker's credential helper", AnswerDocker.self),
        Entry("credential cargo", "", "act as cargo's credential provider", AnswerCargo.self),
        Entry("credential aws", "NAME", "write an access key for the AWS tools", AnswerAWS.self),
        Entry("askpass", "PROMPT", "answer a prompt of ssh, git or sudo", AskPass.self),
        Entry("askpass add", "NAME PROMPT", "let an item answer a prompt", AddAskPassRule.self),
        Entry("askpass list", "", "list the prompts that items answer", ListAskPassRules.self, aliases: ["askpass ls"]),
      ]),
    Section(
      "Other programs' files",
      [
        Entry("import", "FILE", "import a file, all of it or nothing", ImportItems.self),
        Entry("export", "", "write all values of a group for other programs", ExportItems.self),
      ]),
    Section(
      "The store",
      [
        Entry("init", "", "make a store, or bring a lost one back", Init.self),
        Entry("status", "", "show where the store is and what opens it", Status.self),
        Entry("verify", "", "prove everything in the store", Verify.self),
        Entry("paths", "", "show where everything is, and what to back up", Paths.self),
        Entry("passphrase change", "", "replace the passphrase, or add the first one", ChangePassphrase.self),
        Entry("slot list", "", "list what opens the store", ListSlots.self, aliases: ["slot ls"]),
        Entry("slot add passphrase", "", "add a passphrase", AddPassphrase.self),
        Entry("slot add key-file", "", "add a key file", AddKeyFile.self),
        Entry("slot add recovery", "", "add a recovery code", AddRecoveryCode.self),
        Entry("slot add systemd", "", "add a key for a systemd service", AddSystemdCredential.self),
        Entry("slot remove", "NUMBER", "remove a way to open the store", RemoveSlot.self),
        Entry("recovery create", "", "make a recovery code to write down", CreateRecoveryCode.self),
        Entry("identity show", "", "show who the store belongs to, and what opens it", ShowIdentity.self),
      ]),
    Section(
      "Backups",
      [
        Entry("backup", "DIR", "copy the store into a folder, proved completely", BackupStore.self),
        Entry("restore-backup", "DIR", "restore the groups of a backup", RestoreBackup.self),
        Entry("repair", "GROUP", "rebuild a damaged group from all that is proved", RepairGroup.self),
      ]),
    Section(
      "Access groups",
      [
        Entry("group create", "NAME", "make a group, a separate encrypted file", CreateGroup.self),
        Entry("group list", "", "list the groups", ListGroups.self, aliases: ["group ls"]),
        Entry("group show", "NAME", "show a group's state and its members", ShowGroup.self),
        Entry("group share", "NAME", "let a Unix group open a group's files", ShareGroup.self),
        Entry("group accept", "NAME", "accept a group's current state", AcceptGroup.self),
        Entry("group compact", "NAME", "delete removed items, and free their space", CompactGroup.self),
        Entry("group rotate", "NAME", "give a group a new key", RotateGroup.self),
        Entry("group publish", "NAME", "have a cluster order a group's changes", PublishGroup.self),
        Entry("group unpublish", "NAME", "stop publishing a group", UnpublishGroup.self),
        Entry("group remove", "NAME", "remove a group with all its items", RemoveGroup.self),
      ]),
    Section(
      "Applications",
      [
        Entry("app issue", "APP", "write a credential that opens the app's groups only", IssueApplication.self),
        Entry("app list", "", "list the applications", ListApplications.self, aliases: ["app ls"]),
        Entry("app show", "APP", "show an application's state, groups and rights", ShowApplication.self),
        Entry("app bind", "APP", "let vaultd recognize an application's process", BindApplication.self),
        Entry("app unbind", "APP", "stop recognizing an application's process", UnbindApplication.self),
        Entry("app uninstall", "APP", "uninstall an application; keep or remove its groups", UninstallApplication.self),
        Entry("grant", "GROUP APP", "let an application into a group", GrantRights.self),
        Entry("revoke", "GROUP APP", "remove an application, and change the group's key", RevokeRights.self),
        Entry("exposure", "", "list what removed members could read", ShowExposure.self),
      ]),
    Section(
      "The service, and the record",
      [
        Entry("service enroll", "", "write the credential with which vaultd serves groups", EnrollService.self),
        Entry("service show", "", "show what vaultd serves, and who is bound", ShowService.self),
        Entry("service revoke", "", "remove vaultd from all groups", RevokeService.self),
        Entry("audit", "", "show who read and changed what", ShowAudit.self),
        Entry("audit verify", "", "prove that no record was dropped or replaced", VerifyAudit.self),
        Entry("audit begin", "", "begin the record on a store without vaultd", BeginAudit.self),
      ]),
    Section(
      "Several machines",
      [
        Entry("remote add", "NAME ADDRESS", "name an etcd cluster that keeps groups", AddRemote.self),
        Entry(
          "remote list", "", "list the remotes, and what is published there", ListRemotes.self, aliases: ["remote ls"]),
        Entry(
          "remote provision", "NAME [GROUP]...", "make a remote's users and permissions in etcd", ProvisionRemote.self),
        Entry("remote remove", "NAME", "forget a remote", RemoveRemote.self),
        Entry("join", "", "have vaultd fetch an application's groups", JoinApplication.self),
        Entry("sync", "[GROUP]...", "bring copies of published groups up to date", SynchronizeGroups.self),
      ]),
    Section(
      "Keyed archives",
      [
        Entry("archive show", "FILE", "show an archive's content", ShowArchive.self),
        Entry("archive check", "FILE", "check whether a program would read an archive", CheckArchive.self),
        Entry("archive convert", "FILE", "write an archive as XML, binary or JSON", ConvertArchive.self),
      ]),
    Section(
      "The shell", [Entry("completions", "SHELL", "write the completion script of bash, zsh or fish", Completions.self)]
    ),
  ]

  /// The hidden command that clears the clipboard later.
  static let clearing = "clear-clipboard"

  /// Commands that our scripts call and no help shows.
  static let hidden = [
    Entry("complete", "-- WORD", "list the candidates for the end of a command line", Complete.self),
    Entry(clearing, "KIND SECONDS", "clear the clipboard after a time", ClearClipboard.self),
    Entry("manual", "FOLDER", "write the manual pages into a folder", Manual.self),
  ]

  static var entries: [Entry] { sections.flatMap(\.entries) }

  fileprivate static func entry(_ path: String) -> Entry? {
    for section in sections {
      for entry in section.entries where entry.path == path || entry.aliases.contains(path) { return entry }
    }
    return hidden.first { $0.path == path }
  }

  /// The common first words of several commands, and their common description.
  static let families = [
    Family(
      "credential", "Answer git, docker, cargo and the AWS tools when they ask for passwords or store them.",
      more: """
        Under the name git-credential-vault, docker-credential-vault or cargo-credential-vault, the executable acts as \
        the helper of git, docker or cargo; tools/install makes these links.
        """,
      example: "git config --global credential.helper vault"),
    Family(
      "ssh", "Keep SSH keys, with which vaultd's agent signs for programs.",
      example: "vault ssh generate ssh/github"),
    Family("passphrase", "Change the passphrase that opens the store.", example: "vault passphrase change"),
    Family(
      "slot", "Show and change what opens the store.",
      more: """
        A slot is one way to open the store: a passphrase, a key file, a recovery code or a systemd credential. Each \
        opens the whole store, and changing one leaves the others unchanged.
        """,
      example: "vault slot list"),
    Family("slot add", "Add one more way to open the store.", example: "vault slot add recovery"),
    Family(
      "recovery", "Make a code to write down, which opens the store when everything else is lost.",
      example: "vault recovery create"),
    Family("identity", "Show the owner of the store.", example: "vault identity show"),
    Family("group", "Make, show and maintain access groups.", example: "vault group create team.shared --keep 50"),
    Family(
      "app", "Issue credentials to applications, bind them to processes, show and uninstall them.",
      example: "vault app issue com.example.api --output /etc/api/credential"),
    Family(
      "service", "Let vaultd serve groups to callers that the kernel identifies.",
      example: "vault service enroll --output /etc/vaultd/credential --all"),
    Family(
      "remote", "Name the etcd clusters that keep groups for several machines.",
      example: "vault remote add office etcds://etcd1.example:2379"),
    Family(
      "archive", "Inspect keyed archives (NSKeyedArchiver) without building their objects; no store is needed.",
      example: "vault archive show settings.plist"),
  ]

  struct Family {
    let path: String
    let abstract: String
    let more: String
    let example: String

    init(_ path: String, _ abstract: String, more: String = "", example: String) {
      (self.path, self.abstract, self.more, self.example) = (path, abstract, more, example)
    }
  }
}

/// A place in the table: `vault` itself, a family such as `vault group`, or a command.
struct NamedCommand {
  /// `vault group create`
  let path: String
  /// The command's type; nil for `vault` and families.
  let type: (any Command.Type)?
  /// The number of words that named it.
  let wordCount: Int

  /// The command or family that the words name.
  init(_ words: some Collection<String>) {
    var path = ""
    // The longest names have three words. One typed word never counts as two, whatever it contains.
    var named: CommandTable.Entry?
    var (count, wordCount) = (0, 0)
    for word in words.prefix(3).prefix(while: { !$0.isEmpty && !$0.utf8.contains(UInt8(ascii: " ")) }) {
      path += path.isEmpty ? word : " " + word
      count += 1
      // The longest match counts: `audit verify` is a command of its own, not an argument of `audit`.
      if let entry = CommandTable.entry(path) { (named, wordCount) = (entry, count) }
    }
    if let named {
      self.init(named, wordCount: wordCount)
      return
    }
    let family = CommandTable.families.map(\.path).filter { path == $0 || path.hasPrefix($0 + " ") }.max {
      $0.utf8.count < $1.utf8.count
    }
    self.init(family: family ?? "")
  }

  private init(_ entry: CommandTable.Entry, wordCount: Int) {
    (path, type, self.wordCount) = ("vault " + entry.path, entry.type, wordCount)
  }

  private init(family: String) {
    (path, type, wordCount) = (family.isEmpty ? "vault" : "vault " + family, nil, NamedCommand.wordCount(family))
  }

  private static func wordCount(_ path: String) -> Int { path.split(separator: " ").count }

  /// `vault` and everything below it, except hidden commands.
  static var all: [NamedCommand] { NamedCommand([]).andBelow }

  private var andBelow: [NamedCommand] { [self] + subcommands.flatMap(\.andBelow) }

  /// The commands and families directly below it, in the order of the table.
  var subcommands: [NamedCommand] {
    var found: [NamedCommand] = []
    let words = path.split(separator: " ").dropFirst()
    for entry in CommandTable.entries {
      let names = entry.path.split(separator: " ")
      guard names.count > words.count, names.starts(with: words) else { continue }
      let next = NamedCommand(names.prefix(words.count + 1).map(String.init))
      if found.last?.path != next.path { found.append(next) }
    }
    return found
  }

  /// Its last word.
  var name: String { path.split(separator: " ").last.map(String.init) ?? path }

  /// Every argument and option.
  var parameters: [Parameter] { (type?.parameters ?? []) + [.help] }

  var about: About {
    if let type { return type.about }
    guard let family = CommandTable.families.first(where: { "vault " + $0.path == path }) else { return Help.about }
    return About(family.abstract, usage: forms(of: family), more: family.more, example: family.example)
  }

  /// `vault slot list | add passphrase | …`, on as many lines as needed.
  private func forms(of family: CommandTable.Family) -> String {
    var lines: [String] = []
    for entry in CommandTable.entries where entry.path.hasPrefix(family.path + " ") {
      let form = [String(entry.path.dropFirst(family.path.count + 1)), entry.operands].filter { !$0.isEmpty }
      let words = form.joined(separator: " ")
      if let last = lines.last, last.count + words.count <= 70 {
        lines[lines.count - 1] = "\(last) | \(words)"
      } else {
        lines.append("\(path) \(words)")
      }
    }
    return lines.joined(separator: "\n")
  }

  /// The command's usage, to be printed under an error.
  func usage(columns: Int) -> String { Help.forms(about.usage, after: "usage: ", columns) + "\n" }
}
