import GroupFile
import Sealing
import TestSupport
import Testing

@testable import Vault

/// Threads that change one group of this machine at the same time. `SharedCommitTests` has those of a published group.
struct SharedWritingTests {
  private let store: StoreFixture
  private let group: AccessGroup

  init() throws {
    store = try StoreFixture()
    group = try store.open().group("default")
  }

  private func epoch() throws -> UInt64 { try group.file.beginReading().view.state.manifest.epoch }

  /// Runs `changes` on a thread each while the change `first` is being made.
  private func during(
    _ first: (_ wait: () -> Void) throws -> Void, _ changes: [() throws -> Void]
  ) -> [any Error] {
    let hasBegun = Locked(false)
    return onThreads(changes.count + 1) { number in
      guard number == 0 else {
        #expect(eventually { hasBegun.withLock { $0 } })
        return try changes[number - 1]()
      }
      try first {
        // Called again if the change is.
        let isFirst = hasBegun.withLock { hasBegun in
          defer { hasBegun = true }
          return !hasBegun
        }
        if isFirst { #expect(eventually { group.sharing.testOnlyWaitingCount >= changes.count }) }
      }
    }
  }

  /// Runs `changes` on a thread each while "item 0" is being set, and counts in `calls` how often that is tried.
  private func duringSet(_ changes: [() throws -> Void], calls: borrowing Locked<Int> = Locked(0)) -> [any Error] {
    during(
      { wait in
        try group.writing { (edit) throws(VaultError) in
          calls.withLock { $0 += 1 }
          wait()
          try edit.set("item 0", to: "first")
        }
      }, changes)
  }

  private struct Stopped: Error {}

  @Test func `sets that wait for another one share its commit`() throws {
    let before = try epoch()
    let errors = duringSet(
      (1...5).map { number in { try group.set("item \(number)", to: "value \(number)") } })
    #expect(errors.isEmpty)
    #expect(try epoch() == before + 1)
    for number in 1...5 { #expect(try store.value("item \(number)") == "value \(number)") }
    #expect(try store.value("item 0") == "first")
  }

  @Test func `a transaction of the caller's is made once, and alone`() throws {
    let before = try epoch()
    let calls = Locked(0)
    let errors = during(
      { wait in
        try group.transaction { edit in
          calls.withLock { $0 += 1 }
          edit.set("item 0", to: "value")
          wait()
        }
      },
      [
        { try group.set("item 1", to: "value") },
        {
          try group.transaction { edit in
            calls.withLock { $0 += 1 }
            edit.set("item 2", to: "half")
            throw Stopped()
          }
        },
        { try group.set("item 3", to: "value") },
      ])
    #expect(errors.count == 1 && errors[0] is Stopped)
    #expect(calls.withLock { $0 } == 2)
    #expect(try group.items().map(\.name.description) == ["item 0", "item 1", "item 3"])
    #expect(try (2...3).contains(epoch() - before))
  }

  @Test func `a change that fails half done undoes itself alone`() throws {
    let calls = Locked(0)
    let errors = duringSet(
      [
        { try group.set("item 1", to: "value") },
        {
          try group.writing { (edit) throws(VaultError) in
            try edit.set("item 2", to: "half")
            throw VaultError.unexpected("half done")
          }
        },
        { try group.set("item 3", to: "value") },
      ], calls: calls)
    #expect(errors.count == 1 && errors[0] as? VaultError == .unexpected("half done"))
    #expect(try group.items().map(\.name.description) == ["item 0", "item 1", "item 3"])
    #expect(try group.history("item 1").count == 1)
    // The first one had been joined, so it was made again.
    #expect(calls.withLock { $0 } == 2)
  }

  @Test func `a change inside one that is made again alone is refused at once`() throws {
    let refused = VaultError.invalid("a change of a group inside a transaction of the same group")
    let inner = Locked<[VaultError]>([])
    let errors = duringSet([
      {
        try group.writing { (edit) throws(VaultError) in
          try edit.set("item 1", to: "value")
          do throws(VaultError) { try group.set("item 2", to: "value") } catch { inner.withLock { $0.append(error) } }
          // In the shared transaction this is a change that fails half done, so all are made again.
          if inner.withLock({ $0.count }) == 1 { throw .notFound(.item) }
        }
      }
    ])
    #expect(errors.isEmpty)
    #expect(inner.withLock { $0 } == [refused, refused])
    #expect(try store.value("item 1") == "value")
    #expect(throws: VaultError.notFound(.item)) { try store.value("item 2") }
  }

  @Test func `an error about a row that was held reaches only the thread that set it`() throws {
    // More rows than are written at once, so that those after them are sealed later.
    let changes = (1...30).map { number in
      {
        var details = Details()
        if number.isMultiple(of: 7) {
          details.attributes = Dictionary(uniqueKeysWithValues: (0...64).map { ("key \($0)", "value") })
        }
        do {
          try group.set("item \(number)", to: "value", details)
        } catch {
          throw number.isMultiple(of: 7) ? error : VaultError.unexpected("an error of another thread's")
        }
      }
    }
    let errors = duringSet(changes)
    #expect(errors.count == 4 && errors.allSatisfy { $0 as? VaultError == .overLimit("64 attributes") }, "\(errors)")
    #expect(try group.items().count == 27)
  }

  @Test func `a removal of what never existed is refused, and the others share their commit`() throws {
    let before = try epoch()
    let errors = duringSet(
      [
        { try group.set("item 1", to: "value") }, { try group.destroy("nothing") }, { try group.remove("nothing") },
        { try group.set("item 2", to: "value") },
      ])
    #expect(errors.count == 2 && errors.allSatisfy { $0 as? VaultError == .notFound(.item) })
    #expect(try epoch() == before + 1)
  }

  /// Makes two changes, of which the first one's first commit throws `error`.
  private func failingCommit(
    _ error: VaultError, _ second: ((WriteTransaction) throws -> Void)? = nil
  ) -> [any Error] {
    let hasFailed = Locked(false)
    func change(
      _ body: (WriteTransaction) throws -> Void, _ commit: (WriteTransaction) throws -> Void
    ) throws {
      try group.sharing.run(
        isRepeatable: true, beginning: { try group.file.beginWriting() }, committing: commit, body)
    }
    return during(
      { wait in
        try change {
          wait()
          try $0.set("item 0", to: "value")
        } _: { transaction in
          let fails = hasFailed.withLock { hasFailed in
            defer { hasFailed = true }
            return !hasFailed
          }
          guard !fails else { throw error }
          try transaction.commit()
        }
      }, [{ try change(second ?? { try $0.set("item 1", to: "value") }) { try $0.commit() } }])
  }

  @Test func `if a shared commit changes nothing, each change is made again in a transaction of its own`() throws {
    let before = try epoch()
    #expect(failingCommit(.storage(.full)).isEmpty)
    #expect(try group.items().map(\.name.description) == ["item 0", "item 1"])
    #expect(try epoch() == before + 2)
  }

  @Test func `a conflict with a change that was not made after all is no conflict`() throws {
    let errors = failingCommit(.storage(.unconfirmed)) {
      guard try $0.stored("item 0") == nil else { throw VaultError.conflict(expected: 0, present: 1) }
    }
    #expect(errors.map { $0 as? VaultError } == [.storage(.unconfirmed)])
  }

  @Test func `if it is open what a shared commit changed, nothing is made again`() throws {
    let errors = failingCommit(.storage(.unconfirmed))
    #expect(errors.map { $0 as? VaultError } == [.storage(.unconfirmed), .storage(.unconfirmed)])
    #expect(try group.items().isEmpty)
  }

  @Test func `who waits too long for other threads' changes is told that the group is busy`() throws {
    let sharing = SharedWriting(waiting: 20)
    let isOver = Locked(false)
    func change(_ body: () -> Void) throws {
      try sharing.run(
        isRepeatable: true, beginning: { try group.file.beginWriting() }, committing: { $0.rollback() }, { _ in body() }
      )
    }
    let errors = onThreads(2) { number in
      do {
        try change {
          // Whoever is first waits for the other one's error.
          #expect(eventually { isOver.withLock { $0 } })
        }
      } catch {
        isOver.withLock { $0 = true }
        throw error
      }
    }
    #expect(errors.map { $0 as? VaultError } == [.busy(group: nil)])
  }

  @Test func `a child process that is forked during another thread's change is told at once`() async {
    await #expect(processExitsWith: .success) {
      let store = try StoreFixture()
      let group = try store.open().group("default")
      let hasBegun = Locked(false)
      let isOver = Locked(false)
      let errors = onThreads(2) { number in
        guard number == 1 else {
          return try group.writing { (edit) throws(VaultError) in
            hasBegun.withLock { $0 = true }
            precondition(eventually { isOver.withLock { $0 } })
            try edit.set("item", to: "of the parent")
          }
        }
        precondition(eventually { hasBegun.withLock { $0 } })
        let status = HiddenCalls.status {
          do throws(VaultError) { try group.set("item", to: "of the child") } catch {
            return error == .storage(.forked) ? 0 : 1
          }
          return 1
        }
        isOver.withLock { $0 = true }
        precondition(status == 0)
      }
      precondition(errors.isEmpty)
      let value = try store.value("item")
      precondition(value == "of the parent")
    }
  }
}

extension WriteTransaction {
  fileprivate func set(_ name: String, to value: String) throws(VaultError) {
    let value = NewValue(secret: try OpenedSecret(value), kind: .string)
    _ = try set(Item.Name(name), to: value, Details(), ifVersion: nil)
  }
}
