import Glibc

@testable import VaultCommands

/// A command run in this process, and its result.
struct Transcript {
  let status: Int32
  let outputBytes: [UInt8]
  let errors: String

  var output: String { String(decoding: outputBytes, as: UTF8.self) }

  init(
    _ arguments: [String], input: [UInt8] = [], environment: [String: String] = [:], terminal: String = "/nonexistent"
  ) {
    let streams = Streams(
      input: Pipe.holding(input), output: Pipe.nameless(), errors: Pipe.nameless(), terminal: terminal)
    status = run(arguments: arguments, environment: environment, streams: streams)
    close(streams.input)
    outputBytes = Pipe.contents(of: streams.output)
    errors = String(decoding: Pipe.contents(of: streams.errors), as: UTF8.self)
  }
}
