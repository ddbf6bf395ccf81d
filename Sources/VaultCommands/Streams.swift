/// The descriptors that a run of the command reads and writes. It uses no other global state of the process, so tests
/// can run commands in-process.
public struct Streams: Sendable {
  public var input: Int32
  public var output: Int32
  public var errors: Int32

  /// The path of the terminal for prompts.
  public var terminal: String

  public init(input: Int32 = 0, output: Int32 = 1, errors: Int32 = 2, terminal: String = "/dev/tty") {
    self.input = input
    self.output = output
    self.errors = errors
    self.terminal = terminal
  }
}
