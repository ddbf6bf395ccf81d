import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// Backups, restorations and repairs in separate processes: while others write, killed, and on full disks.
@Suite struct BackupProcessTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  private func fill() throws {
    let result = store.shell(
      """
      printf one | "$vault" set a && head -c 100000 /dev/zero | "$vault" set large && printf two | "$vault" set a &&
      "$vault" group create team && printf x | "$vault" set b -g team && "$vault" backup "$folder/backup" >/dev/null &&
      printf three | "$vault" set a && printf y | "$vault" set b -g team && mkdir "$folder/base" &&
      cp -a "$folder/store" "$folder/state" "$folder/base"
      """)
    try #require(result.status == 0, "\(result.errors)")
  }

  private func startAgain() {
    store.shell(#"rm -rf "$folder/store" "$folder/state" "$folder/b" && cp -a "$folder/base/." "$folder""#)
  }

  @Test func `a backup made while four writers work contains one consistent state of each group`() throws {
    let rounds = RunLength.of(200, sample: 12)
    let environment = store.scriptEnvironment
    onThreads(5) { number in
      let script =
        number == 4
        ? #"for backup in 1 2 3 4; do "$vault" backup "$folder/backup$backup" >/dev/null || exit 9; done"#
        : TestStore.put + "for round in $(seq \(rounds)); do put x$number $round; put y$number $round; done"
      let result = Executable(
        ["-c", script], program: "/bin/sh", environment: environment.merging(["number": String(number)]) { $1 }
      ).wait()
      #expect(result.status == 0 && result.output.isEmpty, "\(result.output)\(result.errors)")
    }
    for backup in 1...4 {
      let result = store.shell(
        """
        export VAULT_HOME="$folder/new\(backup)" VAULT_STATE="$folder/new-state\(backup)" VAULT_KEY_FILE="$folder/key"
        mkdir -m 700 "$VAULT_HOME" "$VAULT_HOME/groups" && cp -a "$folder/backup\(backup)/identity" "$VAULT_HOME" &&
        "$vault" restore-backup "$folder/backup\(backup)" >/dev/null && "$vault" verify >/dev/null || exit 9
        for number in 0 1 2 3; do
          x=$("$vault" get x$number 2>/dev/null || echo 0) y=$("$vault" get y$number 2>/dev/null || echo 0)
          [ "$x" = "$y" ] || [ "$x" = $((y + 1)) ] || echo "x$number $x, y$number $y"
        done
        """)
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.output.isEmpty)
    }
  }

  @Test func `a group that is too large for the limit of files is named by the backup and by its restoration`() {
    let made = store.shell(
      #"""
      head -c 100000 /dev/zero | "$vault" set large && "$vault" group create team && "$vault" group compact default --yes
      ulimit -f 150; "$vault" backup "$folder/part"
      """#)
    #expect(made.status == 23, "\(made.errors)")
    #expect(made.output.hasPrefix("default\tthe file cannot grow any further\t\t\t\nteam\tcopied\t"), "\(made.output)")
    #expect(
      made.errors.hasSuffix(
        """
        vault: error: 'default' is not in the backup: the file cannot grow any further
        vault: hint: the groups that were copied are in it; to copy all, name another folder: vault backup DIR

        """), "\(made.errors)")
    for option in ["--dry-run", "--replace"] {
      let restored = store.run("restore-backup", store.folder.file("part"), option)
      #expect(restored.status == 0 && restored.errors == "not in the backup, and unchanged: default\n", "\(restored)")
    }
    #expect(store.run("restore-backup", store.folder.file("part"), "team").errors.isEmpty)
  }

  @Test func `more groups than files that may be open are listed, backed up and restored`() {
    let result = store.shell(
      """
      for number in $(seq 180); do "$vault" group create "g$number" || exit 9; done
      printf x | "$vault" set a -g g180
      # Other tests may have let this shell inherit files.
      ulimit -S -n $((170 + $(ls /proc/self/fd | wc -l)))
      "$vault" list --all | cut -f 1,2 && "$vault" backup "$folder/b" | wc -l && "$vault" restore-backup "$folder/b" | wc -l
      export VAULT_HOME="$folder/new" VAULT_STATE="$folder/new-state"
      "$vault" init --recover "$folder/b" --key-file "$folder/key" | grep -c restored
      """)
    #expect(result.output == "g180\ta\n182\n182\n182\n", "\(result.errors)")
  }

  @Test func `a group that is larger than a file may be does not keep the others from being backed up and restored`() {
    let result = store.shell(
      """
      head -c 600000 /dev/urandom | base64 | "$vault" set large && "$vault" group create team && printf one | "$vault" set a -g team
      "$vault" backup "$folder/whole" >/dev/null && printf two | "$vault" set a -g team && printf two | "$vault" set a || exit 9
      ulimit -f 512
      "$vault" backup "$folder/b" | cut -f 1,2
      "$vault" restore-backup "$folder/whole" --replace | cut -f 1,2
      """)
    #expect(
      result.output
        == """
        default\tthe file cannot grow any further
        team\tcopied
        vault.owner\tcopied
        default\tthe file cannot grow any further
        team\trestored
        vault.owner\talready in this state

        """,
      "\(result.errors)")
  }

  @Test(.needsTracing) func `a backup killed at any call is complete or absent, and can be made again`() throws {
    try fill()
    let arguments = ["backup", store.folder.file("b")]
    for call in try store.systemCalls(of: arguments, sample: 8) {
      startAgain()
      #expect(store.trace(arguments, [call.name], call.killing).status == 128 + SIGKILL, "\(call)")
      // Anything that looks like a backup must be complete.
      let restored = store.execute("restore-backup", store.folder.file("b"))
      #expect([0, 13].contains(restored.status), "\(call): \(restored.errors)")
      let again = store.execute(arguments, input: [])
      #expect(again.status == (restored.status == 0 ? 22 : 0), "\(call): \(again.errors)")
      #expect(store.execute("restore-backup", store.folder.file("b")).status == 0, "\(call)")
      #expect(store.shell(#"ls -A "$folder/b""#).output == "groups\nidentity\n", "\(call)")
      #expect(store.execute("verify").status == 0, "\(call)")
    }
  }

  @Test(.needsTracing)
  func `a restoration killed at any call leaves each group wholly old or new, and can be repeated`()
    throws
  {
    try fill()
    let arguments = ["restore-backup", store.folder.file("backup"), "--replace"]
    startAgain()
    for call in try store.systemCalls(of: arguments, sample: 8) {
      startAgain()
      #expect(store.trace(arguments, [call.name], call.killing).status == 128 + SIGKILL, "\(call)")
      for (group, new) in [("default", "three"), ("team", "y")] {
        let get = store.execute("get", group == "default" ? "a" : "b", "-g", group)
        #expect(get.status == 14 || get.output == new, "\(call): \(get.errors)")
      }
      let again = store.execute(arguments, input: [])
      #expect(again.status == 0, "\(call): \(again.errors)")
      expectAccepted("\(call)")
    }
  }

  private func expectAccepted(_ call: String) {
    for group in ["default", "team"] {
      #expect(store.execute("group", "accept", group, "--yes").status == 0, "\(call)")
    }
    #expect(store.execute("get", "a").output == "two", "\(call)")
    #expect(store.execute("get", "b", "-g", "team").output == "x", "\(call)")
    #expect(store.execute("verify").status == 0, "\(call)")
    // Only the replaced files are left over; the next run removes the drafts of killed processes.
    #expect(!store.shell(#"ls -A "$folder/store/set-aside""#).output.contains("draft"), "\(call)")
  }

  @Test(.needsTracing) func `a restoration on a new machine that is killed at any call can be repeated`() throws {
    try fill()
    store.environment["VAULT_HOME"] = store.folder.file("new")
    store.environment["VAULT_STATE"] = store.folder.file("new-state")
    store.environment["VAULT_KEY_FILE"] = store.keyFile
    let clear = """
      rm -rf "$folder/new" "$folder/new-state" && mkdir -m 700 "$folder/new" "$folder/new/groups" &&
      cp -a "$folder/backup/identity" "$folder/new"
      """
    let arguments = ["restore-backup", store.folder.file("backup")]
    store.shell(clear)
    for call in try store.systemCalls(of: arguments, sample: 8) {
      store.shell(clear)
      #expect(store.trace(arguments, [call.name], call.killing).status == 128 + SIGKILL, "\(call)")
      let again = store.execute(arguments, input: [])
      #expect(again.status == 0, "\(call): \(again.errors)")
      #expect(store.execute("get", "a").output == "two", "\(call)")
      #expect(store.execute("get", "b", "-g", "team").output == "x", "\(call)")
      let verify = store.execute("verify")
      #expect(verify.status == 0, "\(call): \(verify.output)")
      #expect(store.execute("group", "create", "more").status == 0, "\(call)")
    }
  }

  @Test(.needsTracing)
  func `a repair killed at any call leaves the damaged or the repaired file, and can be repeated`()
    throws
  {
    try fill()
    // This is the last page of the large value.
    let damage = #"""
      "$vault" group compact default --yes 2>/dev/null; file="$folder/store/groups/default/group.vault"
      pages=$(($(stat -c %s "$file") / 4096))
      head -c 4096 /dev/zero | dd of="$file" bs=4096 seek=$((pages - 1)) conv=notrunc status=none
      rm -rf "$folder/base" && mkdir "$folder/base" && cp -a "$folder/store" "$folder/state" "$folder/base"
      """#
    try #require(store.shell(damage).status == 0)
    try #require(store.execute("verify").status == 13)
    let arguments = ["repair", "default", "--drop-unproved"]
    for call in try store.systemCalls(of: arguments, sample: 8) {
      startAgain()
      #expect(store.trace(arguments, [call.name], call.killing).status == 128 + SIGKILL, "\(call)")
      #expect([0, 13].contains(store.execute("verify").status), "\(call)")
      #expect(store.execute(arguments, input: []).status == 0, "\(call)")
      #expect(store.execute("get", "a").output == "three", "\(call)")
      #expect(store.execute("verify").status == 0, "\(call)")
    }
  }

  /// Gives the script a small disk at `$disk`.
  private func onDisk(_ kibibytes: Int, _ script: String) -> Executable.Result {
    store.shellWithMounts(
      """
      disk="$folder/disk" && mkdir "$disk" && mount -t tmpfs -o size=\(kibibytes)k,mode=700 none "$disk" || exit 99
      \(script)
      """)
  }

  @Test(.needsMounts) func `a backup that fills the disk leaves nothing, whichever file no longer fits`()
    throws
  {
    try fill()
    for size in RunLength.isFull ? Array(stride(from: 4, through: 300, by: 4)) : [4, 16, 48, 100, 160, 220] {
      let result = onDisk(
        size,
        """
        "$vault" backup "$disk/b" >/dev/null 2>&1; first=$?
        [ $first = 0 ] || ls -A "$disk"
        mount -o remount,size=8m "$disk"
        [ $first = 0 ] || "$vault" backup "$disk/b" >/dev/null || exit 9
        "$vault" restore-backup "$disk/b" >/dev/null; echo "$first $?"
        """)
      #expect(["23 0\n", "0 0\n"].contains(result.output), "\(size) KiB: \(result.output)\(result.errors)")
      store.shell(#"rmdir "$folder/disk""#)
    }
    #expect(store.execute("verify").status == 0)
  }

  @Test(.needsMounts) func `a restoration that fills the disk changes no group`() throws {
    try fill()
    for size in RunLength.isFull ? Array(stride(from: 20, through: 500, by: 20)) : [40, 120, 260] {
      let result = onDisk(
        8_192,
        """
        cp -a "$folder/base/store" "$folder/base/state" "$disk" && export VAULT_HOME="$disk/store" VAULT_STATE="$disk/state"
        used=$(($(df --output=used "$disk" | tail -n 1))) && mount -o remount,size=$((used + \(size)))k "$disk" || exit 9
        "$vault" restore-backup "$folder/backup" --replace >/dev/null 2>&1; first=$?
        if [ $first = 23 ]; then
          [ "$("$vault" get a)" = three ] && [ "$("$vault" get b -g team)" = y ] && "$vault" verify >/dev/null || echo changed
        fi
        mount -o remount,size=16m "$disk" && "$vault" restore-backup "$folder/backup" --replace >/dev/null || echo "again: $?"
        "$vault" group accept default --yes 2>/dev/null && "$vault" get a && echo " $first"
        """)
      #expect(["two 23\n", "two 0\n"].contains(result.output), "\(size) KiB: \(result.output)\(result.errors)")
      store.shell(#"rmdir "$folder/disk""#)
    }
  }
}
