import GroupFile
import Sealing
import TestSupport
import Testing

@testable import Vault

/// `service.json`: the key of the record, records, batches, the chain, and bindings.
struct ServiceVectors: Codable, Equatable {
  struct RecordVector: Codable, Equatable {
    var name: String
    var bytes: String
    var time: UInt64
    var who: UInt8
    var application: String?
    var uid: UInt32?
    var pid: Int32?
    var unit: String?
    var exe: String?
    var address: String?
    var action: UInt8
    var group: String?
    var item: String?
    var version: UInt64?
    var outcome: UInt8
    var subject: String?
    var detail: String?
  }

  struct Link: Codable, Equatable {
    var name: String
    var number: UInt64
    var time: UInt64
    var previousLink: String
    var box: String
    var link: String
    var value: String
    /// The item `head` after this batch.
    var head: String
  }

  struct Parsing: Codable, Equatable {
    var name: String
    var text: String
    /// The number of the rule that refuses it; absent if it is accepted.
    var rule: Int?
  }

  var about = "FileFormatService: the key of the record, records, batches, the chain, and bindings"
  var rootSeed: String
  var auditSeed: String
  var auditKey: String
  var records: [RecordVector]
  /// A batch of all records with number 2, before it is sealed.
  var batch: String
  var batchTime: UInt64
  /// A box of that batch. Sealing is random, so this is one of many.
  var box: String
  var groupID: String
  var links: [Link]
  var bindings: [Parsing]
}

extension ServiceVectors {
  private static let rootSeed = [UInt8](countingFrom: 0, count: 32)
  private static let groupID = GroupID([UInt8](countingFrom: 100, count: 32))!
  private static let time = Timestamp(milliseconds: 1_798_761_600_125)

  static func generate(box: String) throws -> ServiceVectors {
    let root = try Key(testing: rootSeed)
    let seed = try root.derive(Label("vault1.audit"))
    let key = try Identity(rootSeed: try Key(testing: rootSeed)).auditKey()
    var head = AuditHead(sequence: 0, link: groupID, month: AuditMonth(number: 0))
    var links: [Link] = []
    for (number, bytes) in [(UInt64(1), [UInt8](countingFrom: 1, count: 60)), (2, [UInt8](hex: box))] {
      let link = AuditHead.link(after: head.link, number, bytes[...])
      let next = AuditHead(sequence: number, link: link, month: AuditMonth(time))
      links.append(
        Link(
          name: next.batchName, number: number, time: time.milliseconds, previousLink: head.link.bytes.hex,
          box: bytes.hex, link: link.bytes.hex, value: StoredBatch(link: link, time: time, box: bytes).bytes.hex,
          head: next.serialized().hex))
      head = next
    }
    return ServiceVectors(
      rootSeed: rootSeed.hex, auditSeed: seed.testBytes.hex, auditKey: key.publicKey.bytes.hex,
      records: records.map(vector), batch: batch.hex, batchTime: time.milliseconds, box: box,
      groupID: groupID.bytes.hex, links: links, bindings: bindings)
  }

  private static var batch: [UInt8] {
    AuditBatch.serialized(records.map { $0.serialized() }, sequence: 2, time: time)
  }

  private static let records = [
    AuditRecord(
      time: Timestamp(milliseconds: 1_798_761_600_123),
      caller: .init(.application("com.example.web"), uid: 33, pid: 4_711, unit: "web.service", exe: "/usr/bin/web"),
      action: .read, group: "team.shared", item: "db/password", version: 3),
    AuditRecord(
      time: Timestamp(milliseconds: 1_798_761_600_124), caller: .init(.nobody, address: "[::1]:50000"), action: .login,
      outcome: .denied),
    AuditRecord(
      time: Timestamp(milliseconds: 0), caller: .init(.owner, uid: 0, pid: 1), action: .grant, group: "team.shared",
      subject: "com.example.web", detail: String(repeating: "ü", count: 200)),
  ]

  private static func vector(_ record: AuditRecord) -> RecordVector {
    let bytes = record.serialized()
    let who: UInt8 =
      switch record.caller.who {
      case .nobody: 0
      case .owner: 1
      case .application: 2
      }
    return RecordVector(
      name: record.action.name, bytes: bytes.hex, time: record.time.milliseconds, who: who,
      application: record.caller.who.application, uid: record.caller.uid, pid: record.caller.pid,
      unit: record.caller.unit, exe: record.caller.exe, address: record.caller.address, action: record.action.rawValue,
      group: record.group, item: record.item, version: record.version, outcome: record.outcome.rawValue,
      subject: record.subject, detail: record.detail)
  }

