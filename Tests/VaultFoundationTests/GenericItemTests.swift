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

  @Test func `a scalar without a readable form is refused in a transaction of generic code`() throws {
    let group = try store.group()
    func set<Value: Codable>(_ value: Value, in edit: Edit) throws { try edit.set("x", to: value) }
    try group.transaction { edit in
      #expect(throws: VaultError.invalid("this date has no text that could be read back")) {
        try set(Date(timeIntervalSince1970: .nan), in: edit)
      }
      try set("after", in: edit)
    }
    #expect(try group.get("x", as: String.self) == "after")
  }
}
