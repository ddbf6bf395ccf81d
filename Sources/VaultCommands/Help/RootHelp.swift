internal import Vault

/// What `vault --help` prints. It is written out here, because the argument parser looks through every command to make
/// its own, which takes longer than all the rest of the start.
enum RootHelp {
  static func isAsked(by arguments: [String]) -> Bool {
    arguments == ["--help"] || arguments == ["-h"] || arguments == ["help"]
  }

  static let abstract = "A keychain: small secrets, encrypted per access group, for scripts and services."

  static var text: String {
    """
    \(abstract)

    usage: vault COMMAND …

    First steps:
    \(firstSteps)

    Secrets:
      set NAME            store a value: piped, from a file, or typed without echo
      get NAME            write a value, exactly its bytes
      edit NAME           change a value in your editor
      generate NAME       store a new random value
      list [PREFIX]       list names, labels, versions and dates
      search TEXT         look for a text in all groups that open
      info NAME           show everything about an item but its value
      history NAME        list the versions of an item that are kept
      restore NAME        bring back a removed item, or an older version
      remove NAME         remove an item; restore brings it back
      copy NAME           copy an item to another group or name
      move NAME           move an item to another group, or rename it

    Using them:
      unlock              open the store without being asked, for a time
      lock                end that now
      run -- COMMAND      run a program with secrets in its environment
      read REFERENCE      write what vault://GROUP/NAME names
      inject -i FILE      write a template with values in place of references
      env                 write a group as variables for a shell or an env file
      totp NAME           write the one-time code of this moment
      credential git OPERATION
                          be git's credential helper
      credential docker OPERATION
                          be docker's credential helper

    Other programs' files:
      import FILE         bring in what a file holds, all at once
      export              write all values of a group as an env file or JSON

    The store:
      init                 make a store, or bring a lost one back
      status               look at the store: where it is, and what opens it
      verify               prove everything in it
      paths                show where everything is, and what to back up
      passphrase change    replace the passphrase, or add the first one
      slot list            list what opens the store
      slot add passphrase  add a passphrase
      slot add key-file    add a key file
      slot add recovery    add a recovery code
      slot add systemd     add a key for a systemd service
      slot remove NUMBER   remove one of them
      recovery create      make a recovery code to write down
      identity show        show who the store belongs to, and what opens it

    Backups:
      backup DIR          copy the store into a folder, proved completely
      restore-backup DIR  put the groups of a backup back
      repair GROUP        make a damaged group anew of all that is proved

    Access groups:
      group create NAME   make a group: an encrypted file of its own
      group list          list the groups
      group show NAME     show a group's state and its members
      group share NAME    let a Unix group open its files
      group accept NAME   take a group as it is now
      group compact NAME  forget removed items, and free their space
      group rotate NAME   give a group a new key
      group remove NAME   remove a group with all its items

    Applications:
      app issue APP       write a credential that opens the app's groups only
      app list            list the applications
      app show APP        show an application's state, groups and rights
      app uninstall APP   do what each of its groups declares for that
      grant GROUP APP     let an application into a group
      revoke GROUP APP    take it out, and give the group a new key
      exposure            list what removed members could read

    Keyed archives:
      archive show        show what an archive holds
      archive check       say whether a program would read it
      archive convert     write it as XML, binary or JSON

    The shell:
      completions SHELL   write the completion script of bash, zsh or fish

    \(surroundings)

    More:
      vault COMMAND --help   the options of a command, and an example
      vault --version        the versions of vault, its format and its libraries

    """
  }

  static let firstSteps = """
      vault init --key-file ~/.config/vault.key
      export VAULT_KEY_FILE=~/.config/vault.key
      printf %s "$TOKEN" | vault set api/token
      vault get api/token
    """

  static var surroundings: String {
    """
    Places:
      VAULT_HOME      the store (else $XDG_DATA_HOME/vault; root: /var/lib/vault)
      VAULT_STATE     what this machine has seen (else $XDG_STATE_HOME/vault;
                      root: /var/lib/vault-state)
      VAULT_GROUP     the access group where -g is not given (else default, or
                      the application's own)
      VAULT_KEY_FILE  the key file where --key-file is not given
      VAULT_CREDENTIAL
                      the credential of the application to act as (else the
                      file vault in systemd's $CREDENTIALS_DIRECTORY)

    Exit statuses:
    \(statuses)
    """
  }

  private static var statuses: String {
    ExitStatus.allCases
      .map { status in
        let number = String(status.rawValue)
        return "  " + String(repeating: " ", count: 3 - number.count) + number + "  " + status.meaning
      }
      .joined(separator: "\n")
  }
}
