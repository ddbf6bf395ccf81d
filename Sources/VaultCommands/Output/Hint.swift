import CVaultProcess
import Glibc
internal import KeyedArchives
internal import Vault

/// What a hint can name: where the failed command worked, as whom, and how.
struct Circumstances {
  /// The group that the command named; nil for the one that is used if none is named.
  var group: String?
  /// The path of the store's folder.
  var store = "STORE"
  /// The path of the backup that the command reads or makes.
  var backup = "DIR"
  /// Whether nothing is at the path where the backup should be.
  var backupIsMissing = false
  /// Whether an application opened the store, and not its owner.
  var isApplication = false
  /// Whether a user called the command through sudo, which then looks for root's store.
  var isSudo = false
  /// The Unix group whose users may open the group's files, if this user is not in it.
  var closedUnixGroup: String?
  /// Whether the command takes its groups from a backup.
  var isRestoring = false
  /// Whether the store is open or has still to be made, so that a missing or damaged identity is the backup's.
  var opensBackup = false
  /// Whether the store must be opened for its owner, or is to be unlocked, so that `vault unlock` does not help.
  var needsKey = false
  /// Whether no passphrase opens the store, so that `vault unlock` could not ask for one.
  var lacksPassphrase = false
  /// Whether the command makes several changes one by one, so that those before a failure stay.
  var makesSteps = false
  /// Whether the command makes a group, which may be there after a failure.
  var makesGroup = false
  /// Whether the command changes who is a member of a group or may open its files, or removes it.
  var changesMembers = false

  /// The option that names the group, with a space before it; empty without one.
  var option: String { group.map { " -g \($0)" } ?? "" }
}

extension Session {
  /// Prepares for a restoration, which holds a lock file of each group. Hints then name the backup, but only a folder that
  /// is there, because a mistyped word may be a secret.
  func restoresBackup(in folder: String) {
    cprocess_raise_descriptor_limit()
    circumstances.isRestoring = true
    var status = stat()
    guard unsafe stat(folder, &status) == 0 else {
      circumstances.backupIsMissing = errno == ENOENT
      return
    }
    guard status.st_mode & S_IFMT == S_IFDIR else { return }
    circumstances.backup = UTF8Text.onOneLine(folder)
  }

  /// The error without the path of a key file that was just named, because a mistyped word may be a secret. The path of
  /// the key file that is remembered stays.
  func withoutNamedPath(_ error: any Error) -> any Error {
    guard case VaultError.locked(.keyFile(let fault, let path?)) = error else { return error }
    let isNamed = variable("VAULT_KEY_FILE") == path || line.arguments.contains { $0.hasSuffix(path) }
    return isNamed ? VaultError.locked(.keyFile(fault, path: nil)) : error
  }

  /// The Unix group that the last requested group is shared with, if this user is not in it.
  var closedUnixGroup: String? {
    guard let soughtGroup, let home = try? StoreLocation(environment: environment).home else { return nil }
    let folder = "\(home)/groups/\(soughtGroup)"
    var status = stat()
    guard unsafe stat(folder, &status) == 0, status.st_mode & 0o2050 == 0o2050, unsafe access(folder, X_OK) != 0
    else { return nil }
    return (try? UnixGroup(String(status.st_gid)))?.name
  }
}

extension VaultError {
  /// What happened after a command in these circumstances.
  func message(in circumstances: Circumstances) -> String {
    if case .damaged(nil, .backup, _) = self, circumstances.backupIsMissing {
      return "there is no backup: no such file or folder"
    }
    if case .damaged(nil, .identity, let detail) = self, circumstances.opensBackup {
      return "the backup is damaged or was altered (identity: \(detail))"
    }
    return message
  }

  /// What to do about it.
  var hint: String? { hint(in: Circumstances()) }

