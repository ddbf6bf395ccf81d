import Sealing
import TestSupport
import Testing

@testable import GroupFile

@Suite struct WrapTests {
  private let seed = MemberSeed(try! Key(testing: [UInt8](countingFrom: 3, count: 32)))
  private let groupID = GroupID([UInt8](countingFrom: 1, count: 32))!

  private func wrap() throws -> [UInt8] {
    try Wrap.seal(Key(testing: [UInt8](countingFrom: 5, count: 32)), for: seed, groupID: groupID, generation: 2)
  }

  private func refusal(
    _ wrap: [UInt8], for other: MemberSeed? = nil, groupID: GroupID? = nil, generation: UInt64 = 2
  ) -> VaultError? {
    do throws(VaultError) {
      _ = try Wrap.open(wrap, for: other ?? seed, groupID: groupID ?? self.groupID, generation: generation)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a wrap opens only for its member, group and generation`() throws {
    let wrap = try wrap()
    #expect(wrap.count == 1 + 24 + 32 + 16)
    let opened = try Wrap.open(wrap, for: seed, groupID: groupID, generation: 2)
    #expect(opened.testBytes == [UInt8](countingFrom: 5, count: 32))
    let refused = VaultError.damaged(.wrap, "seal")
    #expect(refusal(wrap, for: MemberSeed(try Key.random())) == refused)
    #expect(refusal(wrap, groupID: .zero) == refused)
    #expect(refusal(wrap, generation: 3) == refused)
  }

  @Test func `a wrap with a flipped bit or another length is refused`() throws {
    let wrap = try wrap()
    for bit in 0..<wrap.count * 8 {
      var changed = wrap
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(refusal(changed) == .damaged(.wrap, bit < 8 ? "layout" : "seal"))
    }
    for other in [[], Array(wrap.dropLast()), wrap + [0]] {
      #expect(refusal(other) == .damaged(.wrap, "layout"))
    }
  }

  @Test func `a wrap's digest also covers its slot`() throws {
    let wrap = try wrap()
    let slot = [UInt8](countingFrom: 4, count: 16)
    #expect(Wrap.digest(wrap, slotID: slot) == Hash.digest(Label("vault1.wrap.hash"), slot + wrap))
  }
}
