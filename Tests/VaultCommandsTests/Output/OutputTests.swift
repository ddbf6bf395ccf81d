import Glibc
import Testing
import Vault

@testable import VaultCommands

@Suite struct OutputTests {
  @Test func `output larger than the buffer arrives complete`() throws {
    let descriptor = Pipe.nameless()
    let output = try Output(descriptor: descriptor)
    let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    try unsafe bytes.span.withUnsafeBytes { bytes throws(Failure) in try unsafe output.write(bytes) }
    for byte in bytes { try output.write(byte) }
    try output.flush()
    #expect(Pipe.contents(of: descriptor) == bytes + bytes)
  }

  @Test func `a closed reader is not a failure`() throws {
    signal(SIGPIPE, SIG_IGN)
    let (reading, writing) = Pipe.pair()
    close(reading)
    defer { close(writing) }
    let output = try Output(descriptor: writing)
    try output.write("x")
    #expect(throws: Failure.readerGone) { try output.flush() }
  }

  @Test func `a full disk is a failure`() throws {
    let descriptor = unsafe open("/dev/full", O_WRONLY)
    defer { close(descriptor) }
    let output = try Output(descriptor: descriptor)
    try output.write("x")
    let expected = Failure(.storage, "the output cannot be written: the disk is full")
    #expect(throws: expected) { try output.flush() }
  }

  @Test func `output to a non-blocking descriptor waits`() throws {
    let (reading, writing) = Pipe.pair()
    _ = fcntl(writing, F_SETFL, O_NONBLOCK)
    let reader = PipeReader(reading)
    let bytes = [UInt8](repeating: 7, count: 1_000_000)
    try unsafe bytes.span.withUnsafeBytes { bytes throws(Failure) in try unsafe Descriptor.write(bytes, to: writing) }
    close(writing)
    #expect(reader.wait() == 1_000_000)
  }
}

/// Counts, in another thread, the bytes that come out of a pipe.
private final class PipeReader: @unchecked Sendable {
  private var thread = pthread_t()
  private let descriptor: Int32
  private var count = 0

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    unsafe pthread_create(
      &thread, nil,
      { context in
        let reader = unsafe Unmanaged<PipeReader>.fromOpaque(context!).takeRetainedValue()
        reader.count = Pipe.readAll(reader.descriptor).count
        return nil
      }, Unmanaged.passRetained(self).toOpaque())
  }

  func wait() -> Int {
    pthread_join(thread, nil)
    return count
  }
}
