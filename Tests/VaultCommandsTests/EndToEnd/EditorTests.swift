import Foundation
import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// Real editors on a real terminal, with user settings that would leave copies everywhere.
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

  /// The keys to type, and the text on the screen once the editor has processed them.
  private typealias Step = (keys: String, shows: String)

  /// Types into a tmux terminal step by step.
  private func type(_ steps: [Step], into session: String) {
    for step in steps {
      store.shell("tmux -L \(session) send-keys -t 0 \(step.keys)")
      #expect(shows(step.shows, session), "\(step.keys)")
    }
  }

  private func shows(_ text: String, _ session: String) -> Bool {
    eventually { store.shell("tmux -L \(session) capture-pane -p -t 0").output.contains(text) }
  }

  private var copies: String { store.shell("cd \"$folder\" && grep -rl S3CR3T . || true").output }

  private func edit(with editor: String, _ steps: [Step], end: String) {
    let session = "vault-\(getpid())-\(editor)"
    let variables = store.scriptEnvironment.map { "'\($0.key)=\($0.value)'" }.joined(separator: " ")
    let command = "env -i \(variables) TERM=xterm EDITOR=\(editor) \(quoted(Executable.path)) edit password; sleep 1"
    store.shell("tmux -L \(session) new-session -d -x 80 -y 24 \(quoted(command))")
    // The editor is ready when it shows the value.
    #expect(shows(mark, session))
    type(steps, into: session)
    #expect(copies.isEmpty, "while \(editor) runs")
    store.shell("tmux -L \(session) send-keys -t 0 \(end)")
    #expect(eventually { store.run("get", "password").output != mark })
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

  @Test(.needsClients, arguments: ["vim", "vi"]) func `vim leaves no copies of an edited value`(editor: String) {
    edit(
      with: editor,
      [
        ("'ichanged '", "changed " + mark), ("Escape", mark), ("':w' Enter", "written"), ("0", mark),
        ("'imore '", "more changed " + mark), ("Escape", mark),
      ], end: "':wq' Enter")
  }

  @Test(.needsClients) func `nano leaves no copies of an edited value`() {
    edit(
      with: "nano",
      [
        ("'changed '", "changed " + mark), ("C-s", "Wrote 1 line"), ("C-a", mark), ("'more '", "more changed " + mark),
      ], end: "C-s C-x")
  }

  @Test func `the known editors are recognized by their program names`() {
    #expect(Editor("sh -c x").program != "sh -c x" && !Editor("no-such-editor -w").keepsNoCopies)
    #expect(Editor("/nowhere/nano").keepsNoCopies && Editor("/nowhere/nvim -f").keepsNoCopies)
    #expect(!Editor("emacsclient -t").keepsNoCopies && Editor("emacs -nw").keepsNoCopies)
  }
}
