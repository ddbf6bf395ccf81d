import CVaultSystem
import Glibc
internal import Vault

/// The user's editor, configured to keep no copies of the text.
struct Editor {
  /// The command as a shell reads it.
  private let command: String
  /// The base name of the program in `command`, after following links.
  let program: String

  private enum Family { case vim, nano, emacs, other }

  /// - Parameter command: the value of VISUAL or EDITOR, which may contain arguments.
  init(_ command: String) {
    self.command = command
    let word = command.split(separator: " ").first.map(String.init) ?? command
    let path = (try? ProgramStart.find(word, InheritedEnvironment.variables)) ?? word
    let name = ResolvedPath.of(path) ?? path
    program = name.split(separator: "/").last.map(String.init) ?? name
  }

  private var family: Family {
    if ["vim", "nvim", "gvim", "vi"].contains(program) || program.hasPrefix("vim.") { return .vim }
    if program == "nano" || program == "rnano" { return .nano }
    return program.hasPrefix("emacs") && !program.hasPrefix("emacsclient") ? .emacs : .other
  }

  /// Whether we know how to keep it from writing copies of the text to a disk.
  var keepsNoCopies: Bool { family != .other }

  /// Options that turn off swap, backup and undo files and histories, whatever the user's settings are.
  private var options: [String] {
    switch family {
    case .vim:
      // These settings are applied just before the file is read and written, after the user's own.
      let settings = "silent! set uc=0 nobackup nowritebackup patchmode= | silent! setlocal noswapfile noundofile"
      return [
        // With a window of its own, vim would otherwise return before the text is edited.
        "-f", "-n", "-i", "NONE", "--cmd", "silent! set noswapfile nobackup nowritebackup noundofile", "--cmd",
        "autocmd BufReadPre,BufNewFile,BufWritePre * " + settings,
      ]
    // These two start without the user's settings, because neither has options that override them.
    case .nano: return ["--ignorercfiles"]
    case .emacs:
      return [
        "-Q", "--eval",
        "(setq make-backup-files nil auto-save-default nil auto-save-list-file-prefix nil create-lockfiles nil)",
      ]
    case .other: return []
    }
  }

  /// Runs the editor on a file, to its end.
  ///
  /// - Parameter folder: the folder for its temporary files.
  /// - Throws: `unexpected` if it fails or cannot be started.
  func edit(_ path: String, temporaryFolder folder: String, _ streams: Streams) throws(Failure) {
    var variables = InheritedEnvironment.variables
    variables[Array("TMPDIR".utf8)] = Array(folder.utf8)
    let relay = try SignalRelay()
    let child = try ChildProcess(
      "sh", ["sh", "-c", "exec env " + command + " \"$@\"", command] + options + [path], variables,
      input: streams.input,
      output: streams.output, errors: streams.errors, blocked: relay.maskBefore)
    var end: ProgramEnd?
    while end == nil {
      Descriptor.wait(for: Int16(POLLIN), on: relay.descriptor)
      end = relay.relay(to: child).end
    }
    switch end {
    case .exited(0)?, nil: return
    case .exited(127)?:
      throw Failure(.unexpected, "the editor was not found", hint: "set VISUAL or EDITOR")
    case .exited(let status)?: throw Failure(.unexpected, "the editor ended with status \(status); nothing was stored")
    case .killed(let signal)?:
      throw Failure(.unexpected, "the editor was ended by signal \(signal); nothing was stored")
    }
  }
}
