import Foundation
import Testing

@testable import GroupFile

/// Reads that take no snapshot while the file is unchanged since the last one.
@Suite struct ReadingLaterTests {
  private let group: GroupFixture
  private let file: AccessGroupFile

  init() throws {
    group = try GroupFixture()
    try group.set(["a": "1", "b": "2"])
    file = try group.open()
    // The first use of a connection checks the file, and the second one begins to compare.
    for _ in 0..<3 { #expect(try file.value("a") == "1") }
  }

  private func value(_ name: String, in transaction: Snapshot) throws -> String {
    try transaction.view.value(name).text
  }

  @Test func `a value that was proved before is read without a snapshot while nothing has changed`() throws {
    let transaction = try file.beginReading(.readingLater)
    #expect(try value("a", in: transaction) == "1")
    #expect(!transaction.view.connection.isInTransaction)
  }

  @Test func `a value that was not read before is read in a snapshot of the same state`() throws {
    let transaction = try file.beginReading(.readingLater)
    #expect(try value("b", in: transaction) == "2")
    #expect(transaction.view.connection.isInTransaction)
  }

  @Test func `every read after a commit of another connection shows it`() throws {
    for number in 2..<30 {
      try group.set(["a": "\(number)"])
      #expect(try value("a", in: file.beginReading(.readingLater)) == "\(number)")
      #expect(try value("a", in: file.beginReading(.readingLater)) == "\(number)")
    }
  }

  @Test func `a commit between the beginning and the first statement ends the read as moved`() throws {
    let transaction = try file.beginReading(.readingLater)
    try group.set(["c": "3"])
    #expect(try value("a", in: transaction) == "1")
    #expect(failure { try transaction.storedRow("b") } == .storage(.replaced))
    #expect(try value("b", in: file.beginReading()) == "2")
  }

  @Test func `a row that was altered after it was proved is refused by a writer`() throws {
    let row = try #require(try file.beginReading().storedRow("a"))
    let change = "UPDATE item SET nonce = zeroblob(24) WHERE token = x'\(row.token.hexadecimal)'"
    #expect(RawFile.run(group.folder + "/group.vault", [change], keepingLog: true))
    let transaction = try file.beginWriting()
    #expect(throws: VaultError.damaged(.row, "a row does not match the tree")) { try transaction.stored("a") }
  }
}

/// What a look at the folder alone must not miss.
@Suite struct SightingTests {
  private let group: GroupFixture
  private let file: AccessGroupFile

  init() throws {
    group = try GroupFixture()
    try group.set(["a": "1"])
    // A folder that has not changed for a while is looked at once; before that, all files are.
    usleep(1_150_000)
    file = try group.open()
    for _ in 0..<3 { #expect(try file.value("a") == "1") }
  }

  @Test func `a journal that is planted between two reads is found`() throws {
    #expect(FileManager.default.createFile(atPath: group.folder + "/group.vault-journal", contents: Data()))
    #expect(failure { try file.beginReading() } == ContainerPlace.journalFound)
    #expect(failure { try file.beginWriting() } == ContainerPlace.journalFound)
  }

  @Test func `a file that is removed between two reads is missing`() throws {
    try FileManager.default.removeItem(atPath: group.folder + "/group.vault")
    #expect(failure { try file.beginReading() } == .rolledBack(found: 0, known: 2, reason: .vanished))
  }

  @Test func `a file that is replaced between two reads is opened`() throws {
    let copy = try GroupFixture()
    let path = group.folder + "/group.vault"
    for ending in ["", "-wal", "-shm"] {
      try FileManager.default.removeItem(atPath: path + ending)
      try FileManager.default.moveItem(atPath: copy.folder + "/group.vault" + ending, toPath: path + ending)
    }
    #expect(failure { try file.beginReading() }?.isDamage == true)
  }

  @Test func `a replaced folder is checked again`() throws {
    let aside = group.folder + "-aside"
    defer { try? FileManager.default.removeItem(atPath: aside) }
    try FileManager.default.moveItem(atPath: group.folder, toPath: aside)
    try FileManager.default.createDirectory(
      atPath: group.folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    #expect(failure { try file.beginReading() } == .rolledBack(found: 0, known: 2, reason: .vanished))
  }
}
