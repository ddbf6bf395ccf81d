import Foundation
import Sealing
import TestSupport
import Testing

@Suite struct GuardedBytesTests {
  @Test(arguments: [0, 1, 64, 65, 1000, 4096, 4097, 1 << 20])
  func `new guarded bytes are zeros`(count: Int) throws {
    let bytes = try GuardedBytes(count: count)
    #expect(bytes.count == count)
    #expect(bytes.testBytes == [UInt8](repeating: 0, count: count))
  }

  @Test(arguments: [0, 5, 64, 300, 5000])
  func `a copy holds the same bytes`(count: Int) throws {
    let original = [UInt8](countingFrom: 7, count: count)
    let copy = try unsafe original.withUnsafeBytes { try unsafe GuardedBytes(copying: $0) }
    #expect(copy.testBytes == original)
  }

  @Test func `an error thrown by the closure is passed on`() throws {
    struct Refusal: Error {}
    let bytes = try GuardedBytes(count: 4)
    #expect(throws: Refusal.self) { try unsafe bytes.withUnsafeBytes { _ in throw Refusal() } }
  }

  @Test(arguments: [32, 100_000])
  func `guarded memory is left out of core dumps`(count: Int) throws {
    let bytes = try GuardedBytes(count: count)
    let address = unsafe bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    let maps = try processFile("smaps")
    var isHere = false
    var flags: [Substring] = []
    for line in maps.split(separator: "\n") {
      let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
      if bounds.count == 2 { isHere = address >= bounds[0] && address < bounds[1] }
      if isHere, line.hasPrefix("VmFlags:") { flags = line.split(separator: " ") }
    }
    #expect(flags.contains("dd"))
  }

  @Test func `reading past the end of a large value ends the process`() async {
    await #expect(processExitsWith: .signal(SIGSEGV)) { try ChildProcess.readPastTheEnd() }
  }

  @Test func `guarded memory works if the system allows no locked memory`() async {
    await #expect(processExitsWith: .success) { try ChildProcess.useUnlockedMemory() }
  }
}

/// The code that the exit tests run in a child process.
private enum ChildProcess {
  static func readPastTheEnd() throws {
    // The test needs the signal, but not Swift's crash report.
    signal(SIGSEGV, SIG_DFL)
    let bytes = try GuardedBytes(count: 8192)
    let beyond = unsafe bytes.withUnsafeBytes { unsafe $0.baseAddress! + 8192 }
    print(unsafe beyond.load(as: UInt8.self))
  }

  static func useUnlockedMemory() throws {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    try #require(unsafe setrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &none) == 0)
    // Root may lock memory beyond the limit, so give up root.
    if geteuid() == 0 { try #require(setuid(65534) == 0) }
    for count in [32, 4096, 100_000] {
      let bytes = try GuardedBytes(count: count)
      unsafe bytes.withUnsafeMutableBytes { unsafe $0[count - 1] = 1 }
      try #require(bytes.testBytes.last == 1)
      let locked = try processFile("status").split(separator: "\n").first { $0.hasPrefix("VmLck:") }
      try #require(locked?.split { " \t".contains($0) } == ["VmLck:", "0", "kB"])
    }
  }
}

/// The text of a file in /proc/self.
private func processFile(_ name: String) throws -> String {
  // `String(contentsOfFile:)` would stop at the first short read of such a file.
  let file = try #require(FileHandle(forReadingAtPath: "/proc/self/\(name)"))
  return String(decoding: file.readDataToEndOfFile(), as: UTF8.self)
}
