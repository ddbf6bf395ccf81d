import TestSupport
import Testing

@testable import VaultCommands

/// Commands that read hostile archives in processes with little memory.
@Suite struct ArchiveMemoryTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  @Test(.needsLimits, arguments: HostileArchive.allCases)
  func `every command that reads an archive ends well within 1 GiB of addresses`(kind: HostileArchive) {
    let file = store.folder.write("hostile", kind.bytes(250_000))
    for command in [
      "archive show", "archive show --json", "archive show --raw", "archive show --raw --json",
      "archive check --allow T", "archive convert --to xml", "archive convert --to binary", "archive convert --to json",
      "set a --allow T --archive",
    ] {
      let result = store.shell(#"prlimit --as=1073741824 "$vault" \#(command) "\#(file)" >/dev/null"#)
      // Done, broken (a control character in XML), a cycle, another class, or over a limit.
      #expect([0, 13, 19, 20].contains(result.status), "\(command): \(result.status) \(result.errors.prefix(300))")
    }
  }

  @Test(.needsLimits) func `importing a list that shares its values ends well within 1 GiB of addresses`() {
    var list = SharedPlist()
    let text = list.text(String(repeating: "\u{1}", count: 120_000))
    let array = list.array(Array(repeating: text, count: 30_000))
    let top = list.dictionary([(list.text("a"), array)])
    let file = store.folder.write("preferences", list.bytes(top: top))
    let result = store.shell(#"prlimit --as=1073741824 "$vault" import "\#(file)" --from plist --dry-run"#)
    #expect(result.status == 20)
    #expect(result.errors.contains("its items would take more than 16 bytes for each byte of it"))
  }
}
