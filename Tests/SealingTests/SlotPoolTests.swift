import TestSupport
import Testing

@testable import Sealing

@Suite struct SlotPoolTests {
  @Test func `a returned slot is wiped and reused as zeros`() throws {
    let pool = SlotPool(slotSize: 64, slotsPerSlab: 4)
    var first: GuardedBytes? = try GuardedBytes(count: 48, pool: pool)
    let address = unsafe first!.withUnsafeMutableBytes { bytes in
      unsafe bytes.copyBytes(from: [UInt8](repeating: 0xA5, count: 48))
      return bytes.baseAddress!
    }
    #expect(unsafe UnsafeRawBufferPointer(start: address, count: 48).allSatisfy { $0 == 0xA5 })
    first = nil
    // A slab is never unmapped, so reading a slot in the pool is safe.
    #expect(unsafe UnsafeRawBufferPointer(start: address, count: 64).allSatisfy { $0 == 0 })
    let second = try GuardedBytes(count: 64, pool: pool)
    #expect(unsafe second.withUnsafeBytes { unsafe $0.baseAddress == UnsafeRawPointer(address) })
    #expect(second.testBytes == [UInt8](repeating: 0, count: 64))
  }

  @Test func `slots come from one slab until it is used up`() throws {
    let pool = SlotPool(slotSize: 256, slotsPerSlab: 4)
    var held = try (0..<4).map { _ in try GuardedBytes(count: 256, pool: pool) }
    #expect(pool.slabCount == 1)
    held.append(try GuardedBytes(count: 256, pool: pool))
    #expect(pool.slabCount == 2)
    held = []
    held = try (0..<8).map { _ in try GuardedBytes(count: 256, pool: pool) }
    #expect(pool.slabCount == 2)
    let addresses = Set(held.map { unsafe $0.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } })
    #expect(addresses.count == 8)
    #expect(addresses.allSatisfy { $0.isMultiple(of: 64) })
  }

  @Test(arguments: [(0, 64), (64, 64), (65, 256), (256, 256), (257, 1024), (1025, 4096), (4096, 4096)])
  func `a count takes the smallest slot that holds it`(count: Int, slotSize: Int) {
    #expect(SlotPool.fitting(count)?.slotSize == slotSize)
  }

  @Test func `more than 4,096 bytes get an allocation of their own`() {
    #expect(SlotPool.fitting(4097) == nil)
  }

  @Test func `two threads never hold the same slot`() {
    let pool = SlotPool(slotSize: 64, slotsPerSlab: 8)
    onThreads(8) { thread in
      let pattern = [UInt8](repeating: UInt8(thread + 1), count: 64)
      for _ in 0..<500 {
        let held = (0..<5).map { _ in try! GuardedBytes(count: 64, pool: pool) }
        for bytes in held {
          #expect(bytes.testBytes.allSatisfy { $0 == 0 })
          unsafe bytes.withUnsafeMutableBytes { unsafe $0.copyBytes(from: pattern) }
        }
        for bytes in held { #expect(bytes.testBytes == pattern) }
      }
    }
    #expect(pool.slabCount <= 5)
  }
}
