import Glibc
import Testing
import Vault

@testable import VaultCommands

@Suite struct OutputFileTests {
  private let folder = TemporaryFolder()

  private func nowhere(_ warning: String) { Issue.record("\(warning)") }

  private func write(_ text: String, to name: String) throws {
    try OutputFile.write(folder.file(name), warning: nowhere) { output in try output.write(text) }
  }

  @Test func `a new output file is accessible to its owner alone`() throws {
    try write("s3cret", to: "out")
    #expect(folder.read("out") == Array("s3cret".utf8))
    #expect(folder.mode("out") == 0o600)
    #expect(folder.names() == ["out"])
  }

  @Test func `an existing file is replaced and keeps its mode`() throws {
    _ = folder.write("out", Array("before".utf8), mode: 0o644)
    try write("after", to: "out")
    #expect(folder.read("out") == Array("after".utf8))
    #expect(folder.mode("out") == 0o600)
  }

  @Test func `a symbolic link is not followed`() throws {
    _ = folder.write("victim", Array("before".utf8))
    _ = unsafe symlink(folder.file("victim"), folder.file("out"))
    let failure = #expect(throws: Failure.self) { try write("after", to: "out") }
    #expect(failure?.status == .denied)
    #expect(folder.read("victim") == Array("before".utf8))
  }

  @Test func `a folder or a device cannot be an output file`() {
    for path in [folder.path, "/dev/null"] {
      let failure = #expect(throws: Failure.self) { try OutputFile.write(path, warning: nowhere) { _ in } }
      #expect(failure?.message == "--output does not name a regular file")
    }
  }

  @Test func `the error for a missing folder does not name its path`() {
    let failure = #expect(throws: Failure.self) { try write("x", to: "absent/out") }
    #expect(failure == Failure(.usage, "the folder of --output does not exist"))
  }

  @Test func `a failed write leaves nothing behind`() {
    _ = folder.write("out", Array("before".utf8))
    #expect(throws: Failure.interrupted) {
      try OutputFile.write(folder.file("out"), warning: nowhere) { output in
        try output.write("half")
        throw Failure.interrupted
      }
    }
    #expect(folder.read("out") == Array("before".utf8))
    #expect(folder.names() == ["out"])
  }
}
