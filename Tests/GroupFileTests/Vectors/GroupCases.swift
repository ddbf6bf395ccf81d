import Sealing
import TestSupport

@testable import GroupFile

/// Changes of the base group that a reader must refuse, each with one reason.
struct GroupCases {
  typealias Case = GroupVectors.Case
  typealias Change = GroupVectors.Change

  let base: GroupDraft
  let signed: GroupDraft.Signed
  private let baseRows: [SQLRow]

  init() throws {
    base = try GroupDraft.base()
    signed = try base.signed()
    baseRows = try base.rows()
  }

  func all() throws -> [Case] {
    container() + (try wrapCases()) + (try rosterCases()) + (try manifestCases()) + (try witnessCases())
      + floorCases() + (try pathCases()) + (try rowCases()) + (try proofCases())
  }

  // MARK: Making cases

  /// A case made by statements or patches.
  func plain(
    _ name: String, _ refusal: Refusal?, ask: String = "open", item: String? = nil, reader: String? = nil,
    witness: String? = nil, floor: GroupVectors.FloorVector? = nil, _ changes: Change...
  ) -> Case {
    Case(
      name: name, ask: ask, item: item, reader: reader, groupName: nil, witness: witness, floor: floor,
      changes: changes, refusal: refusal)
  }

  /// A case made by signing the group again with one error.
  func forged(
    _ name: String, _ refusal: Refusal?, ask: String = "open", item: String? = nil, reader: String? = nil,
    witness: String? = nil, _ change: (inout GroupDraft) throws -> Void
  ) throws -> Case {
    var draft = base
    try change(&draft)
    var changes = SQLRow.difference(from: baseRows, to: try draft.rows()).map(Change.sql)
    if draft.userVersion != base.userVersion { changes.append(.sql("PRAGMA user_version=\(draft.userVersion)")) }
    return Case(
      name: name, ask: ask, item: item, reader: reader, groupName: nil, witness: witness, changes: changes,
      refusal: refusal)
  }

  func token(_ name: String) -> String { "x'\(base.keys.token(of: name).bytes.hex)'" }

  // MARK: Container

  func container() -> [Case] {
    let container = { (reason: Int) in Refusal.damaged(reason, "container") }
    return [
      plain("as it was made", nil, ask: "verify"),
      plain("as it was made, for a member who may only read", nil, ask: "verify", reader: "reader"),
      plain("the group's file is a folder", container(2), .make("folder", "group.vault")),
      plain("the group's file is a link", container(2), .make("link", "group.vault")),
      plain("the group's file is a FIFO", container(2), .make("fifo", "group.vault")),
      plain("a journal lies beside the file", container(3), .make("file", "group.vault-journal")),
      plain("a link lies where the journal would", container(3), .make("link", "group.vault-journal")),
      plain("the log is a folder", container(4), .make("folder", "group.vault-wal")),
      plain("the index is a link", container(4), .make("link", "group.vault-shm")),
      plain("the file is empty", container(5), Change(truncate: 0)),
      plain("the file ends within the header", container(5), Change(truncate: 99)),
      plain("another first byte", container(5), .patch(0, "73")),
      plain("another application id", container(5), .patch(68, "564c5432")),
      plain("a higher read version in the clear than was signed", container(6), .patch(60, "00020002")),
      plain("a higher write version in the clear than was signed", container(6), .patch(60, "00010002")),
      plain(
        "a higher write version in the clear than was signed, for a writer", container(6), ask: "write",
        .patch(60, "00010002")),
      plain("no version in the clear", container(6), .patch(60, "00000000")),
      plain(
        "a higher read version in the clear, and another list of tables", container(6), .patch(60, "00020002"),
        .sql("CREATE TABLE more(a)")),
      plain(
        "a higher read version in the clear, and no table with the state", container(7), .patch(60, "00020002"),
        .sql("DROP TABLE state")),
      plain("another page size", container(8), .patch(16, "0200")),
      plain("reserved bytes in pages", container(8), .patch(20, "20")),
      plain("a rollback journal for writing", container(9), .patch(18, "01")),
      plain("a rollback journal for reading", container(9), .patch(19, "01")),
      plain("another schema format", container(10), .patch(44, "00000003")),
      plain("UTF-16", container(10), .patch(56, "00000002")),
      plain("auto-vacuum", container(11), .patch(52, "00000001")),
      plain("incremental vacuum", container(11), .patch(64, "00000001")),
      plain("one table more", container(12), .sql("CREATE TABLE more(a)")),
      plain("an index more", container(12), .sql("CREATE INDEX more ON state(bytes)")),
      plain(
        "a trigger", container(12),
        .sql("CREATE TRIGGER more AFTER INSERT ON state BEGIN DELETE FROM item; END")),
      plain("one table less", container(12), .sql("DROP TABLE chain")),
      plain(
        "a table with another text", container(12), .sql("PRAGMA writable_schema=ON"),
        .sql("UPDATE sqlite_schema SET sql=sql||' ' WHERE name='item'")),
      plain("a file cut short", container(13), Change(truncate: 8192)),
      plain("a part of the state without bytes", container(14), .sql("UPDATE state SET bytes=x'' WHERE part=2")),
      plain(
        "a nonce of 23 bytes", container(14), ask: "get", item: "history",
        .sql("UPDATE item SET nonce=zeroblob(23) WHERE token=\(token("history"))")),
      plain(
        "version 0", container(14), ask: "get", item: "history",
        .sql("UPDATE item SET version=0 WHERE token=\(token("history"))")),
      plain(
        "version 2^53", container(14), ask: "get", item: "history",
        .sql("UPDATE item SET version=9007199254740992 WHERE token=\(token("history"))")),
      plain(
        "an unknown state", container(14), ask: "get", item: "history",
        .sql("UPDATE item SET state=3 WHERE token=\(token("history"))")),
      plain(
        "an unknown place", container(14), ask: "get", item: "history",
        .sql("UPDATE item SET place=3 WHERE token=\(token("history"))")),
      plain("no roster", container(15), .sql("DELETE FROM state WHERE part=2")),
      plain("no manifest", container(15), .sql("DELETE FROM state WHERE part=3")),
      plain("no header", container(15), .sql("DELETE FROM state WHERE part=1")),
      plain("a header of 61 bytes", container(16), header { $0.append(0) }),
      plain("a header of 59 bytes", container(16), header { $0.removeLast() }),
      plain("a header with an unknown flag", container(16), header { $0[43] = 4 }),
      plain("a header with flag 2 and no device key", container(16), header { $0[43] = 2 }),
      plain("a header with a device key and without flag 2", container(16), header { $0[59] = 1 }),
      plain("a header with a generation of 2^53", container(16), header { $0[33] = 0x20 }),
    ]
  }

  private func header(_ change: (inout [UInt8]) -> Void) -> Change {
    var bytes = signed.header
    change(&bytes)
    return .sql("UPDATE state SET bytes=x'\(bytes.hex)' WHERE part=1")
  }
}
