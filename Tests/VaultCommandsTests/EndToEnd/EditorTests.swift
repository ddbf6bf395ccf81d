import Foundation
import Glibc
import Testing

@testable import VaultCommands

/// Real editors on a real terminal, with settings of the user's that would leave copies everywhere.
@Suite struct EditorTests {
  private let store: TestStore
  private let mark = "S3CR3T-\(UInt64.random(in: .min ... .max))"

  init() throws {
    store = try TestStore()
    store.run("set", "password", input: mark)
    for name in ["bak", "swap", "undo"] {
      try FileManager.default.createDirectory(atPath: store.folder.file(name), withIntermediateDirectories: false)
    }
    _ = store.folder.write(
      ".vimrc",
      Array(
        """
        set backup writebackup backupdir=~/bak directory=~/swap// undofile undodir=~/undo swapfile updatecount=1
        set patchmode=.orig backupskip= viminfo='100,n~/.viminfo
        autocmd BufReadPost * setlocal swapfile undofile

        """.utf8))
    _ = store.folder.write(
      ".nanorc", Array("set backup\nset backupdir \"~/bak\"\nset historylog\nset positionlog\nset locking\n".utf8))
  }

  /// Types into a terminal of tmux, step by step.
  private func type(_ steps: [String], into session: String) {
    for step in steps {
      store.shell("tmux -L \(session) send-keys -t 0 \(step)")
      usleep(700_000)
    }
  }

  private var copies: String { store.shell("cd \"$folder\" && grep -rl S3CR3T . || true").output }

  private func edit(with editor: String, _ first: [String], _ second: [String]) {
    let session = "vault-\(getpid())-\(editor)"
    let variables = store.scriptEnvironment.map { "'\($0.key)=\($0.value)'" }.joined(separator: " ")
    let command = "env -i \(variables) TERM=xterm EDITOR=\(editor) \(quoted(Executable.path)) edit password; sleep 1"
    store.shell("tmux -L \(session) new-session -d -x 80 -y 24 \(quoted(command))")
    // The editor shows the value when it is ready.
    for _ in 0..<200 where !store.shell("tmux -L \(session) capture-pane -p -t 0").output.contains(mark) {
      usleep(100_000)
    }
    usleep(500_000)
    type(first, into: session)
    #expect(copies.isEmpty, "while \(editor) runs")
    type(second, into: session)
    for _ in 0..<200 where store.run("get", "password").output == mark { usleep(100_000) }
    store.shell("tmux -L \(session) kill-server")
    #expect(store.run("get", "password").output == "more changed " + mark)
    #expect(copies.isEmpty, "after \(editor)")
    let left = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/shm")) ?? []
    for name in left where name.hasPrefix("vault-edit-") {
      let bytes = FileManager.default.contents(atPath: "/dev/shm/\(name)/value.txt") ?? Data()
      #expect(!String(decoding: bytes, as: UTF8.self).contains(mark))
    }
  }

  private func quoted(_ text: String) -> String { "'" + text.replacing("'", with: #"'\''"#) + "'" }

  @Test(.needsClients, arguments: ["vim", "vi"]) func `vim leaves no copies`(editor: String) {
    edit(with: editor, ["'ichanged '", "Escape", "':w' Enter", "0", "'imore '", "Escape"], ["':wq' Enter"])
  }

  @Test(.needsClients) func `nano leaves no copies`() {
    edit(with: "nano", ["'changed '", "C-s", "C-a", "'more '"], ["C-s C-x"])
  }

  @Test func `which editors are known`() {
    #expect(Editor("sh -c x").program != "sh -c x" && !Editor("no-such-editor -w").keepsNoCopies)
    #expect(Editor("/nowhere/nano").keepsNoCopies && Editor("/nowhere/nvim -f").keepsNoCopies)
    #expect(!Editor("emacsclient -t").keepsNoCopies && Editor("emacs -nw").keepsNoCopies)
  }
}
