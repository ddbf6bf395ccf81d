import CVaultSystem
internal import Exchange
import Glibc
internal import Vault

/// Runs a program to its end and replaces values in its output.
enum MaskedProgram {
  /// - Parameter values: the values to replace in stdout and in stderr. The two are filtered separately if they go to
  ///   different places.
  /// - Returns: how the program ended. All of its output has been written by then, but not later output of its own
  ///   children.
  /// - Throws: `commandNotFound`, `notExecutable` or `storage` if no program was started; also `storage` if the program
  ///   ran and some of its output could not be written.
  static func run(
    _ program: String, _ arguments: [String], _ variables: [[UInt8]: [UInt8]], hiding values: [[UInt8]],
    _ streams: Streams
  ) throws(Failure) -> ProgramEnd {
    let patterns = MaskPatterns(values: values)
    let output = try MaskedStream(to: streams.output, patterns)
    // If both go to the same place, a single stream keeps the order of the output.
    let isOne = isSameFile(streams.output, streams.errors)
    let errors = isOne ? output : try MaskedStream(to: streams.errors, patterns)
    let outputs = isOne ? [output] : [output, errors]
    let relay = try SignalRelay()
    let child = try ChildProcess(
      program, arguments, variables, input: streams.input, output: output.programEnd,
      errors: errors.programEnd, blocked: relay.maskBefore)
    for output in outputs { output.closeProgramEnd() }
    while true {
      var requests = [pollfd(fd: relay.descriptor, events: Int16(POLLIN), revents: 0)] + outputs.map(\.request)
      let wait = outputs.contains(where: \.isHolding) ? Int32(MaskedStream.quiet) : -1
      _ = unsafe poll(&requests, nfds_t(requests.count), wait)
      for (output, request) in zip(outputs, requests.dropFirst()) {
        if request.revents != 0 { output.move() }
        output.pauseIfQuiet()
      }
      guard requests[0].revents != 0 else { continue }
      let (isResized, end) = relay.relay(to: child)
      if isResized {
        for output in outputs { output.takeSize() }
        child.send(SIGWINCH)
      }
      if let end {
        for output in outputs { output.finish() }
        if let fault = outputs.lazy.compactMap(\.fault).first {
          throw Failure(.storage, "the program's output cannot be written: \(SystemReason.text(fault))")
        }
        return end
      }
    }
  }

  private static func isSameFile(_ one: Int32, _ other: Int32) -> Bool {
    var (first, second) = (stat(), stat())
    guard unsafe fstat(one, &first) == 0, unsafe fstat(other, &second) == 0 else { return false }
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino
  }
}

extension ProgramEnd {
  /// Ends this process in the same way as the program, so that our parent sees no difference.
  func endProcess() -> Never {
    if case .killed(let signal) = self {
      csystem_take_default_action(signal)
      kill(getpid(), signal)
    }
    exit(status)
  }
}
