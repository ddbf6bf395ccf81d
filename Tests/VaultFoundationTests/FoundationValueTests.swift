import Foundation
import Testing
import VaultFoundation

/// Items with values of Foundation's types that anybody may have written.
@Suite struct FoundationValueTests {
  private let store = TypedStore()

  /// A value in the form in which one of Foundation's types is written.
  indirect enum Form: Encodable, Sendable {
    case number(Int)
    case real(Double)
    case text(String)
    case data(Data)
    case date(Date)
    case list([Form])
    case fields([String: Form])

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .number(let number): try container.encode(number)
      case .real(let number): try container.encode(number)
      case .text(let text): try container.encode(text)
      case .data(let data): try container.encode(data)
      case .date(let date): try container.encode(date)
      case .list(let list): try container.encode(list)
      case .fields(let fields): try container.encode(fields)
      }
    }

    static func range(_ location: Int, _ length: Int) -> Form {
      .fields(["indexes": .list([.fields(["location": .number(location), "length": .number(length)])])])
    }

    static func planes(_ numbers: UInt8..., size: Int = 8_192) -> Form {
      .fields(["bitmap": .data(numbers.reduce(Data(count: size)) { $0 + [$1] + Data(count: 8_192) })])
    }

    static func calendar(
      first: Int = 1, days: Int = 1, _ name: String = "buddhist", locale: String = "en"
    ) -> Form {
      .fields([
        "identifier": .text(name), "locale": .fields(["identifier": .text(locale), "current": .number(0)]),
        "timeZone": .fields(["identifier": .text("GMT")]), "firstWeekday": .number(first),
        "minimumDaysInFirstWeek": .number(days),
      ])
    }

    static func url(_ fields: [String: Form]) -> Form {
      .fields(fields.merging(["path": .text("")]) { first, _ in first })
    }
  }

  private struct Holder<Value: Codable>: Codable {
    let value: Value?
    let list: [String: [Value]]
  }

  /// Expects each form to be refused as a value of the type: alone and inside a structure, in an archive and in JSON.
  private func refuse<Value: Codable>(_ forms: [Form], as type: Value.Type) throws {
    let group = try store.group()
    func refuse<Whole: Codable>(_ form: Form, as whole: Whole.Type) throws {
      let data = try SecureArchiver.archivedData(encoding: form, named: "form")
      let error = #expect(throws: ArchiveError.self) {
        try SecureUnarchiver.decoded(Whole.self, named: "form", from: data)
      }
      guard case .invalidValue(let name, _, _) = error else {
        Issue.record("\(form): \(String(describing: error))")
        return
      }
      #expect("\(name)".hasPrefix("Foundation"))
      try group.set("json", to: Secret(JSONEncoder().encode(form)), kind: .json)
      let refusal = #expect(throws: VaultError.self) { try group.get("json", as: Whole.self) }
      guard case .otherType("json", _) = refusal else {
        Issue.record("\(form): \(String(describing: refusal))")
        return
      }
    }
    for form in forms {
      try refuse(form, as: Value.self)
      try refuse(.fields(["value": form, "list": .fields([:])]), as: Holder<Value>.self)
      try refuse(.fields(["list": .fields(["key": .list([form])])]), as: Holder<Value>.self)
    }
  }

  @Test func `a value that would crash one of Foundation's types is refused, also inside other values`() throws {
    let (least, most) = (Int.min, Int.max)
    try refuse([.range(5, -3), .range(-5, 3), .range(most, 1), .range(1, most), .range(least, 5)], as: IndexSet.self)
    try refuse(
      [
        .planes(size: 0), .planes(size: 1), .planes(size: 8_191), .planes(size: 8_193), .planes(200), .planes(17),
        .planes(0), .planes(2, 1), .planes(1, 1),
      ], as: CharacterSet.self)
    try refuse([.fields(["start": .date(Date()), "duration": .real(-1)])], as: DateInterval.self)
    let locales = ["é", "日本", "de_DE@calendar=é"]
    try refuse(locales.map { .fields(["identifier": .text($0), "current": .number(0)]) }, as: Locale.self)
    try refuse(
      [0, -1, 8, most, least, 1 << 31].flatMap { [.calendar(first: $0), .calendar(days: $0)] }
        + locales.map { .calendar(locale: $0) },
      as: Calendar.self)
    try refuse(
      [
        .url(["port": .number(-1)]), .url(["port": .number(least), "host": .text("a")]), .url(["scheme": .text("1:")]),
        .url(["scheme": .text("")]), .url(["scheme": .text("é")]), .url(["scheme": .text("1a")]),
        .url(["scheme": .text("http"), "host": .text("h"), "path": .text("zz")]), .url(["path": .text("//x")]),
        .url(["user": .text("u"), "path": .text("zz")]), .url(["port": .number(5), "path": .text("zz")]),
      ], as: URLComponents.self)
    try refuse([.fields(["month": .number(least)])], as: DateComponents.self)
    let group = try store.group()
    for rule in rules {
      try group.set("json", to: Secret(JSONEncoder().encode(rule)), kind: .json)
      #expect(throws: VaultError.self) { try group.get("json", as: Calendar.RecurrenceRule.self) }
    }
  }

  /// Rules that end the process when somebody asks for their dates.
  private var rules: [Calendar.RecurrenceRule] {
    let calendar = Calendar(identifier: .gregorian)
    return [Calendar.RecurrenceRule(calendar: calendar, frequency: .daily, interval: 0)]
      + [Int.max, .min, 367].map { n in
        Calendar.RecurrenceRule(calendar: calendar, frequency: .monthly, weekdays: [.every(.friday), .nth(n, .monday)])
      }
  }

  @Test func `values of Foundation's types are read back, from an archive and from JSON`() throws {
    let group = try store.group()
    func through<Value: Codable & Equatable>(_ value: Value) throws {
      let whole = Holder(value: value, list: ["key": [value, value]])
      try group.set("archive", to: whole, named: "whole")
      try group.set("json", to: Secret(JSONEncoder().encode(whole)), kind: .json)
      for read in [
        try group.get("archive", as: Holder<Value>.self, named: "whole"),
        try group.get("json", as: Holder<Value>.self),
      ] {
        #expect(read.value == value && read.list == whole.list)
      }
    }
    try through(IndexSet([1, 2, 3, 9]).union(IndexSet(integersIn: 20..<90)))
    try through(CharacterSet(charactersIn: "aé日😀"))
    try through(CharacterSet.alphanumerics.inverted)
    try through(DateInterval(start: Date(timeIntervalSinceReferenceDate: 0.5), duration: 0))
    try through(Locale(identifier: "de_AT@calendar=buddhist"))
    var calendar = Calendar(identifier: .hebrew)
    calendar.firstWeekday = 7
    try through(calendar)
    try through(DateComponents(calendar: calendar, year: 2026, month: 2))
    try through(
      Calendar.RecurrenceRule(
        calendar: calendar, frequency: .yearly, months: [.init(2), .init(13, isLeap: true)],
        weekdays: [.every(.friday), .nth(-366, .monday), .nth(53, .sunday)]))
    try through(try #require(URLComponents(string: "svn+ssh-1.0://ann:x@[::1]:8080/a%20b?c=d#e")))
    for address in ["mailto:ann@example.com", "file:///a", "a/b", "//host", "https://h?q"] {
      try through(try #require(URLComponents(string: address)))
    }
    try through(try #require(URL(string: "https://example.com/ä")))
    try through(try #require(Decimal(string: "123456789012345678901234567890.125")))
    try through(Measurement(value: 1.5, unit: UnitLength.meters))
    try through([1.5: Data([1, 2])])
    try through([Int?.none, 3])
    try through(1.0..<2.5)
    try through(UInt64.max)
    try through(Date(timeIntervalSinceReferenceDate: 0.1))
  }

  @Test func `an interval that never ends or never began is read back from an archive`() throws {
    for interval in [
      DateInterval(start: Date(timeIntervalSinceReferenceDate: 1), duration: .infinity),
      DateInterval(start: Date(timeIntervalSinceReferenceDate: -.infinity), duration: 1),
    ] {
      let data = try SecureArchiver.archivedData(encoding: [interval], named: "intervals")
      #expect(try SecureUnarchiver.decoded([DateInterval].self, named: "intervals", from: data) == [interval])
    }
  }

  @Test func `a number of 128 bits is read from an archive`() throws {
    let data = try SecureArchiver.archivedData(encoding: ["a": -5], named: "numbers")
    #expect(try SecureUnarchiver.decoded([String: Int128].self, named: "numbers", from: data) == ["a": -5])
    let error = #expect(throws: ArchiveError.self) {
      try SecureUnarchiver.decoded([String: UInt128].self, named: "numbers", from: data)
    }
    guard case .numberDoesNotFit("UInt128", _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `a value that would not be read back is refused when it is written`() throws {
    var calendar = Calendar(identifier: .buddhist)
    calendar.firstWeekday = 0
    #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(encoding: calendar) }
    #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(encoding: [Locale(identifier: "é")]) }
    for rule in rules {
      #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(encoding: ["rule": rule]) }
    }
    let components = DateComponents(calendar: Calendar(identifier: .hebrew), month: .min)
    #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(encoding: components) }
    // Nobody can say when it ends.
    let interval = DateInterval(start: Date(timeIntervalSinceReferenceDate: -.infinity), duration: .infinity)
    #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(encoding: [interval]) }
  }
}