  private static let digest = String(repeating: "0f", count: 32)
  private static let bindings = [
    Parsing(name: "a unit of a user", text: #"[{"unit":"web@1.service","user":"www-data"}]"#),
    Parsing(name: "two alternatives", text: #"[{"exe":"/usr/bin/web"},{"label":"web//&unconfined"}]"#),
    Parsing(
      name: "credentials",
      text:
        #"[{"unit":"web.service","user":"33","credentials":{"db":{"item":"db/password","field":"user"},"tls":{"group":"team","item":"key"}}}]"#
    ),
    Parsing(
      name: "certificates",
      text:
        #"[{"certificate":"web.example.com"},{"certificate":"spiffe://example.com/Web"},{"certificate":"sha256:\#(digest)"}]"#
    ),
    Parsing(name: "a credential for a mount", text: #"[{"unit":"a.mount","credentials":{"a":{"item":"b"}}}]"#),
    Parsing(name: "white space", text: "[ {\n\t\"user\" : \"33\" } ]"),
    Parsing(name: "no array", text: #"{"user":"33"}"#, rule: 1),
    Parsing(name: "an unknown member", text: #"[{"user":"33","host":"a"}]"#, rule: 1),
    Parsing(name: "a member twice", text: #"[{"user":"33","user":"34"}]"#, rule: 1),
    Parsing(name: "a number in place of a text", text: #"[{"user":33}]"#, rule: 1),
    Parsing(name: "a credential without an item", text: #"[{"unit":"a.service","credentials":{"a":{}}}]"#, rule: 1),
    Parsing(name: "text behind the array", text: #"[{"user":"33"}]x"#, rule: 1),
    Parsing(name: "no alternative", text: "[]", rule: 1),
    Parsing(name: "no condition", text: #"[{"credentials":{"a":{"item":"b"}}}]"#, rule: 2),
    Parsing(name: "an empty alternative", text: "[{}]", rule: 2),
    Parsing(
      name: "a certificate and a user", text: #"[{"user":"33","certificate":"web.example.com"}]"#, rule: 2),
    Parsing(
      name: "credentials without a unit", text: #"[{"user":"33","credentials":{"a":{"item":"b"}}}]"#, rule: 2),
    Parsing(name: "a socket without credentials", text: #"[{"unit":"web.socket"}]"#, rule: 2),
    Parsing(name: "the same conditions twice", text: #"[{"user":"33"},{"user":"33"}]"#, rule: 3),
    Parsing(name: "a template", text: #"[{"unit":"web@.service"}]"#, rule: 4),
    Parsing(name: "a timer", text: #"[{"unit":"web.timer"}]"#, rule: 4),
    Parsing(name: "a scope", text: #"[{"unit":"web.scope"}]"#, rule: 4),
    Parsing(name: "a DNS name in capitals", text: #"[{"certificate":"Web.example.com"}]"#, rule: 4),
    Parsing(name: "a short fingerprint", text: #"[{"certificate":"sha256:00ff"}]"#, rule: 4),
    Parsing(name: "a relative path", text: #"[{"exe":"web"}]"#, rule: 4),
    Parsing(name: "a line break", text: #"[{"label":"a\nb"}]"#, rule: 4),
    Parsing(name: "an empty user", text: #"[{"user":""}]"#, rule: 4),
    Parsing(name: "an id that is a path", text: #"[{"unit":"a.service","credentials":{"..":{"item":"a"}}}]"#, rule: 4),
    Parsing(
      name: "a group that is no name", text: #"[{"unit":"a.service","credentials":{"a":{"item":"a","group":"A"}}}]"#,
      rule: 4),
  ]
}

@Suite struct ServiceVectorTests {
  private let file = VectorFile<ServiceVectors>("service")
  private let id = "com.example.web"

  @Test func `the vectors of the service match their generator`() throws {
    // A new file begins with a new box.
    let key = try Identity(rootSeed: Key(testing: [UInt8](countingFrom: 0, count: 32))).auditKey().publicKey
    let made = { (batch: String) in try RecipientKey.seal([UInt8](hex: batch), to: key).hex }
    let known = try? file.load()
    let generated = try ServiceVectors.generate(box: "")
    let box = try known.flatMap { $0.batch == generated.batch ? $0.box : nil } ?? made(generated.batch)
    #expect(try file.holds(ServiceVectors.generate(box: box)))
  }

  @Test func `the box of the vectors opens, and its records are those of the vectors`() throws {
    let vectors = try file.load()
    let key = try Identity(rootSeed: Key(testing: [UInt8](hex: vectors.rootSeed))).auditKey()
    let opened = try key.openUnguarded([UInt8](hex: vectors.box)[...])
    #expect(opened.hex == vectors.batch)
    let batch = try AuditBatch(parsing: opened)
    #expect(batch.sequence == 2 && batch.time.milliseconds == vectors.batchTime)
    #expect(batch.records.map { $0.serialized().hex } == vectors.records.map(\.bytes))
    #expect(batch.records.map(\.item) == vectors.records.map(\.item))
    #expect(batch.records.map(\.time.milliseconds) == vectors.records.map(\.time))
  }

  @Test func `bindings are read or refused as the vectors say`() throws {
    let vectors = try file.load()
    try #require(vectors.bindings.contains { $0.rule != nil } && vectors.bindings.contains { $0.rule == nil })
    for vector in vectors.bindings {
      let binding = try? ServiceBinding(application: id, parsing: Array(vector.text.utf8))
      #expect((binding == nil) == (vector.rule != nil), "\(vector.name)")
    }
  }
}
