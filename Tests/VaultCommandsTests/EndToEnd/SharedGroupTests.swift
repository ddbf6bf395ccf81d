import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// Applications of several real Unix users that share a group.
@Suite(.needsOtherUsers) struct SharedGroupTests {
  private let users: ServiceUsers

  init() throws { users = try ServiceUsers() }

  @Test func `applications of two users share a group, each with its own state folder`() {
    let result = users.shell(
      """
      printf one | as 12345 "$vault" set a -g team && as 12346 "$vault" get a -g team; echo
      printf two | as 12346 "$vault" set a -g team && as 12345 "$vault" get a -g team; echo
      as 12347 "$vault" get a -g team; echo; "$vault" get a -g team; echo
      modes store store/groups store/identity $team $team/*
      find state-1* -name team -printf '%u %m %h\\n' | cut -d/ -f1,2 | sort
      """)
    #expect(
      result.output == """
        one
        two
        two
        two
        711 0:0 store
        711 0:0 store/groups
        700 0:0 store/identity
        2770 0:34567 store/groups/team
        660 0:34567 store/groups/team/group.vault
        660 0:34567 store/groups/team/group.vault-shm
        660 0:34567 store/groups/team/group.vault-wal
        660 0:34567 store/groups/team/lock
        12345 600 state-12345/witness
        12346 600 state-12346/witness
        12347 600 state-12347/witness

        """, "\(result.errors)")
  }

  @Test func `a user who can only read the files reads others' changes, and writing is denied with the path`() {
    let result = users.shell(
      """
      "$vault" group share team --unix-group 34567 --read-only && modes $team $team/*
      for value in one two; do
        printf $value | "$vault" set a -g team
        for user in 12346 12347; do as $user "$vault" get a -g team; echo; done
      done
      as 12347 "$vault" verify team >/dev/null && as 12347 "$vault" list -g team | cut -f1
      for user in 12346 12347; do printf x | as $user "$vault" set a -g team 2>&1; echo $?; done
      "$vault" get a -g team
      """)
    let denied = """
      vault: error: the system's permissions do not allow it: writing '\(users.store.folder.path)/store/groups/team/group.vault'
      vault: hint: use the account that owns the store, or have its owner share the group: vault group share NAME --unix-group G (without --read-only, if it is to be written)
      12

      """
    #expect(
      result.output == """
        2750 0:34567 store/groups/team
        640 0:34567 store/groups/team/group.vault
        640 0:34567 store/groups/team/group.vault-shm
        640 0:34567 store/groups/team/group.vault-wal
        600 0:34567 store/groups/team/lock
        one
        one
        two
        two
        a

        """ + denied + denied + "two", "\(result.errors)")
  }

  @Test func `an owner who has left the Unix group can still put others out, and the group is closed then`() {
    let result = users.shell(
      """
      mkdir own && chown 12345:12345 own
      own() {
        groups=$1; shift
        setpriv --reuid=12345 --regid=12345 $groups env -u HOME VAULT_KEY_FILE="$folder/own/key" \\
          VAULT_HOME="$folder/own/home" VAULT_STATE="$folder/own/state" "$vault" "$@"
      }
      own --groups=34567 init --key-file "$folder/own/key" >/dev/null 2>&1
      own --groups=34567 group create team --unix-group 34567
      own --groups=34567 app issue api --output own/api --group team:read
      for change in 'revoke team api' 'group rotate team'; do own --clear-groups $change; echo $?; done
      stat -c '%a %u:%g' own/home/groups/team own/home/groups/team/group.vault
      own --clear-groups verify team | cut -f1,2
      # The same if they were killed while they replaced the files.
      own --groups=34567 group create other --unix-group 34567
      chmod 3700 own/home/groups/other; chmod 600 own/home/groups/other/*
      own --clear-groups group rotate other; stat -c %a own/home/groups/other
      """)
    #expect(
      result.output.hasSuffix(
        """
        0
        0
        700 12345:12345
        600 12345:12345
        team\tverified
        700

        """), "\(result.output)\(result.errors)")
    for group in ["team", "other"] {
      #expect(
        result.errors.contains(
          "'\(group)' are now accessible only to you: you are not in the Unix group that they were shared with"),
        "\(result.errors)")
    }
  }

  @Test func `while the owner replaces the files of a shared group, others wait and are then let in again`() {
    let result = users.shell(
      """
      printf one | "$vault" set a -g team
      chmod 3700 $team
      (sleep 0.5; chmod 2770 $team) &
      as 12347 "$vault" get a -g team; echo " $?"
      chmod 3700 $team
      (sleep 0.5; chmod 2770 $team) &
      printf two | as 12346 "$vault" set a -g team; echo $?
      # After a command that was killed meanwhile, the store stays open to others, and the next new key lets them in.
      chmod 3700 $team; chmod 600 $team/*
      "$vault" group share other --private; "$vault" get a -g team; echo
      "$vault" group rotate team 2>/dev/null; modes store $team $team/group.vault
      as 12346 "$vault" get a -g team; echo
      # So does a restoration.
      "$vault" backup backup >/dev/null && printf three | "$vault" set a -g team
      chmod 3700 $team; chmod 600 $team/*
      "$vault" restore-backup backup team --replace >/dev/null && modes $team
      """)
    #expect(
      result.output == """
        one 0
        0
        two
        711 0:0 store
        2770 0:34567 store/groups/team
        660 0:34567 store/groups/team/group.vault
        two
        2770 0:34567 store/groups/team

        """, "\(result.errors)")
  }

  @Test func `four writers of two users lose nothing when some are killed, and a reader never fails`() {
    let rounds = RunLength.of(60, sample: 8)
    let result = users.shell(
      """
      \(TestStore.put)
      put start start -g team
      write() {
        as="as $1"
        for round in $(seq \(rounds)); do
          put own$2 $round -g team
          put common $2 -g team
        done
      }
      kill_some() {
        for round in $(seq \(rounds)); do
          printf x | as $1 timeout -s KILL 0.0$((round % 9 + 1)) "$vault" set killed$1 -g team 2>/dev/null
        done
      }
      write 12345 1 & write 12346 2 & write 12345 3 & write 12346 4 & kill_some 12345 & kill_some 12346 &
      for round in $(seq \(rounds)); do
        as 12347 "$vault" list -g team >/dev/null || echo "list: $?"
        as 12347 "$vault" get start -g team >/dev/null || echo "get: $?"
      done
      wait
      for number in 1 2 3 4; do as 12347 "$vault" history own$number -g team | head -1 | cut -f1; done
      "$vault" history common -g team | head -1 | cut -f1
      as 12345 "$vault" verify team >/dev/null && "$vault" verify >/dev/null && modes $team/* | cut -d' ' -f1,2
      """)
    let count = "\(rounds)\n"
    #expect(
      result.output == count + count + count + count + """
        \(4 * rounds)
        660 0:34567
        660 0:34567
        660 0:34567
        660 0:34567

        """, "\(result.errors)")
  }

  @Test func `log, index and lock recreated by one user admit the others under any umask`() {
    for mask in ["000", "022", "077"] {
      let result = users.shell(
        """
        "$vault" group compact team --yes 2>/dev/null && [ ! -s $team/group.vault-wal ] || exit
        umask \(mask); rm -f $team/group.vault-wal $team/group.vault-shm $team/lock
        printf one | as 12345 "$vault" set a -g team; modes $team/*
        printf two | as 12346 "$vault" set a -g team; as 12347 "$vault" get a -g team; echo
        printf three | "$vault" set a -g team; as 12345 "$vault" get a -g team
        """)
      #expect(
        result.output == """
          660 0:34567 store/groups/team/group.vault
          660 12345:34567 store/groups/team/group.vault-shm
          660 12345:34567 store/groups/team/group.vault-wal
          660 12345:34567 store/groups/team/lock
          two
          three
          """, "\(result.errors)")
    }
  }

  @Test func `a user who can only read the files can read after a writer was killed`() {
    let result = users.shell(
      """
      "$vault" group share team --unix-group 34567 --read-only
      for round in 1 2 3 4 5 6; do
        printf "kept $round" | "$vault" set a -g team
        head -c 300000 /dev/urandom | timeout -s KILL 0.0$round "$vault" set b -g team 2>/dev/null
        as 12347 "$vault" get a -g team; echo
      done
      as 12347 "$vault" verify team >/dev/null; echo $?
      """)
    let expected = (1...6).map { "kept \($0)\n" }.joined()
    #expect(result.output == expected + "0\n", "\(result.errors)")
  }

  /// `until_seen FILE TEXT COMMAND…` calls the command until the file has the text. A user watches the group `team`.
  private static let watching = """
    until_seen() {
      file=$1 text=$2; shift 2
      for round in $(seq 600); do
        grep -q "$text" "$file" 2>/dev/null && return
        "$@"; sleep 0.1
      done
      echo "no $text"
    }
    tick() { printf "$round" | "$vault" set tick -g team; }
    as 12347 sh -c 'echo $$ >state-12347/watcher; exec "$0" watch team -- sh -c "cat >>state-12347/seen"' "$vault" &
    # The shell's own process only waits for the one that watches.
    stop_watching() { kill "$(cat state-12347/watcher)"; wait; }
    until_seen state-12347/seen tick tick
    """

  @Test func `a watch goes on while the owner replaces the files of a shared group`() {
    let result = users.shell(
      """
      \(Self.watching)
      chmod 3700 $team; touch $team/group.vault-wal
      sleep 0.5; chmod 2770 $team
      printf x | "$vault" set b -g team
      until_seen state-12347/seen '^b$' true
      stop_watching
      """)
    #expect(result.output.isEmpty, "\(result.output)\(result.errors)")
  }

  @Test(.enabled(if: Machine.hasPython, "python3 is not here"))
  func `a user who can only read the files reads on while the index is torn, as a killed writer leaves it`() {
    let result = users.shell(
      """
      "$vault" group share team --unix-group 34567 --read-only
      printf one | "$vault" set a -g team
      \(Self.watching)
      # Somebody who may write has the files open, and does not change them.
      /usr/bin/python3 -c 'import fcntl, sys, time
      file = open(sys.argv[1], "r+b", 0)
      fcntl.lockf(file, fcntl.LOCK_SH, 1, 128)
      file.seek(8)
      byte = file.read(1)[0]
      file.seek(8)
      file.write(bytes([byte ^ 255]))
      open(sys.argv[2], "w").write("torn")
      time.sleep(600)' "$folder/$team/group.vault-shm" "$folder/torn" &
      holder=$!
      until_seen torn torn true
      cmp -s -n 48 $team/group.vault-shm $team/group.vault-shm 0 48 && echo whole
      touch $team/group.vault-wal
      for round in 1 2 3; do as 12347 "$vault" get a -g team; echo; done
      as 12347 "$vault" verify team | cut -f1,2
      kill $holder
      printf two | "$vault" set b -g team
      until_seen state-12347/seen '^b$' true
      stop_watching; as 12347 "$vault" get b -g team; echo
      # The same, while a writer begins to make it.
      /usr/bin/python3 -c 'import fcntl, sys, time
      file = open(sys.argv[1], "r+b", 0)
      fcntl.lockf(file, fcntl.LOCK_SH, 1, 128)
      file.truncate(3)
      open(sys.argv[2], "w").write("short")
      time.sleep(600)' "$folder/$team/group.vault-shm" "$folder/short" &
      holder=$!
      until_seen short short true
      as 12347 "$vault" get b -g team
      kill $holder
      """)
    #expect(result.output == "one\none\none\nteam\tverified\ntwo\ntwo", "\(result.errors)")
  }

  /// An action that a user is not permitted, and the error.
  private static let denials: [(script: String, words: String)] = [
    ("as 12345 \"$vault\" get a -g other", "entering '$folder/store/groups/other'"),
    ("as 12345 \"$vault\" get a", "entering '$folder/store/groups/app.12345'"),
    ("printf x | as 12345 \"$vault\" set a -g other", "entering '$folder/store/groups/other'"),
    ("as 12345 \"$vault\" group list", "listing the groups in '$folder/store/groups', which only its owner may do"),
    ("GROUPS_OF_USER=99 as 12345 \"$vault\" get a -g team", "entering '$folder/store/groups/team'"),
    ("chmod 700 store; as 12345 \"$vault\" get a -g team", "entering '$folder/store/groups'"),
    ("chmod 600 $team/group.vault-wal; as 12345 \"$vault\" get a -g team", "reading '$folder/$team/group.vault-wal'"),
    ("chmod 600 $team/group.vault; as 12345 \"$vault\" get a -g team", "reading '$folder/$team/group.vault'"),
    (
      "chmod 640 $team/group.vault; printf x | as 12345 \"$vault\" set a -g team",
      "writing '$folder/$team/group.vault'"
    ),
    ("chmod 600 $team/lock; printf x | as 12345 \"$vault\" set a -g team", "reading '$folder/$team/lock'"),
    ("chown 54321 $team; as 12345 \"$vault\" get a -g team", "the group's folder belongs to another user"),
    ("chmod 771 store/groups; as 12345 \"$vault\" get a -g team", "the store is open to other users (mode 771)"),
    ("chown 54321 store/groups; as 12345 \"$vault\" get a -g team", "the store belongs to another user"),
    ("chmod 2775 $team; as 12345 \"$vault\" get a -g team", "the group's folder is open to other users (mode 2775)"),
  ]

  @Test(arguments: denials.indices) func `an action that the system refuses ends with 12 and the path`(number: Int) {
    let (script, words) = Self.denials[number]
    #expect(users.shell("printf x | \"$vault\" set a -g team").status == 0)
    let result = users.shell(script)
    let path = users.store.folder.path
    let expected = words.replacing("$folder", with: path).replacing("$team", with: "store/groups/team")
    #expect(result.status == 12, "\(script): \(result.errors)")
    #expect(
      result.errors.hasPrefix("vault: error: the system's permissions do not allow it: \(expected)\n"),
      "\(script): \(result.errors)")
    #expect(result.output.isEmpty)
  }

  @Test func `an application's status and verification cover the groups that it knows`() {
    let result = users.shell(
      """
      printf x | "$vault" set a -g team; "$vault" group share app.12345 --unix-group 34567
      as 12345 "$vault" status | grep -P '\\t' | cut -f1,2,5; echo $?; as 12345 "$vault" verify 2>&1 | head -2 | cut -f1,2
      """)
    let denied = "the system's permissions do not allow it: entering '\(users.store.folder.path)/store/groups/other'"
    #expect(
      result.output == """
        app.12345\t0\tverified
        other\t\t\(denied)
        team\t1\tverified
        0
        app.12345\tverified
        other\t\(denied)

        """, "\(result.errors)")
  }

  @Test(.enabled(if: Machine.hasPython, "python3 is not here"))
  func `a lock held on the index blocks neither the owner nor a revocation`() throws {
    let result = users.shell(
      """
      printf old | "$vault" set a -g team; "$vault" group share team --unix-group 34567 --read-only
      # A process that may only read the index locks it for readers, and stays.
      hold() {
        held="$folder/state-12347/held$1"
        as 12347 /usr/bin/python3 -c 'import fcntl, os, sys, time
      file = open(sys.argv[1], "rb")
      fcntl.lockf(file, fcntl.LOCK_SH, 1, 120)
      open(sys.argv[2] + ".new", "w").write(str(os.getpid()))
      os.rename(sys.argv[2] + ".new", sys.argv[2])
      time.sleep(600)' "$folder/$team/group.vault-shm" "$held" &
        while [ ! -e "$held" ] && kill -0 $!; do sleep 0.01; done
        holder=$(cat "$held")
      }
      hold 1
      printf new | "$vault" set a -g team 2>/dev/null; echo $?
      "$vault" group share team --private; printf new | "$vault" set a -g team; echo $?
      kill $holder; "$vault" group share team --unix-group 34567 --read-only
      hold 2
      "$vault" revoke team app.12347 2>/dev/null; echo $?
      as 12347 "$vault" get a -g team 2>/dev/null; echo $?; "$vault" get a -g team; echo
      printf last | "$vault" set a -g team; echo $?; "$vault" verify >/dev/null; echo $?; modes $team $team/group.vault
      kill $holder
      """)
    #expect(
      result.output == """
        15
        0
        0
        12
        new
        0
        0
        2750 0:34567 store/groups/team
        640 0:34567 store/groups/team/group.vault

        """, "\(result.errors)")
  }

  @Test(.enabled(if: Machine.hasPython, "python3 is not here"))
  func `a writer who holds every lock can be revoked once the owner has removed the lock file`() throws {
    let result = users.shell(
      """
      printf old | "$vault" set a -g team
      held="$folder/state-12346/held"
      as 12346 /usr/bin/python3 -c 'import fcntl, os, sys, time
      lock, index = (open(sys.argv[1] + name, "r+b") for name in ("/lock", "/group.vault-shm"))
      fcntl.flock(lock, fcntl.LOCK_EX)
      fcntl.lockf(index, fcntl.LOCK_EX, 1, 120)
      open(sys.argv[2] + ".new", "w").write(str(os.getpid()))
      os.rename(sys.argv[2] + ".new", sys.argv[2])
      time.sleep(600)' "$folder/$team" "$held" &
      while [ ! -e "$held" ] && kill -0 $!; do sleep 0.01; done
      printf new | "$vault" set a -g team 2>/dev/null; echo $?
      rm $team/lock; "$vault" revoke team app.12346 2>/dev/null; echo $?
      as 12346 "$vault" get a -g team 2>/dev/null; echo $?
      printf new | "$vault" set a -g team; echo $?; as 12345 "$vault" get a -g team; echo; "$vault" verify >/dev/null; echo $?
      kill $(cat "$held")
      """)
    #expect(result.output == "15\n0\n12\n0\nnew\n0\n", "\(result.errors)")
  }

  @Test func `sharing a group with another Unix group names the one that can no longer open its files`() {
    let result = users.shell(
      """
      "$vault" group share team --unix-group 34567 --read-only 2>&1
      "$vault" group share team --unix-group 34568 2>&1; as 12345 "$vault" get a -g team 2>/dev/null; echo $?
      "$vault" group share other --unix-group 34567 2>&1
      """)
    #expect(
      result.output == """
        'team' was shared with the Unix group '34567', which can no longer open its files
        12

        """, "\(result.errors)")
  }

  @Test func `the store is private again once no group is shared`() {
    let result = users.shell(
      """
      "$vault" group share other --unix-group 34567 && "$vault" group share team --private
      modes store store/groups $team
      as 12345 "$vault" get a -g team 2>/dev/null; echo $?
      as 12345 "$vault" get a -g other 2>/dev/null; echo $?
      "$vault" group remove other --yes 2>/dev/null && modes store store/groups store/identity $team $team/*
      "$vault" group show team --json | grep -o '"unixGroup":null'; "$vault" verify >/dev/null; echo $?
      """)
    #expect(
      result.output == """
        711 0:0 store
        711 0:0 store/groups
        700 0:0 store/groups/team
        12
        10
        700 0:0 store
        700 0:0 store/groups
        700 0:0 store/identity
        700 0:0 store/groups/team
        600 0:0 store/groups/team/group.vault
        600 0:0 store/groups/team/group.vault-shm
        600 0:0 store/groups/team/group.vault-wal
        600 0:0 store/groups/team/lock
        "unixGroup":null
        0

        """, "\(result.errors)")
  }

  @Test func `an owner who is not root can share only with their own Unix groups and only their own files`() {
    let result = users.shell(
      """
      mkdir -m 711 home && chown 12346 home && cd home
      own() { setpriv --reuid=12346 --regid=12346 --groups=34567 env HOME="$folder/home" VAULT_HOME="$folder/home/store" \\
        VAULT_STATE="$folder/home/state" "$vault" "$@"; }
      own init --key-file "$folder/home/key" 2>/dev/null
      own group create mine --unix-group 34567; own group create not --unix-group 99 2>&1; echo $?; own group list
      modes store store/groups/mine store/groups/mine/*
      rm store/groups/mine/lock; touch store/groups/mine/lock; chown 12345:34567 store/groups/mine/lock
      chmod 660 store/groups/mine/lock
      own group share mine --private 2>&1; echo $?; modes store store/groups/mine store/groups/mine/lock
      """)
    #expect(
      result.output == """
        vault: error: the system's permissions do not allow it: giving files to the Unix group '99', which this user is not in
        vault: hint: use the account that owns the store, or have its owner share the group: vault group share NAME --unix-group G (without --read-only, if it is to be written)
        12
        default
        mine
        711 12346:12346 store
        2770 12346:34567 store/groups/mine
        660 12346:34567 store/groups/mine/group.vault
        660 12346:34567 store/groups/mine/group.vault-shm
        660 12346:34567 store/groups/mine/group.vault-wal
        660 12346:34567 store/groups/mine/lock
        0
        700 12346:12346 store
        700 12346:12346 store/groups/mine
        600 12346:12346 store/groups/mine/lock

        """, "\(result.errors)")
  }

  @Test func `a service that may not list the folder of groups finds those into which it was let later`() {
    let result = users.shell(
      """
      "$vault" service enroll --output "$folder/service" 2>/dev/null && chown 12346 "$folder/service"
      "$vault" group create late && "$vault" group create later && printf x | "$vault" set a -g late
      "$vault" app bind app.12347 --user 0 2>/dev/null
      "$vault" grant late vault.service --rights read 2>/dev/null
      for group in vault.service late later; do "$vault" group share $group --unix-group 34567; done
      as 12346 env VAULT_CREDENTIAL="$folder/service" "$vault" list --all | cut -f1,2
      """)
    #expect(result.output == "late\ta\n", "\(result.errors)")
  }

  @Test func `a user outside the Unix group that a group is shared with is told to join it`() {
    let result = users.shell(
      """
      getent group 34567 >/dev/null && exit 1
      GROUPS_OF_USER=99
      for command in 'get a -g team' 'list -g team' 'group show team' 'run --set X=vault://team/a -- true'; do
        as 12345 "$vault" $command 2>&1 | grep hint
      done
      GROUPS_OF_USER=34567
      as 12345 "$vault" group list 2>&1; as 12345 "$vault" get a -g other 2>&1 | grep hint
      """)
    let join =
      "vault: hint: if this user is meant to open the group, which is shared with the Unix group 34567, let the user join it: usermod -aG 34567 USER; or, for a service, in its unit: SupplementaryGroups=34567\n"
    #expect(
      result.output == String(repeating: join, count: 4) + """
        vault: error: the system's permissions do not allow it: listing the groups in '\(users.store.folder.path)/store/groups', which only its owner may do
        vault: hint: only the store's owner can list all groups; to see those that a credential opens: vault status
        vault: hint: use the account that owns the store, or have its owner share the group: vault group share NAME --unix-group G (without --read-only, if it is to be written)

        """, "\(result.errors)")
  }
}
