import Glibc
import Testing

@testable import VaultCommands

/// Unusual machines, users and limits.
@Suite struct OddPlaceTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    try #require(store.execute("set", "a", "--label", "L", input: "value").status == 0)
  }

  /// Shell code for `as`, which runs a command as a user without an entry in the user database, with copies of the files they need.
  private static let asStranger = """
    home="$folder/home" && mkdir "$home" && cp "$vault" "$home/vault" && chmod -R go+rX "$home" && chown -R 12345 "$home" &&
    chmod 711 "$folder" && cd / && unset VAULT_HOME VAULT_STATE && vault="$home/vault" || exit 99
    as() { setpriv --reuid=12345 --clear-groups "$@"; }

    """

  @Test(.needsOtherUsers) func `a user without an entry in the user database can have a store`() {
    let result = store.shell(
      Self.asStranger + """
        export HOME="$home"
        as "$vault" init --key-file "$home/key" 2>/dev/null && printf x | as "$vault" set a && as "$vault" get a &&
        as "$vault" verify >/dev/null && ls "$home/.local/share" "$home/.local/state"
        """)
    #expect(result.status == 0, "\(result.errors)")
    #expect(
      result.output
        == "x\(store.folder.path)/home/.local/share:\nvault\n\n\(store.folder.path)/home/.local/state:\nvault\n")
  }

  /// As drives do that a server or a virtual machine shares.
  @Test(.needsClients, .needsRoot, .needsFUSE) func `no key is made on a mount that gives all files to another user`() {
    let result = store.shell(
      """
      mkdir "$folder/source" "$folder/drive" && bindfs --force-user=12345 "$folder/source" "$folder/drive" || exit 99
      VAULT_HOME="$folder/other" "$vault" init --key-file "$folder/drive/key" 2>&1; echo $?
      "$vault" slot add key-file --new-key-file "$folder/drive/key" 2>&1; echo $?
      "$vault" app issue web --output "$folder/drive/web" 2>&1; echo $?
      ls -A "$folder/source"; umount "$folder/drive"
      "$vault" get a
      """)
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    let lines = result.output.split(separator: "\n")
    #expect(lines.filter { $0.contains("belongs to another user") }.count == 3, "\(result.output)")
    #expect(lines.filter { !$0.hasPrefix("vault: ") } == ["11", "11", "12", "value"], "\(result.output)")
  }

  /// Descriptor 0 would be that of the first file opened, such as the witness.
  @Test(.needsRoot, .needsDevices) func `a closed stdin is no value, also without a null device`() {
    let result = store.shell(
      """
      unshare --mount sh -c 'mount -t tmpfs -o mode=755 none /dev && mknod -m 666 /dev/urandom c 1 9 || exit 99
      "$vault" set a <&- 2>"$folder/errors"; echo $?; "$vault" get a'
      """)
    #expect(result.output == "64\nvalue", "\(result.output)\(result.errors)")
  }

  @Test(.needsOtherUsers) func `the error says that there is no home folder`() {
    for variables in ["", "HOME=", "HOME=relative", "XDG_DATA_HOME=relative"] {
      let result = store.shell(Self.asStranger + "unset HOME; as env \(variables) \"$vault\" get a")
      #expect(result.status == 21)
      #expect(
        result.errors == """
          vault: error: no home folder is known, so the store cannot be located
          vault: hint: set VAULT_HOME to its place

          """)
      store.shell(#"rm -rf "$folder/home""#)
    }
  }

  @Test(.needsOtherUsers) func `who may not write to the home folder learns how to name another place`() {
    let result = store.shell(
      Self.asStranger + """
        export HOME=/nonexistent VAULT_KEY_FILE="$home/key"; unset VAULT_HOME VAULT_STATE
        as "$vault" init; echo $?; export VAULT_HOME="$home/store"; as "$vault" init; echo $?
        VAULT_STATE="$home/state" as "$vault" init 2>/dev/null; echo $?
        """)
    #expect(result.output == "12\n12\n0\n", "\(result.errors)")
    let hint = "vault: hint: name folders that this user may make: set VAULT_HOME and VAULT_STATE"
    #expect(result.errors.split(separator: "\n").filter { $0 == hint }.count == 2, "\(result.errors)")
  }

  @Test(.needsOtherUsers) func `without a home folder everything works in a named store except the witness`() {
    let result = store.shell(
      Self.asStranger + """
        unset HOME; export VAULT_HOME="$home/store" VAULT_KEY_FILE="$home/key"
        as "$vault" init 2>/dev/null && printf x | as "$vault" set a 2>/dev/null && as "$vault" get a
        """)
    #expect(result.status == 0)
    #expect(result.output == "x")
    #expect(result.errors.contains("an older copy of the store would not be noticed: there is no home folder"))
  }

  @Test(.needsOtherUsers) func `another user's store, and files they may not read, are denied`() {
    let result = store.shell(
      Self.asStranger + """
        export HOME="$home" VAULT_HOME="$folder/store"
        as "$vault" get a --key-file "$folder/key" 2>&1; echo $?
        chmod 755 "$folder/store"; as "$vault" get a --key-file "$folder/key" 2>&1; echo $?
        """)
    #expect(
      result.output == """
        vault: error: the system's permissions do not allow it: the store cannot be opened: permission denied
        vault: hint: use the account that owns the store, or have its owner share the group: vault group share NAME --unix-group G (without --read-only, if it is to be written)
        12
        vault: error: the system's permissions do not allow it: the identity cannot be opened: permission denied
        vault: hint: use the account that owns the store, or have its owner share the group: vault group share NAME --unix-group G (without --read-only, if it is to be written)
        12

        """)
  }

  @Test(.needsOtherUsers) func `a service without a credential is told that it found none, and where it looked`() {
    let result = store.shell(
      Self.asStranger + """
        export HOME="$home" VAULT_HOME="$folder/store"
        chmod 711 "$folder/store"
        as "$vault" get a 2>&1; echo $?
        mkdir "$home/given" && echo x >"$home/given/web" && export CREDENTIALS_DIRECTORY="$home/given"
        for command in "get a" status; do as "$vault" $command 2>&1; echo $?; done
        VAULT_CREDENTIAL="$home/none" as "$vault" get a 2>&1 | head -n 1
        """)
    let hint =
      "vault: hint: name an application's credential: VAULT_CREDENTIAL, --credential FILE, or in its unit LoadCredential=vault:FILE; the owner uses their own account\n11\n"
    let given =
      "vault: error: locked: another user owns this store, VAULT_CREDENTIAL is not set, and $CREDENTIALS_DIRECTORY has no file 'vault' (it has: web)\n"
    #expect(
      result.output == """
        vault: error: locked: another user owns this store, VAULT_CREDENTIAL is not set, nor is CREDENTIALS_DIRECTORY
        \(hint)\(given)\(hint)\(given)\(hint)vault: error: locked: the credential does not exist

        """, "\(result.errors)")
  }

  @Test(.needsLimits) func `a command that dies because memory is short prints nothing`() {
    let result = store.shell(
      """
      cd "$folder"
      { printf '{"items":['; seq -f '{"name":"n%06g","value":"v"},' 5000; printf '{"name":"z","value":"v"}]}'; } >items.json
      "$vault" group create many && "$vault" import items.json -g many >/dev/null || exit 98
      for size in $(seq 20000 250 80000); do
        (ulimit -v $size; exec "$vault" list --json -g many >/dev/null 2>why)
        case $? in 134 | 139) died=yes; cat why ;; 0) break ;; esac
      done
      echo "died: $died"
      """)
    // What the shell says about a signal goes to its own stderr.
    #expect(result.output == "died: yes\n", "\(result.errors)")
  }

  @Test(.needsLimits) func `everything works without locked memory`() {
    let result = store.shell(
      """
      limited() { prlimit --memlock=0 "$vault" "$@"; }
      printf other | limited set b --label x && limited get b && limited list >/dev/null && limited verify >/dev/null &&
      export VAULT_HOME="$folder/p" VAULT_STATE="$folder/ps" &&
      printf 'long passphrase\\n' | limited init --passphrase-fd 0 2>/dev/null &&
      printf 'long passphrase\\n' | limited list --passphrase-fd 0
      """)
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output == "other")
  }

  @Test(.needsOtherUsers) func `everything works without locked memory for a user who is not root`() {
    let result = store.shell(
      Self.asStranger + """
        export HOME="$home"
        as prlimit --memlock=0 "$vault" init --key-file "$home/key" 2>/dev/null &&
        printf x | as prlimit --memlock=0 "$vault" set a &&
        as prlimit --memlock=0 "$vault" get a
        """)
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output == "x")
  }

  @Test func `a variable that is not UTF-8 names no other store, and such a folder is no other one either`() {
    let result = store.shell(
      #"""
      cd "$folder" && odd="$(printf 'jos\351')" && mkdir "$odd" && cd "$odd"
      "$vault" backup copy
      echo "$?"
      VAULT_HOME="$folder/$odd/vault" "$vault" list
      echo "$?"
      ls -A "$folder" | grep -ac jos; ls -A .
      "$vault" get a "$(printf '\351')"
      NO_COLOR="$odd" EDITOR="$odd" HOME="/$odd" "$vault" get a
      """#)
    #expect(result.output == "23\n64\n1\nvalue")
    #expect(
      result.errors == """
        vault: error: the path is not UTF-8
        vault: hint: name another folder, whose path is UTF-8
        vault: error: VAULT_HOME is not UTF-8
        vault: error: an argument is not UTF-8

        """)
  }

  @Test(.needsMounts) func `commands work if /proc is not mounted`() {
    store.run("set", "a", input: "value")
    let result = store.shellWithMounts(
      """
      mount -t tmpfs none /proc || exit 99
      "$vault" --version | head -n 1 && "$vault" get a && "$vault" run --set A=vault:///a -- env | grep -E '^(A|SWIFT)'
      """)
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output == "vault \(Versions.vault)\nvalueA=value\n")
  }

  @Test(.needsMounts) func `an import that needs another program says that /proc is not mounted`() {
    let result = store.shellWithMounts(
      """
      mount -t tmpfs -o size=64k none /proc || exit 99
      printf '{"items":[]}' | "$vault" import - --from bitwarden
      """)
    #expect(result.status == 64)
    #expect(
      result.errors == """
        vault: error: vault-exchange is next to vault, but /proc/self/exe does not say where that is
        vault: hint: mount /proc; if vault was just replaced, repeat the command

        """)
  }

  @Test(.needsMounts) func `on a read-only mount reading works and writing ends with 23`() {
    let result = store.shellWithMounts(
      """
      mount --bind "$folder/store" "$folder/store" && mount -o remount,bind,ro "$folder/store" || exit 99
      for command in "get a" "list" "info a" "history a" "verify" "status" "group list" "group show default"; do
        "$vault" $command >/dev/null || echo "$command: $?"
      done
      for command in "set a" "remove a" "restore a" "group create g" "group remove default --yes" "group compact default --yes"; do
        echo x | "$vault" $command 2>"$folder/why"; echo "$command: $?"; grep -q 'the file system is read-only' "$folder/why" || cat "$folder/why"
      done
      "$vault" get a
      """)
    #expect(
      result.output == """
        set a: 23
        remove a: 23
        restore a: 23
        group create g: 23
        group remove default --yes: 23
        group compact default --yes: 23
        value
        """, "\(result.errors)")
    #expect(result.errors.isEmpty)
  }

  @Test(.needsMounts) func `a verification that cannot note the end of the record says so, and --accept fails`() {
    #expect(store.run("audit", "begin").status == 0 && store.run("audit", "verify").status == 0)
    #expect(store.run("group", "create", "later").status == 0)
    let result = store.shellWithMounts(
      """
      mount --bind "$folder/store" "$folder/store" && mount -o remount,bind,ro "$folder/store" || exit 99
      "$vault" audit verify | sed '/^link/d'
      "$vault" audit verify --json 2>/dev/null | grep -o '"unnoted":"[^"]*"'
      "$vault" audit verify --accept 2>&1 | head -n 1
      """)
    #expect(
      result.output == """
        records: 2 in 2 batches
        batches: 1 to 2
        unchanged since the last verification: up to batch 1
        end not noted: the file system is read-only
        "unnoted":"the file system is read-only"
        vault: error: the file system is read-only

        """)
    #expect(result.errors.hasPrefix("vault: warning: the end of the record was not noted, "), "\(result.errors)")
    // Once it can be noted, it is, and no line speaks of it.
    #expect(!store.run("audit", "verify").output.contains("noted"))
    #expect(store.run("audit", "verify").output.hasSuffix("\nunchanged since the last verification: up to batch 2\n"))
  }

  @Test(.needsMounts) func `with a read-only state folder or none, get and set warn and verify fails`() {
    for make in [
      "mount --bind \"$folder/state\" \"$folder/state\" && mount -o remount,bind,ro \"$folder/state\"", "mv state gone",
    ] {
      let result = store.shellWithMounts(
        """
        cd "$folder" && \(make) || exit 99
        export VAULT_KEY_FILE="$folder/key"
        printf 'new: ' | "$vault" set a && "$vault" get a && "$vault" verify >/dev/null; echo $?
        """)
      #expect(result.output == "new: 13\n", "\(result.errors)")
      #expect(result.errors.contains("vault: warning: an older copy of the store would not be noticed"))
      store.shell(#"[ ! -e "$folder/gone" ] || mv "$folder/gone" "$folder/state""#)
      #expect(store.execute("set", "a", input: "value").status == 0)
    }
  }

  @Test(.needsOtherUsers) func `in a folder without write permission reading works and writing is denied`() {
    let result = store.shell(
      Self.asStranger + """
        export HOME="$home"
        as "$vault" init --key-file "$home/key" 2>/dev/null && printf x | as "$vault" set a || exit 98
        as chmod -R a-w "$home/.local/share/vault"
        as "$vault" get a && as "$vault" list >/dev/null && as "$vault" verify >/dev/null
        printf y | as "$vault" set a; echo ": $?"
        as chmod 0 "$home/.local/share/vault"; as "$vault" get a; echo "$?"
        as chmod 700 "$home/.local/share/vault"; as chmod 0 "$home/.local/share/vault/groups/default"
        as "$vault" get a; echo "$?"; as "$vault" verify 2>/dev/null; echo "$?"
        """)
    #expect(result.status == 0)
    #expect(result.output.hasPrefix("x: 12\n12\n12\n"), "\(result.output) \(result.errors)")
    #expect(result.output.hasSuffix("12\n"), "\(result.output)")
  }

  @Test func `a closed or strange stdin and a full or closed stdout are reported`() {
    let expected: [(script: String, status: Int32)] = [
      (#""$vault" set a <&-"#, 64), (#""$vault" set a </"#, 64), (#""$vault" set b </dev/null"#, 0),
      (#""$vault" get a <&-"#, 0),
      (#""$vault" get a >/dev/full"#, 23), (#""$vault" list >/dev/full"#, 23), (#""$vault" info a >/dev/full"#, 23),
      (#""$vault" get a --json >/dev/full"#, 23), (#""$vault" status >/dev/full"#, 23),
      (#""$vault" verify >/dev/full"#, 23),
      (#""$vault" --help >/dev/full"#, 23), (#""$vault" --version >/dev/full"#, 23), (#""$vault" get a >&-"#, 23),
      (#""$vault" get absent 2>/dev/full"#, 10), (#""$vault" get absent 2>&-"#, 10),
      (#""$vault" get a <&- >&- 2>&-"#, 23),
      (#"printf v | "$vault" set c >/dev/full 2>/dev/full"#, 0),
    ]
    for (script, status) in expected { #expect(store.shell(script).status == status, "\(script)") }
    #expect(store.execute("get", "a").output == "value")
    #expect(store.execute("verify").status == 0)
  }

  @Test func `if the JSON about a change cannot be written, the error says that it was made`() {
    let full = "but the output cannot be written: the disk is full"
    let set = store.shell(#"printf new | "$vault" set a --json >/dev/full"#)
    #expect(set.status == 23 && set.errors.contains("the change was made (version 2), \(full)"), "\(set.errors)")
    #expect(store.execute("get", "a").output == "new")
    let imported = store.shell(#"echo B=2 | "$vault" import - --from dotenv --json >/dev/full"#)
    #expect(
      imported.status == 23 && imported.errors.contains("the items were imported, \(full)"), "\(imported.errors)")
    #expect(store.execute("get", "B").output == "2")
    let rehearsed = store.shell(#"echo C=3 | "$vault" import - --from dotenv --json --dry-run >/dev/full"#)
    #expect(rehearsed.status == 23 && !rehearsed.errors.contains("imported"), "\(rehearsed.errors)")
    for key in ["one", "two"] {
      let made = store.shell(#""$vault" ssh generate \#(key) >/dev/full"#)
      #expect(made.status == 23 && made.errors.contains("the key was stored, \(full)"), "\(made.errors)")
    }
    #expect(store.execute("ssh", "list").output.split(separator: "\n").count == 2)
    let backup = store.shell(#""$vault" backup "$folder/backup" --json >/dev/full"#)
    #expect(backup.status == 23 && backup.errors.contains("the backup was made, \(full)"), "\(backup.errors)")
    for options in ["--json", ""] {
      #expect(store.shell(#"printf later | "$vault" set a"#).status == 0)
      let restored = store.shell(
        #""$vault" restore-backup "$folder/backup" default --replace \#(options) >/dev/full"#)
      #expect(
        restored.status == 23 && restored.errors.contains("the backup was restored, \(full)"), "\(restored.errors)")
      #expect(options == "--json" || restored.errors.contains("until you run: vault group accept default"))
      #expect(store.execute("group", "accept", "default", "--yes").status == 0)
    }
    let recovered = store.shell(
      #"""
      VAULT_HOME="$folder/new" VAULT_STATE="$folder/new-state" "$vault" init --key-file "$folder/key" \
        --recover "$folder/backup" >/dev/full
      """#)
    #expect(
      recovered.status == 23 && recovered.errors.contains("the store was restored, \(full)"), "\(recovered.errors)")
    #expect(recovered.errors.contains("the store is back at "))
    #expect(store.folder.exists("new/identity"))
  }

  /// A dynamically linked executable may not even find its libraries.
  private static func lacksDescriptors(_ result: Executable.Result) -> Bool {
    result.status == 127 && result.errors.contains("shared libraries")
      || [11, 23].contains(result.status) && result.errors.contains("too many files are open")
  }

  @Test(.needsLimits) func `with few descriptors a command works, or says that too many files are open`() {
    for limit in [4, 5, 6, 7, 8, 10, 12] {
      let get = store.shell("prlimit --nofile=\(limit) \"$vault\" get a")
      #expect(get.output == "value" || Self.lacksDescriptors(get), "\(limit): \(get)")
      let set = store.shell("printf value | prlimit --nofile=\(limit) \"$vault\" set a")
      #expect(set.status == 0 || Self.lacksDescriptors(set), "\(limit): \(set)")
    }
    #expect(store.execute("verify").status == 0)
  }
}
