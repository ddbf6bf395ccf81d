import Foundation
import Sealing
import Synchronization
import TestSupport
import Testing

@testable import GroupFile

/// Many threads of one process. Each is a real thread, because the calls block.
@Suite(.serialized) struct ConcurrencyTests {
  @Test(arguments: [true, false])
  func `sixteen threads set, get, list, verify and read histories without losses or failures`(_ isShared: Bool)
    throws
  {
    let group = try GroupFixture(keep: 1_000)
    try group.set(["counter": "0"])
    let rounds = RunLength.isFull ? 100 : 6
    // One object for all threads, as in a service, or one for each, as in separate processes but with shared locks.
    let shared = try group.open()
    let files = try (0..<16).map { _ in isShared ? shared : try group.open() }
    let failures = onThreads(16) { thread in
      let file = files[thread]
      for round in 0..<rounds {
        try persistently(isBusy) { try file.increment("counter") }
        let transaction = try persistently(isBusy) { try file.beginWriting() }
        try transaction.put("thread/\(thread)", "\(round)")
        try transaction.commit()
        let read = try file.value("thread/\(thread)")
        guard read == "\(round)" else { throw Lost(text: "\(thread) read \(read) in round \(round)") }
        switch thread % 4 {
        case 0: _ = try file.beginReading().history("counter")
        case 1: try file.listAll()
        case 2 where round % 4 == 0: _ = try file.verify()
        default: _ = try file.value("counter")
        }
      }
    }
    #expect(failures.isEmpty, "\(failures)")
    #expect(try group.value("counter") == "\(16 * rounds)")
    let report = try group.open().verify()
    #expect(report.items == 17)
    #expect(report.epoch == UInt64(2 + 2 * 16 * rounds))
    #expect(group.witness.record?.epoch == report.epoch)
    #expect(try group.open().beginReading().present("counter").row.version == UInt64(1 + 16 * rounds))
  }

  @Test func `a reader sees one state from beginning to end while a writer is busy`() throws {
    let group = try GroupFixture()
    try group.set(["left": "0", "right": "0"])
    let isDone = Atomic(false)
    let failures = onThreads(4) { thread in
      let file = try group.open()
      guard thread == 0 else {
        while !isDone.load(ordering: .acquiring) {
          let view = try file.beginReading()
          let left = try view.view.secret(of: view.present("left").row).text
          let right = try view.view.secret(of: view.present("right").row).text
          guard left == right else { throw Lost(text: "left \(left), right \(right)") }
        }
        return
      }
      defer { isDone.store(true, ordering: .releasing) }
      for number in 1...100 {
        let transaction = try file.beginWriting()
        try transaction.put("left", "\(number)")
        try transaction.put("right", "\(number)")
        try transaction.commit()
      }
    }
    #expect(failures.isEmpty, "\(failures)")
  }

  @Test func `a walk sees one state although neighbouring items change meanwhile`() throws {
    let group = try GroupFixture()
    try group.set(Dictionary(uniqueKeysWithValues: (0..<200).map { ("item/\($0)", "old") }))
    let transaction = try group.open().beginReading()
    let walk = try RowWalk(transaction)
    var count = 0
    while let row = try walk.next() {
      if count % 20 == 0 { try group.set(["item/\(count)": "new", "more/\(count)": "new"]) }
      #expect(row.version == 1)
      count += 1
    }
    #expect(count == 200)
    #expect(try group.open().verify().items == 210)
  }

  @Test func `items can be destroyed while they are listed`() throws {
    let group = try GroupFixture()
    try group.set(["a": "1", "b": "2", "c": "3"])
    let transaction = try group.open().beginReading()
    let walk = try RowWalk(transaction)
    while let row = try walk.next() {
      let destroying = try group.open().beginWriting()
      try destroying.destroy(transaction.view.attributes(of: row).name)
      try destroying.commit()
    }
    #expect(try group.open().verify().tombstones == 3)
  }

  @Test func `groups are compacted and values destroyed while others read`() throws {
    let group = try GroupFixture()
    try group.set(Dictionary(uniqueKeysWithValues: (0..<60).map { ("item/\($0)", "value of item/\($0)") }))
    let isDone = Atomic(false)
    let failures = onThreads(4) { thread in
      let file = try group.open()
      guard thread == 0 else {
        while !isDone.load(ordering: .acquiring) {
          for number in 30..<60 where try file.value("item/\(number)") != "value of item/\(number)" {
            throw Lost(text: "item/\(number)")
          }
        }
        return
      }
      defer { isDone.store(true, ordering: .releasing) }
      for number in 0..<5 {
        let transaction = try file.beginWriting()
        try transaction.destroy("item/\(number)")
        try transaction.commit()
        guard try file.compact() == 1 else { throw Lost(text: "tombstone of item/\(number)") }
      }
    }
    #expect(failures.isEmpty, "\(failures)")
    #expect(try group.open().verify().items == 55)
  }

  @Test func `values that are set and read while the group gets new keys are all kept`() throws {
    let group = try GroupFixture()
    try group.set(Dictionary(uniqueKeysWithValues: (0..<60).map { ("item/\($0)", "value of item/\($0)") }))
    let isDone = Atomic(false)
    let failures = onThreads(4) { thread in
      let file = try group.open()
      switch thread {
      case 0:
        defer { isDone.store(true, ordering: .releasing) }
        for _ in 0..<5 {
          _ = try persistently(isBusy) { try file.changeRoster(RosterChange(rotates: true), by: group.authority()) }
        }
      case 1:
        while !isDone.load(ordering: .acquiring) {
          for number in 0..<60 where try file.value("item/\(number)") != "value of item/\(number)" {
            throw Lost(text: "item/\(number)")
          }
        }
      default:
        for number in 0..<20 { try persistently(isBusy) { try file.set(["writer/\(thread)/\(number)": "\(number)"]) } }
      }
    }
    #expect(failures.isEmpty, "\(failures)")
    #expect(try group.open().verify().items == 100)
    #expect(try group.open().beginReading().view.state.roster.generation == 6)
  }

  private func isBusy(_ error: any Error) -> Bool { if case VaultError.busy = error { true } else { false } }

  struct Lost: Error {
    let text: String
  }
}

extension AccessGroupFile {
  /// Adds one to a number in one transaction.
  fileprivate func increment(_ name: String) throws {
    let transaction = try beginWriting()
    let number = Int(try transaction.view.secret(of: transaction.present(name).row).text) ?? .min
    try transaction.put(name, "\(number + 1)")
    try transaction.commit()
  }

  fileprivate func listAll() throws {
    let transaction = try beginReading()
    let walk = try RowWalk(transaction)
    while let row = try walk.next() { _ = try transaction.view.attributes(of: row) }
  }
}
