import Foundation
import Glibc
import Testing
import Vault

@testable import VaultCommands

/// Every error's exit status and words, on which users and scripts rely.
@Suite struct ErrorReportTests {
  static let table: [(error: VaultError, status: Int32, message: String, hint: String?)] = [
    (
      .notFound(.item), 10, "no such item",
      "list the items: vault list; to bring back a removed item: vault restore NAME"
    ),
    (.notFound(.version(3)), 10, "version 3 of the item is not kept", "see what is kept: vault history NAME"),
    (.notFound(.group), 10, "no such group", "list the groups: vault group list"),
    (
      .exists(.credentialPlace), 22, "a file in the credential's place already exists",
      "name another file, or move that one away first"
    ),
    (
      .exists(.backupPlace), 22, "a file or folder in the backup's place already exists",
      "name a folder that is empty or does not exist yet"
    ),
    (
      .locked(.nobodyToAsk("there is no terminal to ask for the passphrase on")), 11,
      "locked: there is no terminal to ask for the passphrase on",
      "name what opens it (--key-file, --credential, --passphrase-fd, --recovery-fd), or unlock it for a time: vault unlock"
    ),
    (
      .noKeyring("this kernel has no keyring"), 11,
      "the kernel keeps no key for this user: this kernel has no keyring",
      "use a key file instead: vault slot add key-file --new-key-file FILE"
    ),
    (
      .otherDevice(group: "laptop", reason: "this machine has no device key"), 11,
      "locked: 'laptop' opens only on the machine it was made on; this machine has no device key",
      "use it on that device; to see where the device key belongs: vault paths; if that key is lost for good, so is the group: delete the folder STORE/groups/laptop, then: vault group accept laptop; or, if it was never bound to a device: vault restore-backup DIR laptop --replace"
    ),
    (
      .locked(.nothingNamed([.keyFile], "the state folder belongs to another user")), 11,
      "locked: the store opens with a key file, and none was named; the one used before is not known: the state folder belongs to another user",
      "name what opens the store: --key-file FILE; if another state folder remembers it, set VAULT_STATE; if the state folder cannot be used, make it yours alone: chown -R USER and chmod -R go= on it; to see its path: vault paths"
    ),
    (
      .locked(.keyFileFolder(.missing)), 11, "locked: the key file's folder does not exist",
      "make the folder first, or mount the disk that it is on"
    ),
    (
      .locked(.otherStore("/srv/copy", served: "/var/lib/vault")), 11,
      "locked: vaultd serves another store than '/srv/copy': the one at '/var/lib/vault'",
      "if vaultd's store is meant, set VAULT_HOME to its folder, or unset it; for this store, name what opens it (--key-file FILE) and, if a group is published, the socket of its own vaultd (VAULT_SOCKET)"
    ),
    (.denied(.notAMember), 12, "not a member of this group", "ask the store's owner"),
    (.denied(.readOnly), 12, "this member may only read", "ask the store's owner"),
    (
      .denied(.ownerOnly), 12, "only the owner may do this",
      "ask the store's owner; if that is you, leave out --credential and VAULT_CREDENTIAL"
    ),
    (
      .locked(.credential(.missing)), 11, "locked: the credential does not exist",
      "check the path and its mode (600); the owner can write it again: vault app issue APP --output FILE --again"
    ),
    (
      .damaged(group: nil, level: .credential, detail: "cut"), 13, "damaged or altered (credential: cut)",
      "write it again: vault app issue APP --output FILE --again"
    ),
    (
      .witnessUnavailable(group: "team", reason: "the state folder does not exist"), 13,
      "'team' cannot be shown to be in its newest state (witness: the state folder does not exist)",
      "the state folder must exist, be writable, and be accessible only to you (mode 700); to see its path: vault paths"
    ),
    (
      .denied(.permissions("the group's folder")), 12,
      "the system's permissions do not allow it: the group's folder",
      "use the account that owns the store, or have its owner share the group: vault group share NAME --unix-group G (without --read-only, if it is to be written)"
    ),
    (
      .denied(.file(.backup, .foreignOwner)), 12,
      "the system's permissions do not allow it: the backup belongs to another user",
      "it must be yours, and nobody else may write to it: chown -R USER DIR; chmod -R go= DIR"
    ),
    (
      .denied(.file(.backup, .denied)), 12,
      "the system's permissions do not allow it: the backup cannot be opened: permission denied",
      "name a folder in which this user may write: vault backup DIR"
    ),
    (
      .locked(.keyFile(.wrongSize, path: nil)), 11, "locked: the key file has the wrong size",
      "a key file has 32 bytes, as vault init and vault slot add key-file make it; to see which one is remembered: vault paths"
    ),
    (
      .denied(.file(.store, .openToOthers(mode: 0o775))), 12,
      "the system's permissions do not allow it: the store is open to other users (mode 775)",
      "if it is yours: chmod go-w STORE STORE/groups"
    ),
    (
      .denied(.file(.identity, .openToOthers(mode: 0o750))), 12,
      "the system's permissions do not allow it: the identity is open to other users (mode 750)",
      "if it is yours: chmod -R go= STORE/identity"
    ),
    (
      .denied(.file(.store, .foreignOwner)), 12,
      "the system's permissions do not allow it: the store belongs to another user",
      "use the account that owns the store; if that is yours, take it back: chown -R USER STORE"
    ),
    (
      .denied(.openToOthers("the group's file is open to other users (mode 644)")), 12,
      "the system's permissions do not allow it: the group's file is open to other users (mode 644)",
      "if that was not intended: vault group share NAME --private, or chmod -R go= on the group's folder"
    ),
    (
      .damaged(group: "team", level: .manifest, detail: "signature"), 13,
      "'team' is damaged or was altered (manifest: signature)",
      "restore a backup: vault restore-backup DIR team --replace; or keep what is proved: vault repair team"
    ),
    (
      .damaged(group: "team", level: .witness, detail: "neither record is valid"), 13,
      "'team' cannot be shown to be in its newest state (witness: neither record is valid)",
      "check the folder witness (see vault paths): nothing in it may be a link or open to others (chmod -R go=); if that is in order, its content is wrong; to trust the group as it is: vault group accept team"
    ),
    (
      .damaged(group: nil, level: .identity, detail: "hash"), 13, "damaged or altered (identity: hash)",
      "restore the folder identity from a backup: cp -a BACKUP/identity STORE/; the groups stay as they are"
    ),
    (
      .unproved(group: "team", items: 3, versions: 0), 13, "3 items of 'team' can no longer be proved", unprovedHint
    ),
    (
      .unproved(group: "team", items: 0, versions: 2), 13,
      "0 items and 2 older versions of 'team' can no longer be proved", unprovedHint
    ),
    (
      .rolledBack(group: "team", found: 3, known: 9, reason: .olderState), 14,
      "'team' is older (epoch 3) than the last state seen (epoch 9)", rollbackHint
    ),
    (
      .rolledBack(group: "vault.owner", found: 3, known: 9, reason: .olderState), 14,
      "'vault.owner' is older (epoch 3) than the last state seen (epoch 9)",
      "if you put a copy back yourself: vault group accept vault.owner; otherwise restore a newer backup"
    ),
    (
      .rolledBack(group: "team", found: 9, known: 9, reason: .fork), 14,
      "'team' (epoch 9) does not descend from the last state seen (epoch 9)", rollbackHint
    ),
    (
      .rolledBack(group: "team", found: 0, known: 9, reason: .vanished), 14,
      "'team' was last seen at epoch 9, and its file is gone",
      "if a command was killed while it replaced the files: vault verify; otherwise bring it back: vault restore-backup DIR team; or, if you deleted its files yourself: vault group accept team"
    ),
    (
      .rolledBack(group: "team", found: 9, known: 9, reason: .broughtBack), 14,
      "'team' was removed, and its file is back (epoch 9)",
      "if you put a copy back yourself: vault group accept team; if its removal was interrupted: vault group remove team"
    ),
    (
      .busy(group: "team"), 15, "'team' is in use by another process or thread",
      "try again; see who holds it: fuser -v on the group's folder, its files, the folder above it and the files in set-aside"
    ),
    (
      .busy(group: nil), 15, "the store is in use by another process or thread",
      "try again; see who holds it: fuser -v on the group's folder, its files, the folder above it and the files in set-aside"
    ),
    (
      .unordered(group: "team", .notHere), 15,
      "'team' is published, and only vaultd makes its changes, and no vaultd answers here",
      "start vaultd with the credential of a member; to write the service's again: vault service enroll --output FILE --again"
    ),
    (
      .unordered(group: "team", .shut("it is sealed, or cannot write its record")), 15,
      "'team' is published, and only vaultd makes its changes: it is sealed, or cannot write its record",
      "unseal vaultd, and check its log: systemctl reload vaultd; journalctl -u vaultd; if it is not running, start it with the credential of a member"
    ),
    (
      .unordered(group: "team", .late(seconds: 130, limit: 120)), 15,
      "'team' is published, and its newest proved state is 130 seconds old, but the next one was due after 120",
      "check whether a vaultd that may write is running and reaches the cluster, and whether this machine's clock is right: vault sync team; timedatectl; journalctl -u vaultd"
    ),
    (
      .unordered(group: "team", .tooEarly(seconds: 400, limit: 300, signer: .application("web", issue: 1))), 12,
      "'team' is published, and its newest proved state is dated 400 seconds ahead of this machine's clock, but its remote permits only 300; 'web' signed it",
      "correct the clock that is wrong, here or where the state was signed (on both: timedatectl); then the owner, or another machine with --heartbeat, signs a state with the right time: vault group rotate team"
    ),
    (
      .unordered(group: "team", .overtaken), 15,
      "'team' is published, and other hosts changed it at the same time, again and again",
      "pause the programs that write there, or let them only read for now: vault grant team APP --rights read; the member to be removed can already only read"
    ),
    (
      .unordered(group: "team", .outcomeUnknown(ChangeID("7"))), 15,
      "'team' is published, and its cluster did not confirm the change in time, so it may or may not have been made",
      "check whether it was made before you repeat it: vault sync, then vault history NAME or vault group show GROUP"
    ),
    (
      .wrongKey(.passphrase), 16, "wrong passphrase",
      "try again; if it is the store's and you forgot it, see what else opens the store: vault slot list; a recovery code lets you choose another: vault passphrase change --recovery-fd 0"
    ),
    (
      .wrongKey(.keyFile), 16, "wrong key file",
      "see which key file is remembered: vault paths; name the right one: --key-file FILE"
    ),
    (
      .mistypedCode(.mistyped([3])), 16, "group 3 of the recovery code is mistyped",
      "compare it with what was written down: 8 groups of 5 characters, each ending in a check character"
    ),
    (
      .newerFormat(read: 2, write: 3), 17, "made by a newer version (format 2, for writing 3)", "use a newer vault"
    ),
    (
      .conflict(expected: 3, present: 4), 18, "the current version is 4, not 3", "read the item again, then decide"
    ),
    (.conflict(expected: 3, present: 0), 18, "there is no current version", "read the item again, then decide"),
    (.notFound(.slot(3)), 10, "there is no slot 3", "list the slots: vault slot list"),
    (.overLimit("1,024 bytes in an item's name"), 20, "more than 1,024 bytes in an item's name", nil),
    (.noStore(path: "/a"), 21, "no store at '/a'", "make one: vault init; or, if it is elsewhere, set VAULT_HOME"),
    (
      .tooManyStates, 20, "more than 2^40 states under one list of members",
      "have the owner give the group a new key: vault group rotate GROUP"
    ),
    (
      .anotherGroup("team"), 13,
      "'team' is another group under a known name",
      "if you put another group there yourself, or another copy of the list of groups, vault.owner: vault group accept team --another-group; otherwise find out who did"
    ),
    (
      .damaged(group: "team", level: .registry, detail: "it does not open"), 13,
      "'team' is not confirmed by the list of groups, vault.owner: it does not open",
      "if vault verify refuses vault.owner, too, begin with that; if you put another copy of the group or of vault.owner there yourself: vault group accept team; if it is another group of that name, also with --another-group; if its folder is a copy: move it out of STORE/groups; otherwise find out who did"
    ),
    (
      .strangeRows(group: "team"), 13,
      "'team' is damaged or was altered (row: a writer signed rows that are not valid items)",
      "list them: vault list -g team; the owner can remove them: vault remove --row TOKEN -g team"
    ),
    (
      .rolledBack(group: "team", found: 1, known: 2, reason: .olderIssue), 14,
      "the list of applications is older than 'team': it names issue 1 of the application, the group issue 2",
      "give the application a newer credential: vault app issue APP --output FILE --replace; or restore a newer backup"
    ),
    (
      .rolledBack(group: "team", found: 1, known: 1, reason: .olderIssue), 14,
      "the list of applications may be older than 'team', where issue 1 of the application was removed",
      "give the application a newer credential: vault app issue APP --output FILE --replace; or, if 'team' is still there, let it in again: vault grant team APP --rights read"
    ),
    (
      .unordered(group: "team", .refused), 12,
      "'team' is published, and its cluster refuses the login, or does not permit this",
      "let the remote's user write the group: vault remote provision REMOTE; if its password was changed in etcd: vault remote add --replace"
    ),
    (.newerFormat(read: nil, write: nil), 17, "made by a newer version", "use a newer vault"),
    (
      .contradiction(.notByLog), 18, "only a new key makes a published group smaller",
      "give it a new key: vault group rotate GROUP"
    ),
    (
      .contradiction(.recovering), 18, "the recovery of this store was not finished",
      "run it again: vault init --recover DIR"
    ),
    (
      .exists(.group), 22, "a group of this name already exists",
      "list the groups: vault group list; if it is not there, its folder holds other files; to see where: vault paths"
    ),
    (
      .formerMember(group: "team", application: "api", issue: 1, isBeingReplaced: false), 14,
      "'team' still admits issue 1 of 'api', which was replaced or revoked",
      "remove it: vault revoke team api; or, if vault.owner is an older copy and you have let it in again since: vault grant team api --rights read|write"
    ),
    (
      .formerMember(group: "team", application: "api", issue: 1, isBeingReplaced: true), 14,
      "'team' still admits issue 1 of 'api', which is being replaced",
      "unless the command is still running, finish it: vault app issue api --output FILE --replace"
    ),
    (
      .unlistedMember(group: "team", application: "api", issue: 1), 14,
      "'team' admits issue 1 of 'api', which the list of applications does not name",
      "remove it: vault app uninstall api --revoke; or give it a new credential: vault app issue api --output FILE --replace"
    ),
    (
      .noStore(path: ""), 21, "no home folder is known, so the store cannot be located",
      "set VAULT_HOME to its place"
    ),
    (
      .storage(.unconfirmed), 23,
      "the change could not be confirmed: it may have been made or not",
      "see whether it was made: vault history NAME"
    ),
    (.storage(.full), 23, "the disk is full", "nothing was changed by the failed command"),
    (.declined, 130, "nothing was accepted", nil),
    (.invalid("an item's name must not be empty"), 64, "an item's name must not be empty", nil),
    (.unexpected("a list that does not end"), 1, "a list that does not end", nil),
  ]

