import Foundation
import Testing
import VaultFoundation

/// Values whose types only generic code, or an optional, knows.
@Suite struct GenericItemTests {
  private let store = TypedStore()

  /// Writes `value` in a call, in a transaction, and as an optional, and reads it as its type and as the optional.
  private func checkEverywhere<Value: Codable & Equatable>(_ value: Value) throws {
    let group = try store.group()
    func check(_ name: String) throws {
      #expect(try group.get(name, as: Value.self) == value, "\(name) \(Value.self)")
      #expect(try group.get(name, as: Value?.self) == value, "\(name) \(Value.self)")
    }
    try group.set("set", to: value)
    try check("set")
    try group.transaction { edit in try edit.set("edit", to: value) }
    #expect(try group.get("edit", as: Value.self) == value)
    #expect(try group.item("edit").kind == group.item("set").kind)
    let optional: Value? = value
    try group.set("optional", to: optional)
    #expect(try group.get("optional", as: Value?.self) == value)
    try group.transaction { edit in try edit.set("edit optional", to: optional) }
    #expect(try group.get("edit optional", as: Value?.self) == value)
    #expect(try group.item("edit optional").kind == group.item("optional").kind)
    let absent: Value? = nil
    try group.set("absent", to: absent)
    #expect(try group.get("absent", as: Value?.self) == nil)
    try group.transaction { edit in try edit.set("edit absent", to: absent) }
    #expect(try group.get("edit absent", as: Value?.self) == nil)
  }

  /// As `checkEverywhere`; and what was written as an optional is read as the wrapped type, and in reverse.
  private func checkScalar<Value: Codable & Equatable>(_ value: Value) throws {
    try checkEverywhere(value)
    let group = try store.group()
    for name in ["set", "edit", "optional", "edit optional"] {
      #expect(try group.get(name, as: Value.self) == value, "\(name) \(Value.self)")
      #expect(try group.get(name, as: Value?.self) == value, "\(name) \(Value.self)")
      #expect(try group.get(name, as: Value??.self) == value, "\(name) \(Value.self)")
      #expect(try group.item(name).kind != .archive)
    }
    #expect(throws: VaultError.self) { try group.get("absent", as: Value.self) }
  }

  @Test func `a text or a number is read back as the type that it was written as, also by generic code`() throws {
    try checkScalar("x")
    try checkScalar(5)
    try checkScalar(true)
    try checkScalar(0.1)
    try checkScalar(Data([0, 255]))
    try checkScalar([UInt8]([1, 2]))
    try checkScalar(Date(timeIntervalSinceReferenceDate: 0.5))
    try checkScalar(try #require(URL(string: "https://example.com")))
    try checkScalar(UUID())
  }

  @Test func `a Swift value is read back as the type that it was written as, also by generic code`() throws {
    func check<Value: Codable & Equatable>(_ value: Value) throws {
      let group = try store.group()
      try group.set("set", to: value)
      #expect(try group.get("set", as: Value.self) == value)
      try group.transaction { edit in try edit.set("edit", to: value) }
      #expect(try group.get("edit", as: Value.self) == value)
    }
    try checkEverywhere(TypedItemTests.Flags())
    try checkEverywhere(["a": [1, 2]])
    try checkEverywhere(UInt64.max)
    let group = try store.group()
    try group.set("x", to: Optional(TypedItemTests.Flags()))
    #expect(try group.get("x", as: TypedItemTests.Flags.self) == TypedItemTests.Flags())
    try group.set("x", to: Optional<TypedItemTests.Flags>.none)
    #expect(
      throws: VaultError.otherType(
        found: "Swift.Optional<VaultFoundationTests.TypedItemTests.Flags>",
        expected: "VaultFoundationTests.TypedItemTests.Flags")
    ) { try group.get("x", as: TypedItemTests.Flags.self) }
    try check(Optional(TypedItemTests.Flags()))
    try check(Optional<TypedItemTests.Flags>.none)
    try check(Optional<String>.none)
    try check(Optional("x"))
  }

  @Test func `an optional of another type than the stored one is refused`() throws {
    let group = try store.group()
    try group.set("x", to: Optional("text"))
    #expect(throws: VaultError.otherType(found: "string", expected: "int")) { try group.get("x", as: Int?.self) }
    #expect(throws: VaultError.otherType(found: "string", expected: "int")) { try group.get("x", as: Int.self) }
  }

