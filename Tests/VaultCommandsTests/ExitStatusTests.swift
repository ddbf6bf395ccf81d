import Testing
import Vault

@testable import VaultCommands

@Suite struct ExitStatusTests {
  @Test func `the numbers never change`() {
    let table: [(Int32, String)] = [
      (0, "success"), (1, "unexpected"), (10, "not-found"), (11, "locked"), (12, "denied"), (13, "damaged"),
      (14, "rolled-back"), (15, "busy"), (16, "wrong-key"), (17, "newer-format"), (18, "conflict"),
      (19, "class-refused"), (20, "over-limit"), (21, "no-store"), (22, "exists"), (23, "storage"), (24, "expiring"),
      (64, "usage"),
      (126, "not-executable"), (127, "command-not-found"), (130, "interrupted"),
    ]
    #expect(ExitStatus.allCases.map(\.rawValue) == table.map(\.0))
    #expect(ExitStatus.allCases.map(\.name) == table.map(\.1))
  }

  @Test func `the help lists every status`() {
    let help = Transcript(["--help"]).output
    for status in ExitStatus.allCases { #expect(help.contains(" \(status.rawValue)  \(status.meaning)\n")) }
  }
}
