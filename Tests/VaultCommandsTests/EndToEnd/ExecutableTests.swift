import Glibc
import Testing

/// What only a process of its own can show: its exit status, its limits and its signals.
@Suite struct ExecutableTests {
  @Test func `help goes to stdout and is no error`() {
    let result = Executable(["--help"], environment: [:]).wait()
    #expect(result.status == 0)
    #expect(result.output.contains("Exit statuses:"))
    #expect(result.errors.isEmpty)
  }

  @Test func `an argument that is not UTF-8 is refused, and not repeated`() {
    let script = "exec \(Executable.path) get \"$(printf '\\377s3cret')\""
    let result = Executable(["-c", script], program: "/bin/sh", environment: [:]).wait()
    #expect(result.status == 64)
    #expect(result.errors == "vault: error: an argument is not UTF-8\n")
  }
}