  private static let unprovedHint =
    "restore a backup: vault restore-backup DIR team --replace; or go on without them: --drop-unproved, here or with vault repair team"
  private static let rollbackHint =
    "a backup of epoch 9 or later brings back what is missing: vault restore-backup DIR team --replace; if you put a copy back yourself, or one without group.vault-wal: vault group accept team; otherwise find out who did, and remove them: vault revoke team APP --accept"

  private let plain = Style(descriptor: -1, environment: [:])

  @Test(arguments: [
    (ENOSPC, "the disk is full"), (EFBIG, "the file cannot grow any further"), (ENOMEM, "there is not enough memory"),
    (EMFILE, "too many files are open"), (ENFILE, "too many files are open"), (EPIPE, "system error 32"),
  ])
  func `the system's reasons have words`(code: Int32, words: String) {
    #expect(SystemReason.text(code) == words)
  }

  @Test(arguments: table.indices) func `the message and status of each error do not change`(row: Int) {
    let (error, status, message, hint) = Self.table[row]
    let report = ErrorReport(error)
    #expect(report.status == status)
    #expect(ExitStatus(rawValue: status)?.name == report.name)
    let hintLine = hint.map { "vault: hint: \($0)\n" } ?? ""
    #expect(report.words(plain) == "vault: error: \(message)\n\(hintLine)")
  }