  /// What to do about it after a command in these circumstances.
  func hint(in circumstances: Circumstances) -> String? {
    let option = circumstances.option
    return switch self {
    case .notFound(.item):
      "list the items: vault list\(option); to bring back a removed item: vault restore NAME\(option)"
    case .notFound(.version): "see what is kept: vault history NAME\(option)"
    case .notFound(.group) where circumstances.isApplication: "see which groups the credential opens: vault status"
    case .notFound(.group): "list the groups: vault group list"
    case .notFound(.application): "list them: vault app list; make one: vault app issue APP --output FILE"
    case .notFound(.member): "list the members: vault group show GROUP"
    case .notFound(.record): "begin one: vault audit begin"
    case .notFound(.binding): "list the bindings: vault service show"
    case .notFound(.remote): "list the remotes: vault remote list"
    case .notFound(.slot): "list the slots: vault slot list"
    case .exists(.group):
      "list the groups: vault group list; if it is not there, its folder holds other files; to see where: vault paths"
    case .exists(.store) where circumstances.isRestoring:
      "it was not touched; to bring its groups back: vault restore-backup \(circumstances.backup); to make the store elsewhere, set VAULT_HOME"
    case .exists(.store), .exists(.storeAtPlace): "it was not touched; to make another one, set VAULT_HOME"
    case .exists(.storeInRecovery): "finish the recovery: vault init --recover \(circumstances.backup)"
    case .exists(.credentialPlace): "name another file, or move that one away first"
    case .exists(.backupPlace): "name a folder that is empty or does not exist yet"
    case .exists(.remote): "to change its address or its login: --replace"
    case .exists(.applicationID):
      "write its credential again: vault app issue APP --output FILE --again; or, if it was stolen: --replace"
    case .locked(.credential):
      "check the path and its mode (600); the owner can write it again: vault app issue APP --output FILE --again"
    case .locked(.service):
      "see what is wrong: systemctl status vaultd, or vaultd --check; without VAULT_SOCKET, vault opens the store's files itself"
    case .locked(.otherStore):
      "if vaultd's store is meant, set VAULT_HOME to its folder, or unset it; for this store, name what opens it (--key-file FILE) and, if a group is published, the socket of its own vaultd (VAULT_SOCKET)"
    case .locked(.joinedStore):
      "name an application's credential: --credential FILE; or, to make a store of your own elsewhere, set VAULT_HOME"
    case .locked(.keyFile(.openToOthers, _)), .locked(.keyFile(.foreignOwner, _)):
      "a key file must be yours, and nobody else may read it: chmod 600 FILE; a FAT or exFAT disk keeps no modes: mount it with uid=USER,umask=077"
    case .locked(.keyFile(.denied, _)): "check the owner and mode of the file and of the folders above it"
    case .locked(.keyFile(.missing, _)):
      "check --key-file, VAULT_KEY_FILE and the path in: vault paths; if it is lost, make another with a recovery code: vault slot add key-file --new-key-file FILE --recovery-fd 0"
    case .locked(.keyFile(.wrongSize, _)):
      "a key file has 32 bytes, as vault init and vault slot add key-file make it; to see which one is remembered: vault paths"
    case .locked(.keyFileFolder(.missing)): "make the folder first, or mount the disk that it is on"
    case .locked(.keyFileInsideStore): "put it elsewhere, apart from the store"
    case .locked(.nothingNamed(_, .some)):
      "name what opens the store: --key-file FILE; if another state folder remembers it, set VAULT_STATE; if the state folder cannot be used, make it yours alone: chown -R USER and chmod -R go= on it; to see its path: vault paths"
    case .locked where circumstances.needsKey:
      "name what opens it: --passphrase-fd N, --key-file FILE or --recovery-fd N"
    case .locked where circumstances.lacksPassphrase:
      "name what opens it: --key-file FILE, --credential FILE or --recovery-fd N"
    case .locked:
      "name what opens it (--key-file, --credential, --passphrase-fd, --recovery-fd), or unlock it for a time: vault unlock"
    case .ownerNeeded: "name what opens the store: --passphrase-fd, --key-file or --recovery-fd"
    case .noKeyring: "use a key file instead: vault slot add key-file --new-key-file FILE"
    case .otherDevice(let group, _) where !circumstances.isApplication:
      "use it on that device; to see where the device key belongs: vault paths; if that key is lost for good, so is the group: delete the folder \(circumstances.store)/groups/\(group), then: vault group accept \(group); or, if it was never bound to a device: vault restore-backup DIR \(group) --replace"
    case .otherDevice: "use it on that device; to see where the device key belongs: vault paths"
    case .denied(.file(.backup, .openToOthers)):
      "it must be yours alone: chmod -R go= \(circumstances.backup); a FAT or exFAT disk keeps no modes: keep a tar file there, and unpack that on another disk"
    case .denied(.file(.backup, .denied)) where !circumstances.isRestoring:
      "name a folder in which this user may write: vault backup DIR"
    case .denied(.file(.backup, _)):
      "it must be yours, and nobody else may write to it: chown -R USER \(circumstances.backup); chmod -R go= \(circumstances.backup)"
    case .denied(.file(.store, .openToOthers)):
      "if it is yours: chmod go-w \(circumstances.store) \(circumstances.store)/groups"
    case .denied(.file(.identity, .openToOthers)): "if it is yours: chmod -R go= \(circumstances.store)/identity"
    case .denied(.file(.credential, .openToOthers)), .denied(.file(.credential, .foreignOwner)):
      "a credential must belong to the user who reads it, and nobody else may read it: chmod 600 FILE; a FAT or exFAT disk keeps no modes: mount it with uid=USER,umask=077"
    case .denied(.file(_, .openToOthers)): "if it is yours: chmod go= on it; to see its path: vault paths"
    case .denied(.file(_, .foreignOwner)):
      "use the account that owns the store; if that is yours, take it back: chown -R USER \(circumstances.store)"
    case .denied(.permissions), .denied(.file):
      circumstances.closedUnixGroup.map { unixGroup in
        "if this user is meant to open the group, which is shared with the Unix group \(unixGroup), let the user join it: usermod -aG \(unixGroup) USER; or, for a service, in its unit: SupplementaryGroups=\(unixGroup)"
      }
        ?? "use the account that owns the store, or have its owner share the group: vault group share NAME --unix-group G (without --read-only, if it is to be written)"
    case .denied(.openToOthers):
      "if that was not intended: vault group share NAME --private, or chmod -R go= on the group's folder"
    case .denied(.throughService):
      "have the owner issue one: vault app issue APP --output FILE"
    case .service(.denied, _): "have the owner say which application this is: vault app bind APP"
    case .denied(.ownerOnly): "ask the store's owner; if that is you, leave out --credential and VAULT_CREDENTIAL"
    case .denied(.notAMember) where circumstances.isApplication:
      "ask the store's owner; if this credential was replaced or revoked, it opens nothing: vault app show APP"
    case .denied: "ask the store's owner"
    case .witnessUnavailable:
      "the state folder must exist, be writable, and be accessible only to you (mode 700); to see its path: vault paths"
    case .strangeRows(let group):
      "list them: vault list -g \(group); the owner can remove them: vault remove --row TOKEN -g \(group)"
    case .anotherGroup(let group) where circumstances.isApplication:
      "if the owner made a new group of this name: on a machine that has joined a cluster, move the copy out of \(circumstances.store)/groups, then: vault group accept \(group) --yes and vault sync \(group); elsewhere: vault group accept \(group) --another-group; otherwise find out who put it there"
    case .anotherGroup(let group):
      "if you put another group there yourself, or another copy of the list of groups, vault.owner: vault group accept \(group) --another-group; otherwise find out who did"
    case .damaged(nil, .credential, _): "write it again: vault app issue APP --output FILE --again"
    case .damaged(let group, .witness, _):
      "check the folder witness (see vault paths): nothing in it may be a link or open to others (chmod -R go=); if that is in order, its content is wrong; to trust the group as it is: vault group accept \(group ?? "GROUP")"
    case .damaged(.some, .backup, _), .damaged(nil, .backup, _):
      "nothing was changed; name a folder that vault backup made"
    case .damaged("vault.owner", _, _):
      "restore a backup: vault restore-backup DIR vault.owner --replace; or keep what is proved: vault repair vault.owner; or, if nothing is, build a new one from the groups: vault group accept vault.owner"
    case .damaged(let group?, .registry, _):
      "if vault verify refuses vault.owner, too, begin with that; if you put another copy of the group or of vault.owner there yourself: vault group accept \(group); if it is another group of that name, also with --another-group; if its folder is a copy: move it out of \(circumstances.store)/groups; otherwise find out who did"
    case .damaged(let group?, .roster, _):
      "restore a backup: vault restore-backup DIR \(group) --replace; or keep what is proved: vault repair \(group); or, if its folder is a copy of another group's: move it out of \(circumstances.store)/groups"
    case .damaged(let group?, _, _):
      "restore a backup: vault restore-backup DIR \(group) --replace; or keep what is proved: vault repair \(group)"
    case .damaged(nil, .identity, _) where circumstances.opensBackup:
      "put back the folder identity of this backup, or of another backup of the same store: cp -a OTHER/identity \(circumstances.backup)/"
    case .damaged(nil, .identity, _):
      "restore the folder identity from a backup: cp -a \(circumstances.isRestoring ? circumstances.backup : "BACKUP")/identity \(circumstances.store)/; the groups stay as they are"
    case .damaged(nil, .store, _):
      "if this is not the store's folder, set VAULT_HOME; otherwise restore a backup: vault restore-backup DIR"
    case .damaged: "nothing was changed; restore a backup"
    case .unproved(let group, _, _):
      "restore a backup: vault restore-backup DIR \(group) --replace; or go on without them: --drop-unproved, here or with vault repair \(group)"
    case .rolledBack(let group, _, _, .broughtBack):
      "if you put a copy back yourself: vault group accept \(group); if its removal was interrupted: vault group remove \(group)"
    case .rolledBack("vault.owner", _, _, .vanished):
      "bring it back: vault restore-backup DIR vault.owner; without a backup, build a new one from the groups: vault group accept vault.owner"
    case .rolledBack(let group, _, _, .vanished) where circumstances.isApplication:
      "on a machine that has joined a cluster, fetch it: vault sync; elsewhere ask the store's owner, who can bring it back: vault restore-backup DIR \(group)"
    case .rolledBack(let group, _, _, .vanished):
      "if a command was killed while it replaced the files: vault verify; otherwise bring it back: vault restore-backup DIR \(group); or, if you deleted its files yourself: vault group accept \(group)"
    case .rolledBack("vault.service", _, _, .olderIssue):
      "give the service a newer credential: vault service enroll --output FILE --replace"
    case .rolledBack(let group, let found, let known, .olderIssue) where found == known:
      "give the application a newer credential: vault app issue APP --output FILE --replace; or, if '\(group)' is still there, let it in again: vault grant \(group) APP --rights read"
    case .rolledBack(_, _, _, .olderIssue):
      "give the application a newer credential: vault app issue APP --output FILE --replace; or restore a newer backup"
    case .rolledBack("vault.owner", _, _, _):
      "if you put a copy back yourself: vault group accept vault.owner; otherwise restore a newer backup"
    case .rolledBack(let group, _, let known, _) where circumstances.isApplication:
      "on a machine that has joined a cluster, fetch it: vault sync \(group); elsewhere ask the store's owner, who can bring back what is missing: vault restore-backup DIR \(group) --replace, with a backup of epoch \(known) or later; if they put this state there: vault group accept \(group)"
    case .rolledBack(let group, _, let known, _):
      "a backup of epoch \(known) or later brings back what is missing: vault restore-backup DIR \(group) --replace; if you put a copy back yourself, or one without group.vault-wal: vault group accept \(group); otherwise find out who did, and remove them: vault revoke \(group) APP --accept"
    case .formerMember(_, Applications.service, _, true):
      "unless the command is still running, finish it: vault service enroll --output FILE --replace"
    case .formerMember(_, let application, _, true):
      "unless the command is still running, finish it: vault app issue \(application) --output FILE --replace"
    case .formerMember(let group, let application, _, false) where group.hasPrefix("vault."):
      "remove it: vault revoke \(group) \(application)"
    case .formerMember(let group, let application, _, false):
      "remove it: vault revoke \(group) \(application); or, if vault.owner is an older copy and you have let it in again since: vault grant \(group) \(application) --rights read|write"
    case .unlistedMember(_, Applications.service, _):
      "remove it: vault service revoke; or give it a new credential: vault service enroll --output FILE --replace"
    case .unlistedMember(_, let application, _):
      "remove it: vault app uninstall \(application) --revoke; or give it a new credential: vault app issue \(application) --output FILE --replace"
    case .unordered(_, .notHere):
      "start vaultd with the credential of a member; to write the service's again: vault service enroll --output FILE --again"
    case .unordered(_, .shut):
      "unseal vaultd, and check its log: systemctl reload vaultd; journalctl -u vaultd; if it is not running, start it with the credential of a member"
    case .unordered(let group, .tooEarly):
      "correct the clock that is wrong, here or where the state was signed (on both: timedatectl); then the owner, or another machine with --heartbeat, signs a state with the right time: vault group rotate \(group)"
    case .unordered(let group, .late):
      "check whether a vaultd that may write is running and reaches the cluster, and whether this machine's clock is right: vault sync \(group); timedatectl; journalctl -u vaultd"
    case .unordered(_, .tooOld):
      "check whether this machine's clock is right (timedatectl); to see how old it may be: vault remote list --json; to change that: vault remote add with --replace, and without --max-age or with --heartbeat"
    case .unordered(_, .refused) where circumstances.isApplication:
      "if the owner did not revoke the application, have them issue its credential again, and then run: vault remote provision REMOTE"
    case .unordered(_, .refused):
      "let the remote's user write the group: vault remote provision REMOTE; if its password was changed in etcd: vault remote add --replace"
    case .unordered(let group, .overtaken) where !circumstances.isApplication:
      "pause the programs that write there, or let them only read for now: vault grant \(group) APP --rights read; the member to be removed can already only read"
    case .unordered(_, .outcomeUnknown):
      "check whether it was made before you repeat it: vault sync, then vault history NAME or vault group show GROUP"
    case .busy:
      "try again; see who holds it: fuser -v on the group's folder, its files, the folder above it and the files in set-aside"
    case .wrongKey(.keyFile): "see which key file is remembered: vault paths; name the right one: --key-file FILE"
    case .wrongKey(.passphrase):
      "try again; if it is the store's and you forgot it, see what else opens the store: vault slot list; a recovery code lets you choose another: vault passphrase change --recovery-fd 0"
    case .wrongKey: "check which key or passphrase belongs to this store"
    case .mistypedCode:
      "compare it with what was written down: 8 groups of 5 characters, each ending in a check character"
    case .newerFormat: "use a newer vault"
    case .otherType: "request the type that it has"
    case .archive(let error): error.hint
    case .conflict: "read the item again, then decide"
    case .tooManyStates:
      "have the owner give the group a new key: vault group rotate \(circumstances.group ?? "GROUP")"
    case .otherState(let group):
      "to replace it with the backup's, and keep the current files aside: vault restore-backup \(circumstances.backup) \(group) --replace"
    case .noStore(""): "set VAULT_HOME to its place"
    case .noStore where circumstances.isRestoring:
      "make the store from the backup: vault init --recover \(circumstances.backup); or, if it is elsewhere, set VAULT_HOME"
    case .noStore where circumstances.isSudo:
      "leave out sudo: the store of the user who called it opens without it; a program that needs root gets a value with: vault run --set NAME=vault:///ITEM -- sudo --preserve-env=NAME PROGRAM"
    case .noStore: "make one: vault init; or, if it is elsewhere, set VAULT_HOME"
    case .storage(.unconfirmed) where circumstances.changesMembers: "to finish the change, repeat the command"
    case .storage(.stateFolder):
      "nothing was changed; the state folder, and the folder witness in it, must exist, be writable, and be accessible only to you (chmod -R go=); to see the path: vault paths"
    case .storage(.fixedFolder):
      "nothing was changed; copy the store to an ordinary folder, and set VAULT_HOME to that"
    case .storage(.noBackupFolder): "check the path; make that folder first, or mount the disk that it is on"
    case .storage(.pathNotText): "name another folder, whose path is UTF-8"
    case .storage(.pathTooLong): "use a shorter path; for the store, set VAULT_HOME"
    case .storage where circumstances.makesGroup: "see whether it was made: vault group list"
    case .storage(.unconfirmed): "see whether it was made: vault history NAME\(option)"
    case .storage(.full) where circumstances.makesSteps:
      "not finished, but what was done is kept: free some space, then repeat the command"
    case .storage where circumstances.makesSteps: "not finished, but what was done is kept; repeat the command later"
    case .storage(.readOnly):
      "nothing was changed by the failed command; if it was to read: beside group.vault, the group's folder must have its group.vault-wal and group.vault-shm; or use a copy that vault backup made"
    case .networkFileSystem:
      "nothing was changed; set VAULT_HOME to a local place for the store; make a backup on a local disk, then copy it; to restore one, copy it back first"
    case .storage: "nothing was changed by the failed command"
    case .contradiction(let contradiction): contradiction.hint
    default: nil
    }
  }
}

extension VaultError.Contradiction {
  fileprivate var hint: String? {
    switch self {
    case .recovering: "run it again: vault init --recover DIR"
    case .anotherStoresBackup: "to bring back a lost machine's store: vault init --recover DIR"
    case .interruptedReplacement: "finish it: vault app issue APP --output FILE --replace"
    case .remotelessCredential:
      "have the owner write it again: vault app issue APP --output FILE --again --remote NAME"
    case .newerCredential:
      "use that one, or have the owner write this one again: vault app issue APP --output FILE --again"
    case .notByLog: "give it a new key: vault group rotate GROUP"
    case .revokedApplication: "give it a new credential first: vault app issue APP --output FILE --replace"
    default: nil
    }
  }
}
