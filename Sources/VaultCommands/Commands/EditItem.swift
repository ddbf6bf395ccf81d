import ArgumentParser
internal import VaultStore

/// `vault edit NAME`
struct EditItem: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit",
    abstract: "Change a value in your editor; no plaintext gets to a disk.",
    usage: "vault edit NAME [-g GROUP] [--create]",
    discussion: """
      The editor is what VISUAL or EDITOR names, or else vi. The text lies in a folder of yours on a file system in \
      memory ($XDG_RUNTIME_DIR or /dev/shm), which is wiped afterwards. vim and nvim are told to keep no swap, backup, \
      undo or history files; nano and emacs start without your settings; of other editors a warning says that they may \
      keep copies. An editor with windows of its own has to stay until you are done: EDITOR='code --wait'.

      A text that did not change makes no new version, and an empty one is not stored. Label, attributes, expiry and \
      type stay. One newline at the end comes off, unless the value had one. If the item changed meanwhile, or the text \
      is none of the value's type, your text is kept in memory, and its path is told.

      Example:
        EDITOR=nano vault edit db/password
      """)

  @Argument(help: ArgumentHelp("The item's name.", valueName: "name")) var name: String
  @OptionGroup var group: GroupOptions
  @Flag(help: "Make the item if there is none.") var create = false
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let name = try Item.Name(name).description
    let group = try session.openGroup(group.group, key.source)
    var request = try EditRequest(name: name, group: group, session: session)
    do {
      try request.takePresent()
    } catch VaultError.notFound(.item) where create {
    } catch let error as VaultError where error == .notFound(.item) {
      throw Failure(error.exitStatus, error.message, hint: "--create makes a new one")
    }
    try request.run()
  }
}
