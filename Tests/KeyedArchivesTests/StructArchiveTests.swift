import KeyedArchives
import Testing

@Suite struct StructArchiveTests {
  private func value(_ name: String, _ contents: [UInt8]) -> [UInt8] {
    [UInt8(name.utf8.count)] + Array(name.utf8) + contents
  }
  private func number(_ bits: UInt64, _ size: Int = 8) -> [UInt8] {
    (0..<size).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }
  }
  private func int(_ number: Int) -> [UInt8] { value("Int", self.number(UInt64(bitPattern: Int64(number)))) }
  private func string(_ text: String) -> [UInt8] { value("String", int(text.utf8.count) + Array(text.utf8)) }
  private func array(_ name: String, _ elements: [[UInt8]]) -> [UInt8] {
    value(name, int(elements.count) + elements.flatMap { int($0.count) } + elements.flatMap { $0 })
  }
  private func record(_ name: String, _ fields: [(String, [UInt8])]) -> [UInt8] {
    let keys = fields.map { string($0.0) }
    let lengths = keys.flatMap { int($0.count) } + fields.flatMap { int($0.1.count) }
    return value(name, int(fields.count) + lengths + keys.flatMap { $0 } + fields.flatMap { $0.1 })
  }
  private func read(_ bytes: [UInt8]) throws(ArchiveError) -> StructArchive { try StructArchive(bytes) }

  @Test func `every kind of value is read`() throws {
    #expect(try read(int(-2016)) == .integer(-2016))
    #expect(try read(value("UInt", number(.max))) == .unsigned(.max))
    #expect(try read(value("Float", number(UInt64(Float(1.5).bitPattern), 4))) == .single(1.5))
    #expect(try read(value("Double", number(2.016.bitPattern))) == .real(2.016))
    #expect(try read(string("保存")) == .string("保存"))
    let sample = record("SampleStruct", [("title", string("t")), ("tags", array("Array<Int>", [int(1), int(2)]))])
    #expect(
      try read(sample)
        == .record(
          "SampleStruct", [("title", .string("t")), ("tags", .array("Array<Int>", [.integer(1), .integer(2)]))]))
    let json = String(decoding: try read(sample).json(), as: UTF8.self)
    #expect(json == #"{"$class":"SampleStruct","title":"t","tags":[1,2]}"#)
    let outline = String(decoding: try read(sample).outline(), as: UTF8.self)
    #expect(outline == "value: SampleStruct\n  title: \"t\"\n  tags: Array<Int>\n    [0]: 1\n    [1]: 2\n")
  }

  @Test func `every truncation and every flipped bit of a struct archive gives a value or an error`() {
    let sample = record(
      "S", [("a", array("Array<String>", [string("x"), string("y")])), ("b", record("Dictionary<String, Int>", []))])
    for count in 0..<sample.count { #expect(throws: ArchiveError.self) { try read(Array(sample.prefix(count))) } }
    for position in sample.indices {
      for bit in 0..<8 {
        var changed = sample
        changed[position] ^= 1 << bit
        _ = try? read(changed)
      }
    }
  }

  @Test func `lengths that do not fit are refused before anything is allocated`() {
    for length in [-1, Int.min, Int.max, 1 << 40] {
      #expect(throws: ArchiveError.self) { try read(value("String", int(length))) }
      #expect(throws: ArchiveError.self) { try read(value("Array<Int>", int(length))) }
    }
    #expect(throws: ArchiveError.brokenStructArchive(.trailing, offset: 12)) { try read(int(1) + [0]) }
    var nested = int(1)
    for _ in 0..<100 { nested = array("Array<Any>", [nested]) }
    #expect(throws: ArchiveError.overLimit(.nesting, allowed: 64, at: ArchivePath())) { try read(nested) }
  }
}
