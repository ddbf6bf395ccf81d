import Foundation
import TestSupport
import Testing

@testable import GroupFile

/// Someone who can write the storage flips one bit. Every answer is then either the same as before or a refusal.
@Suite struct BitFlipTests {
  @Test func `a flipped bit of the file changes no answer`() throws {
    try flip("group.vault", in: SmallGroup(logged: false), sample: 1_500)
  }

  @Test func `a flipped bit of the log changes no answer`() throws {
    try flip("group.vault-wal", in: SmallGroup(logged: true), sample: 500)
  }

  private func flip(_ name: String, in group: SmallGroup, sample: Int) throws {
    let place = try ContainerPlace(folder: group.fixture.folder)
    #expect(try group.lie() == nil)
    #expect(group.before.refused.isEmpty)
    let file = try OpenFile(group.fixture.folder + "/" + name)
    var refused = 0
    for bit in RunLength.positions(in: file.count * 8, sample: sample) {
      ConnectionPool.closeIdle(at: place)
      let byte = file[bit / 8]
      file[bit / 8] = byte ^ (1 << UInt8(bit % 8))
      defer { file[bit / 8] = byte }
      let answers = try group.answers()
      if !answers.refused.isEmpty { refused += 1 }
      if let lie = answers.lie(against: group.before) { Issue.record("bit \(bit) of \(name): \(lie)") }
      ConnectionPool.closeIdle(at: place)
    }
    #expect(refused > 0)
    #expect(try group.lie() == nil, "the last bit was put back")
  }
}
