import CVaultSQLite
import Foundation
import Sealing
import TestSupport
import Testing

@testable import GroupFile

@Suite struct GroupVectorTests {
  private let file = VectorFile<GroupVectors>("group")

  @Test func `the vectors of the group match their generator`() throws {
    #expect(try file.holds(GroupVectors.generate()))
  }

  @Test func `the base group answers as the vectors say`() throws {
    let vectors = try file.load()
    try #require(vectors.answers.count > 40)
    let folder = try VectorFolder(vectors)
    let view = try folder.open(Self.case(nil)).beginReading()
    for name in Set(vectors.answers.map(\.name)) {
      var answers: [GroupVectors.Answer] = []
      for item in try view.history(name) {
        answers.append(.init(item, item.isPresent ? try view.view.secret(of: item.row) : nil))
      }
      #expect(answers.reversed() == vectors.answers.filter { $0.name == name }, "\(name)")
    }
  }

  @Test func `each change of the base group ends as the vectors say`() throws {
    let vectors = try file.load()
    try #require(vectors.cases.contains { $0.refusal != nil })
    let base = try VectorFolder(vectors)
    for vector in vectors.cases {
      let folder = VectorFolder(copying: base)
      for change in vector.changes { try folder.apply(change) }
      let error = failure { try ask(vector, folder) }
      guard let refusal = vector.refusal else {
        #expect(error == nil, "\(vector.name)")
        continue
      }
      #expect(
        refusal.matches(error.flatMap(Refusal.init)), "\(refusal.reason) \(vector.name): \(String(describing: error))")
    }
  }

  @Test func `every reason to refuse a group has a vector`() throws {
    let reasons = Set(try file.load().cases.compactMap(\.refusal?.reason))
    // Rules 63 and 77 are about names and whole stores, so they have no vector here.
    #expect(Set(1...76).subtracting(reasons) == [63])
  }

  private static func `case`(_ witness: String?) -> GroupVectors.Case {
    GroupVectors.Case(name: "", ask: "open", witness: witness, changes: [])
  }

  private func ask(_ vector: GroupVectors.Case, _ folder: VectorFolder) throws {
    let file = try folder.open(vector)
    switch vector.ask {
    case "verify": _ = try file.verify()
    case "write": try file.beginWriting().rollback()
    case "open": _ = try file.beginReading()
    case "get":
      let view = try file.beginReading()
      guard let item = try view.stored(vector.item!), item.isPresent else { return }
      _ = try view.view.secret(of: item.row)
    case "history": _ = try file.beginReading().history(vector.item!)
    case "list":
      let view = try file.beginReading()
      let walk = try RowWalk(view)
      while let row = try walk.next() { _ = try view.view.attributes(of: row) }
    default: Issue.record("\(vector.ask) is nothing to ask")
    }
  }
}

extension WitnessRecord {
  fileprivate init(_ vector: GroupVectors.FloorVector, of ownerKey: PublicKey) {
    self.init(
      groupID: GroupID([UInt8](hex: vector.groupID))!, ownerKey: ownerKey, rosterRevision: vector.rosterRevision,
      generation: vector.generation, epoch: vector.epoch, link: Digest([UInt8](hex: vector.link))!)
  }
}

/// The base group of the vectors in a folder of its own.
struct VectorFolder {
  let folder = GroupFileTests.TemporaryFolder()
  let vectors: GroupVectors

  init(_ vectors: GroupVectors) throws {
    self.vectors = vectors
    try #require(RawFile.run(folder.group, vectors.base))
  }

  /// A copy of an unchanged base group.
  init(copying other: VectorFolder) {
    vectors = other.vectors
    folder.write(other.folder.bytes(of: "group.vault"), to: "group.vault")
  }

  func open(_ vector: GroupVectors.Case) throws -> AccessGroupFile {
    let reader = try #require(vectors.readers.first { $0.name == vector.reader ?? "owner" })
    let witness: WitnessReading =
      if let hex = vector.witness {
        (try? WitnessRecord(parsing: [UInt8](hex: hex))).map(WitnessReading.valid) ?? .invalid
      } else { .absent }
    let ownerKey = PublicKey([UInt8](hex: vectors.ownerKey))!
    return AccessGroupFile(
      folder: folder.path,
      context: GroupContext(
        groupName: vector.groupName ?? vectors.groupName, ownerKey: ownerKey,
        seed: try MemberSeed(Key(testing: [UInt8](hex: reader.memberSeed))), kind: Member.Kind(rawValue: reader.kind)!,
        floor: vector.floor.map { WitnessRecord($0, of: ownerKey) }),
      witness: MemoryWitness(witness), now: { VectorSeeds.time })
  }

  func apply(_ change: GroupVectors.Change) throws {
    if let sql = change.sql {
      // Only the connection that asked for it can write the schema.
      let writable = sql.contains("sqlite_schema") ? ["PRAGMA writable_schema=ON"] : []
      try #require(RawFile.run(folder.group, writable + [sql]), "\(sql.prefix(200))")
    } else if let offset = change.offset, let hex = change.hex {
      folder.patch("group.vault", at: offset, [UInt8](hex: hex))
    } else if let count = change.truncate {
      folder.write(Array(folder.bytes(of: "group.vault")[..<count]), to: "group.vault")
    } else if let kind = change.make, let path = change.path {
      if folder.exists(path) { folder.remove(path) }
      let target = folder.file(path)
      switch kind {
      case "file": folder.write([], to: path)
      case "folder": try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
      case "link": try FileManager.default.createSymbolicLink(atPath: target, withDestinationPath: "elsewhere")
      case "fifo": try #require(unsafe mkfifo(target, 0o600) == 0)
      default: #expect(kind == "nothing")
      }
    }
  }
}
