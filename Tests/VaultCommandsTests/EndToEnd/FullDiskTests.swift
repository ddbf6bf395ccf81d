import TestSupport
import Testing

@testable import VaultCommands

/// A file system that is made small so that it fills up.
@Suite(.needsMounts) struct FullDiskTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  /// Gives the script a new store in `$disk`, which has the given number of KiB.
  private func onDisk(_ kibibytes: Int, _ script: String) -> Executable.Result {
    store.shellWithMounts(
      """
      disk="$folder/disk" && mkdir "$disk" && mount -t tmpfs -o size=\(kibibytes)k,mode=700 none "$disk" || exit 99
      export VAULT_HOME="$disk/store" VAULT_STATE="$disk/state"
      grow() { mount -o remount,size=8m "$disk"; }
      \(script)
      """)
  }

  @Test func `writing to a disk that fills up ends with 23 and loses nothing`() {
    let result = onDisk(
      700,
      """
      "$vault" init --key-file "$disk/key" 2>/dev/null || exit 98
      number=0 status=0
      while [ $status = 0 ]; do
        number=$((number + 1)) item=item$((number % 7))
        { echo $number; head -c $((number * 7919 % 20000)) /dev/zero | tr '\\0' x; } | "$vault" set $item 2>"$folder/why"
        status=$?
        [ $status = 0 ] && echo $number >"$folder/$item"
      done
      echo "filled: $status" && cat "$folder/why"
      check() {
        for item in item0 item1 item2 item3 item4 item5 item6; do
          [ "$("$vault" get $item | head -n 1)" = "$(cat "$folder/$item")" ] || echo "$item is not what was acknowledged"
        done
        "$vault" list >/dev/null && "$vault" verify >/dev/null && "$vault" status >/dev/null || echo "reading: $?"
      }
      check
      "$vault" get item3 --output "$disk/out" 2>/dev/null || echo "output: $?"
      rm -f "$disk/out" && ls -A "$disk"
      grow && echo 1000 | "$vault" set item3 && echo 1000 >"$folder/item3" && check
      """)
    #expect(result.status == 0, "\(result.errors)")
    #expect(
      result.output.replacing("output: 23\n", with: "") == """
        filled: 23
        vault: error: the disk is full
        vault: hint: nothing was changed by the failed command
        key
        state
        store

        """)
    #expect(result.errors.isEmpty)
  }

  @Test func `writing works while the disk of the state folder is full`() {
    let result = onDisk(
      64,
      """
      export VAULT_HOME="$folder/other"
      "$vault" init --key-file "$folder/other-key" 2>/dev/null || exit 98
      cat /dev/zero >"$disk/filler" 2>/dev/null
      printf one | "$vault" set a && printf two | "$vault" set a && "$vault" get a && "$vault" verify >/dev/null
      """)
    #expect(result.status == 0)
    #expect(result.output == "two")
    #expect(result.errors.isEmpty)
  }

  @Test func `a new group says at once that the disk of the state folder is full`() {
    let result = onDisk(
      64,
      """
      export VAULT_HOME="$folder/other"
      "$vault" init --key-file "$folder/other-key" 2>/dev/null || exit 98
      cat /dev/zero >"$disk/filler" 2>/dev/null
      "$vault" group create team
      """)
    #expect(result.status == 0)
    #expect(result.errors.contains("the witness cannot be written"), "\(result.errors)")
  }

  @Test func `a store that did not fit on the disk is finished once there is room`() {
    let sizes = RunLength.isFull ? Array(stride(from: 4, through: 260, by: 4)) : [16, 64, 120, 180]
    for size in sizes {
      let result = onDisk(
        size,
        """
        "$vault" init --key-file "$disk/key" 2>/dev/null; first=$?
        printf v | "$vault" set a 2>/dev/null; set=$?
        grow
        "$vault" init --key-file "$disk/key" 2>/dev/null; second=$?
        printf v | "$vault" set b && "$vault" verify >/dev/null; last=$?
        echo "$first $set $second $last"
        case "$first $second $last" in "0 22 0" | "23 0 0") exit 0 ;; *) exit 1 ;; esac
        """)
      #expect(result.status == 0, "\(size) KiB: \(result.output)\(result.errors)")
      store.shell(#"rmdir "$folder/disk""#)
    }
  }

  @Test func `a replacement that the disk has no room for says that it is not finished`() {
    let result = onDisk(
      8_000,
      """
      "$vault" init --key-file "$folder/other-key" 2>/dev/null && "$vault" app issue web --output "$folder/c1" 2>/dev/null || exit 98
      head -c 600000 /dev/zero | tr '\\0' x | "$vault" set a -g web || exit 97
      size=$(($(df --output=used "$disk" | tail -n 1) + 24)) && mount -o remount,size=${size}k "$disk"
      "$vault" app issue web --output "$folder/c2" --replace 2>"$folder/why"; echo $?; tail -n 1 "$folder/why"
      grow && "$vault" app issue web --output "$folder/c2" --replace >/dev/null 2>&1; echo $?
      mount -o remount,ro "$disk" && VAULT_HOME="$disk/other" "$vault" init --key-file "$folder/k" 2>&1 | tail -n 1
      """)
    #expect(
      result.output == """
        23
        vault: hint: not finished, but what was done is kept: free some space, then repeat the command
        0
        vault: hint: not finished, but what was done is kept; repeat the command later

        """, "\(result.errors)")
  }

  @Test func `a write stopped by a file size limit ends with 23`() throws {
    #expect(store.execute("set", "a", input: "old").status == 0)
    let result = store.shell(#"ulimit -f 32; printf new | "$vault" set a"#)
    #expect(result.status == 23)
    #expect(store.execute("get", "a").output == "old")
    let large = store.shell(#"ulimit -f 80; head -c 100000 /dev/zero | "$vault" set b"#)
    #expect(large.status == 23 && large.errors.hasPrefix("vault: error: the file cannot grow any further\n"))
    #expect(store.execute("verify").status == 0)
  }
}
