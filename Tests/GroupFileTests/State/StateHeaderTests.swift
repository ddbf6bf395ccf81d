import Sealing
import TestSupport
import Testing

@testable import GroupFile

@Suite struct StateHeaderTests {
  private func header(_ change: (inout Roster) -> Void = { _ in }) -> [UInt8] {
    var roster = RosterTests.roster()
    change(&roster)
    return StateHeader(of: roster).serialized()
  }

  @Test func `the header has the documented layout`() {
    let device = header {
      $0.flags = .thisDeviceOnly
      $0.deviceKeyID = [UInt8](countingFrom: 7, count: 16)
    }
    #expect(
      device.hex == ([UInt8](countingFrom: 1, count: 32)).hex + "0000000000000002" + "00000002"
        + ([UInt8](countingFrom: 7, count: 16)).hex)
  }

  @Test func `a header reads back as it was written, or is refused`() throws {
    try Canonical.check(header()) { try StateHeader(parsing: $0).serialized() }
  }

  @Test func `a header has a device's id exactly if its flag is set`() {
    #expect(throws: VaultError.damaged(.container, "the state's header")) {
      try StateHeader(parsing: header { $0.flags = .thisDeviceOnly })
    }
    #expect(throws: VaultError.damaged(.container, "the state's header")) {
      try StateHeader(parsing: header { $0.deviceKeyID[0] = 1 })
    }
  }

  @Test func `an unknown flag and a generation of 2^53 are refused`() {
    for change: (inout Roster) -> Void in [{ $0.flags = Roster.Flags(rawValue: 8) }, { $0.generation = 1 << 53 }] {
      #expect(throws: VaultError.damaged(.container, "the state's header")) {
        try StateHeader(parsing: header(change))
      }
    }
  }
}
