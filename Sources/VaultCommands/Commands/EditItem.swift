import ArgumentParser
internal import Vault

/// `vault edit NAME`
struct EditItem: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit",
    abstract: "Change a value in your editor; no plaintext gets to a disk.",
    usage: "vault edit NAME[#FIELD] [-g GROUP] [--create]",
    discussion: """
      The editor is what VISUAL or EDITOR names, or else vi. The text lies in a folder of yours on a file system in \
      memory ($XDG_RUNTIME_DIR or /dev/shm), which is wiped afterwards. vim and nvim are told to keep no swap, backup, \
      undo or history files; nano and emacs start without your settings; of other editors a warning says that they may \
      keep copies. An editor with windows of its own has to stay until you are done: EDITOR='code --wait'.

      A text that did not change makes no new version, and an empty one is not stored. Label, attributes, expiry and \
      type stay. One newline at the end comes off, unless the value had one. If the item changed meanwhile, or the text \
      is none of the value's type, your text is kept in memory, and its path is told.

      NAME#FIELD is one field of a login or another JSON value, as set reads it.

      Example:
        EDITOR=nano vault edit db/password
        vault edit web/GitHub#notes
      """)

  @Argument(help: ArgumentHelp("The item's name.", valueName: "name")) var name: String
  @OptionGroup var field: FieldOptions
  @OptionGroup var group: GroupOptions
  @Flag(help: "Make the item, or the field, if there is none.") var create = false
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    _ = try Item.Name(name)
    let group = try session.openGroup(group.group, key.source)
    let place = try ItemPlace(name, field: field.field, in: group)
    var request = try EditRequest(place, group: group, session: session)
    guard try request.takePresent() || create else {
      let missing = place.field == nil ? VaultError.notFound(.item).message : "the value has no such field"
      throw Failure(.notFound, missing, hint: "--create makes a new one")
    }
    try request.run()
  }
}
