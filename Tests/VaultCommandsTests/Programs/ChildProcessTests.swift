import CVaultProcess
import Glibc
import Testing
import Vault

@testable import VaultCommands

@Suite struct ChildProcessTests {
  private let variables: [[UInt8]: [UInt8]] = [
    Array("PATH".utf8): Array("/usr/bin:/bin".utf8), Array("A".utf8): Array("b c".utf8),
  ]

  private func output(_ script: String, input: [UInt8] = [], limit: Int = 1_000_000) throws -> (ProgramEnd, String) {
    let descriptor = Pipe.holding(input)
    defer { close(descriptor) }
    let (end, bytes) = try ChildProcess.output(
      of: "sh", ["sh", "-c", script], variables, input: descriptor, limit: limit)
    return (end, unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) })
  }

  @Test func `raising the limit of open files never lowers it`() {
    // Where the system permits 16,384 or fewer, this cannot fail.
    var limit = rlimit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    var former = limit
    defer { unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &former) }
    limit.rlim_cur = limit.rlim_max
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    cprocess_raise_descriptor_limit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    #expect(limit.rlim_cur == limit.rlim_max)
  }

  @Test func `arguments, environment, input and output reach the program`() throws {
    #expect(try output("cat; printf %s \"$A\"", input: Array("in ".utf8)) == (.exited(0), "in b c"))
    #expect(try output("head -c 300000 /dev/zero | tr '\\0' x").1.utf8.count == 300_000)
    #expect(try output("exec env").1.split(separator: "\n").count <= 5)
  }

  @Test func `an exit status and a signal are distinguished`() throws {
    #expect(try output("exit 7").0 == .exited(7))
    #expect(try output("kill -TERM $$").0 == .killed(signal: SIGTERM))
    #expect(ProgramEnd.killed(signal: SIGTERM).status == 143)
  }

  @Test func `a program that writes without end is stopped`() {
    #expect(throws: Failure(.overLimit, "the program wrote more than 1000 bytes")) {
      try output("exec cat /dev/zero", limit: 1_000)
    }
  }

  @Test func `a program that cannot be started is not reported as one that failed`() {
    for (program, status) in [("no-such-program", ExitStatus.commandNotFound), ("/", .notExecutable)] {
      #expect(throws: Failure.self) { try ChildProcess.output(of: program, [program], input: 0, limit: 1) }
      do {
        _ = try ChildProcess.output(of: program, [program], input: 0, limit: 1)
      } catch {
        #expect(error.status == status)
      }
    }
  }

  @Test func `a program inherits no descriptor of ours, and no ignored or blocked signal`() throws {
    let folder = TemporaryFolder()
    let own = unsafe open(folder.write("open", []), O_RDONLY | O_CLOEXEC)
    defer { close(own) }
    let (_, text) = try output("ls -l /proc/self/fd; grep -E '^Sig(Blk|Ign)' /proc/self/status")
    #expect(text.contains("/proc/") && !text.contains(folder.path))
    for line in text.split(separator: "\n") where line.hasPrefix("Sig") {
      let mask = UInt64(line.suffix(16), radix: 16) ?? .max
      #expect(mask & (1 << UInt64(SIGPIPE - 1) | 1 << UInt64(SIGXFSZ - 1)) == 0, "\(line)")
    }
  }
}
