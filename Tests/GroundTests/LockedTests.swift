import Ground
import TestSupport
import Testing

@Suite struct LockedTests {
  @Test func `threads take turns`() {
    let count = Locked(0)
    onThreads(8) { _ in
      for _ in 0..<2000 { count.withLock { $0 += 1 } }
    }
    #expect(count.withLock { $0 } == 16_000)
  }

  @Test func `the lock is free again after an error`() {
    struct Refusal: Error {}
    let value = Locked([1])
    #expect(throws: Refusal.self) { try value.withLock { (_) throws(Refusal) in throw Refusal() } }
    #expect(value.withLock { $0 } == [1])
  }
}