  @Test func `a text or a number that was stored as an archive is read as its type`() throws {
    let group = try store.group()
    func check<Value: Codable & Equatable>(_ value: Value) throws {
      let data = try SecureArchiver.archivedData(encoding: value)
      let typeName = try SecureUnarchiver(reading: data, allowing: []).typeName
      try group.set("x", to: Secret(data), kind: .archive, typeName: typeName)
      #expect(try group.get("x", as: Value.self) == value)
      #expect(try group.get("x", as: Value?.self) == value)
    }
    try check("text")
    try check(5)
    try check(Int64.min)
    try check(UInt32.max)
    try check(Float(0.1))
    try check([UInt8]([1]))
    #expect(throws: VaultError.otherType(found: "Swift.Array<Swift.UInt8>", expected: "string")) {
      try group.get("x", as: String.self)
    }
  }

  @Test func `a transaction reads values with their types, also those that it has just set`() throws {
    let group = try store.group()
    try group.set("counter", to: 41)
    try group.set("flags", to: TypedItemTests.Flags(), named: "app.flags")
    try group.set("home", to: TypedItemTests.Address(city: "Bern"))
    try group.transaction { edit in
      edit.set("counter", to: try edit.get("counter", as: Int.self) + 1)
      #expect(try edit.get("counter", as: Int.self) == 42 && edit.get("counter", as: Int?.self) == 42)
      #expect(try edit.get("flags", as: TypedItemTests.Flags.self, named: "app.flags") == TypedItemTests.Flags())
      let home = try edit.get("home", as: TypedItemTests.Address.self)
      #expect(home.city == "Bern")
      #expect(throws: VaultError.otherType(found: "int", expected: "string")) {
        try edit.get("counter", as: String.self)
      }
      #expect(throws: VaultError.notFound(.item)) { try edit.get("absent", as: Int.self) }
    }
    #expect(try group.get("counter", as: Int.self) == 42)
  }

  @Test func `printed values name what they are and show no label, attribute or key`() throws {
    let secrets = try store.open()
    let group = try secrets.group("default")
    let details = Details(label: .to("LABEL"), attributes: ["KEY": "ATTRIBUTE"])
    try group.set("db/password", to: "VALUE", details)
    let item = try group.item("db/password")
    #expect("\(item)" == "'db/password', version 1, string" && String(reflecting: [item]) == "[\(item)]")
    var dumped = ""
    dump([item], to: &dumped)
    #expect(dumped.contains("db/password") && !dumped.contains("LABEL") && !dumped.contains("ATTRIBUTE"))
    try group.remove("db/password")
    #expect(try group.history("db/password").map { "\($0)" }.contains("'db/password', version 2, removed"))
    #expect(try "\(group.members)" == "[owner, write]" && "\(SecretKind.archive)" == "archive")
    _ = try secrets.applications.issue(
      "com.example.web", to: store.keyFile + ".credential", grants: [.init(.read, in: "default")])
    #expect(try "\(group.members)".contains("com.example.web, read"))
    #expect(try "\(secrets.location.identity().slots)" == "[slot 1, key file]")
  }

  @Test func `an object's type is the class that it is archived as`() throws {
    class Shown: NSObject, NSSecureCoding {
      class var supportsSecureCoding: Bool { true }
      override init() {}
      required init?(coder: NSCoder) {}
      func encode(with coder: NSCoder) {}
    }
    final class Hidden: Shown { override var classForKeyedArchiver: AnyClass? { TypedItemTests.Address.self } }
    let group = try store.group()
    try group.set("x", to: Hidden())
    #expect(try group.item("x").typeName == "VaultFoundationTests.TypedItemTests.Address")
    final class Replaced: Shown {
      let replacement: Any?
      init(by replacement: Any?) {
        self.replacement = replacement
        super.init()
      }
      required init?(coder: NSCoder) { nil }
      override func replacementObject(for coder: NSCoder) -> Any? { replacement }
    }
    try group.set("x", to: Replaced(by: NSUUID()))
    #expect(try group.item("x").typeName == "NSUUID")
    _ = try group.get("x", as: NSUUID.self)
    #expect(throws: VaultError.self) { try group.set("x", to: Replaced(by: nil)) }
  }

  @Test func `a scalar without a readable form is refused in a transaction of generic code`() throws {
    let group = try store.group()
    func set<Value: Codable>(_ value: Value, in edit: borrowing Edit) throws { try edit.set("x", to: value) }
    try group.transaction { edit in
      #expect(throws: VaultError.invalid("this date has no text that could be read back")) {
        try set(Date(timeIntervalSince1970: .nan), in: edit)
      }
      try set("after", in: edit)
    }
    #expect(try group.get("x", as: String.self) == "after")
  }

  @Test func `numbers of every width are stored as text, if a decimal integer of 64 bits holds them`() throws {
    func check<Value: Codable & Equatable>(_ value: Value, _ kind: SecretKind, _ text: String? = nil) throws {
      try checkEverywhere(value)
      let group = try store.group()
      #expect(try group.item("set").kind == kind, "\(Value.self)")
      if let text { #expect(try group.get("set").exportInsecurelyAsString() == text, "\(Value.self)") }
    }
    try check(Int8.min, .int, "-128")
    try check(Int16.min, .int, "-32768")
    try check(Int32.min, .int, "-2147483648")
    try check(Int64.min, .int, "-9223372036854775808")
    try check(UInt8.max, .int, "255")
    try check(UInt16.max, .int, "65535")
    try check(UInt32.max, .int, "4294967295")
    try check(Float(0.1), .double, "0.1")
    try check(Float(1e10), .double, "10000000000.0")
    try check(Float.greatestFiniteMagnitude, .double, "3.4028235e+38")
    try check(Float.leastNonzeroMagnitude, .double)
    try check(-Float.infinity, .double, "-inf")
    try check(UInt.max, .archive)
    try check(UInt64.max, .archive)
    try check(Decimal(string: "1.25"), .archive)
  }

  @Test func `a number is read as another type that can hold it, and refused by one that cannot`() throws {
    let group = try store.group()
    try group.set("x", to: Int64(300))
    #expect(try group.get("x", as: Int.self) == 300 && group.get("x", as: UInt16.self) == 300)
    #expect(throws: VaultError.otherType(found: "int", expected: "Swift.Int8")) { try group.get("x", as: Int8.self) }
    #expect(throws: VaultError.otherType(found: "int", expected: "Swift.Int8")) { try group.get("x", as: Int8?.self) }
    try group.set("x", to: -1)
    #expect(throws: VaultError.otherType(found: "int", expected: "Swift.UInt32")) {
      try group.get("x", as: UInt32.self)
    }
    try group.set("x", to: 0.1)
    #expect(try group.get("x", as: Float.self) == 0.1)
    try group.set("x", to: 1e300)
    #expect(throws: VaultError.otherType(found: "double", expected: "Swift.Float")) {
      try group.get("x", as: Float.self)
    }
    try group.set("x", to: Secret("not a number"), kind: .int)
    #expect(throws: VaultError.otherType(found: "bytes", expected: "int")) { try group.get("x", as: Int.self) }
  }

  @Test func `an item of kind json is decoded, and an error shows none of it`() throws {
    let group = try store.group()
    try group.set("x", to: Secret(#"[1, "hunter2", {"a": null}]"#), kind: .json)
    struct Mixed: Decodable {
      init(from decoder: any Decoder) throws {
        var values = try decoder.unkeyedContainer()
        guard try values.decode(Int.self) == 1, try values.decode(String.self) == "hunter2",
          try values.decode([String: Int?].self) == ["a": nil]
        else { throw CancellationError() }
      }
    }
    _ = try group.get("x", as: Mixed.self)
    for error in [
      #expect(throws: VaultError.self) { try group.get("x", as: [String].self) },
      #expect(throws: VaultError.self) { try group.get("x", as: TypedItemTests.Flags.self) },
    ] {
      guard case .otherType(let found, let expected)? = error else {
        Issue.record("\(String(describing: error))")
        continue
      }
      #expect(found == "json" && !expected.contains("hunter2"))
    }
    #expect(throws: VaultError.otherType(found: "json", expected: "string")) { try group.get("x", as: String.self) }
    #expect(throws: VaultError.otherType(found: "json", expected: "app.Mixed")) {
      try group.get("x", as: Mixed.self, named: "app.Mixed")
    }
    try group.set("x", to: Secret(#"["a", "b"]"#), kind: .json)
    #expect(try group.get("x", as: [String].self) == ["a", "b"])
    let deep = String(repeating: "[", count: 100_000)
    try group.set("x", to: Secret(deep), kind: .json)
    #expect(throws: VaultError.self) { try group.get("x", as: [Int].self) }
  }

  @Test func `a change inside a transaction of its group is refused at once, and the transaction continues`() throws {
    let group = try store.group()
    try group.set("x", to: 1)
    try group.transaction { edit in
      edit.set("x", to: 2)
      let refused = VaultError.invalid("a change of a group inside a transaction of the same group")
      #expect(throws: refused) { try group.set("y", to: 1) }
      #expect(throws: refused) { try group.remove("x") }
      #expect(throws: refused) { try group.transaction { edit in edit.set("y", to: 1) } }
      let committed = try group.get("x", as: Int.self)
      #expect(committed == 1)
    }
    #expect(try group.get("x", as: Int.self) == 2)
    try group.set("y", to: 3)
  }

  @Test func `timestamps and dates convert`() throws {
    for milliseconds: UInt64 in [0, 1, 999, 1_795_705_069_673, 253_402_300_799_999, 1 << 52] {
      let timestamp = Timestamp(milliseconds: milliseconds)
      #expect(Timestamp(Date(timestamp)) == timestamp)
    }
    #expect(Timestamp(Date(timeIntervalSince1970: 1.0006)).milliseconds == 1_001)
    for early in [-1e-9, -1, -.infinity, .nan] {
      #expect(Timestamp(Date(timeIntervalSince1970: early)).milliseconds == 0)
    }
    for late in [1e300, .infinity] {
      #expect(Timestamp(Date(timeIntervalSince1970: late)).milliseconds == .max)
    }
    let group = try store.group()
    let date = Date(timeIntervalSince1970: 4_000_000_000.5)
    try group.set("x", to: 1, Details(expires: .to(Timestamp(date))))
    #expect(try group.item("x").expires.map { Date($0) } == date)
  }
}