  @Test func `a hint names what the command named, and nothing that only others may do`() {
    let named = Circumstances(group: "team", isApplication: true)
    #expect(
      ErrorReport(VaultError.notFound(.item), in: named).hint
        == "list the items: vault list -g team; to bring back a removed item: vault restore NAME -g team")
    #expect(
      ErrorReport(VaultError.notFound(.version(3)), in: named).hint == "see what is kept: vault history NAME -g team")
    #expect(
      ErrorReport(VaultError.notFound(.group), in: named).hint == "see which groups the credential opens: vault status")
    #expect(ErrorReport(VaultError.tooManyStates, in: named).hint?.hasSuffix("vault group rotate team") == true)
    #expect(
      ErrorReport(VaultError.otherDevice(group: "laptop", reason: "no device key"), in: named).hint
        == "use it on that device; to see where the device key belongs: vault paths")
    let vanished = VaultError.rolledBack(group: "team", found: 0, known: 9, reason: .vanished)
    #expect(
      ErrorReport(vanished, in: named).hint
        == "on a machine that has joined a cluster, fetch it: vault sync; elsewhere ask the store's owner, who can bring it back: vault restore-backup DIR team"
    )
    let older = VaultError.rolledBack(group: "team", found: 3, known: 9, reason: .olderState)
    #expect(
      ErrorReport(older, in: named).hint
        == "on a machine that has joined a cluster, fetch it: vault sync team; elsewhere ask the store's owner, who can bring back what is missing: vault restore-backup DIR team --replace, with a backup of epoch 9 or later; if they put this state there: vault group accept team"
    )
  }

  @Test func `a command of several steps does not say that nothing was changed`() {
    #expect(
      ErrorReport(VaultError.storage(.unconfirmed), in: Circumstances(changesMembers: true)).hint
        == "to finish the change, repeat the command")
    for failure in [StorageFailure.unconfirmed, .tooManyFiles] {
      #expect(
        ErrorReport(VaultError.storage(failure), in: Circumstances(makesGroup: true)).hint
          == "see whether it was made: vault group list")
    }
    let steps = Circumstances(makesSteps: true)
    #expect(
      ErrorReport(VaultError.storage(.full), in: steps).hint
        == "not finished, but what was done is kept: free some space, then repeat the command")
    #expect(
      ErrorReport(VaultError.storage(.readOnly), in: steps).hint
        == "not finished, but what was done is kept; repeat the command later")
  }

  @Test func `an error in JSON is one object`() throws {
    let descriptor = Pipe.nameless()
    let error = VaultError.damaged(group: "team", level: .manifest, detail: "signature")
    try ErrorReport(error).write(to: Output(descriptor: descriptor))
    let text = String(decoding: Pipe.contents(of: descriptor), as: UTF8.self)
    #expect(
      text == """
        {"status":13,"name":"damaged","message":"'team' is damaged or was altered (manifest: signature)",\
        "hint":"restore a backup: vault restore-backup DIR team --replace; or keep what is proved: vault repair team","level":"manifest"}

        """)
  }

  @Test func `a terminal gets colour and the same words`() {
    let terminal = PseudoTerminal()
    let words = ErrorReport(VaultError.notFound(.item)).words(Style(descriptor: terminal.descriptor, environment: [:]))
    #expect(words.hasPrefix("\u{1B}[31mvault: error:\u{1B}[0m no such item\n\u{1B}[33mvault: hint:\u{1B}[0m "))
  }

  @Test func `the documentation lists every exit status`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/statuses.md"), encoding: .utf8)
    for status in ExitStatus.allCases where ![.notExecutable, .commandNotFound].contains(status) {
      #expect(page.contains("| \(status.rawValue) |"), "\(status)")
    }
    #expect(page.contains("| 126, 127 |"))
  }
}
