@testable import GroupFile

/// Twenty items, one with a history, one with a large value, one removed and one destroyed: small enough to flip every bit.
struct SmallGroup {
  let fixture: GroupFixture
  let names: [String]
  let before: Answers

  /// - Parameter logged: whether the newest changes stay in the log. Otherwise everything is in the main file.
  init(logged: Bool) throws {
    fixture = try GroupFixture()
    names = (0..<17).map { "item/\($0)" } + ["large", "removed", "destroyed"]
    try fixture.set(Dictionary(uniqueKeysWithValues: names.map { ($0, "value of \($0)") }))
    try fixture.set(["item/0": "second", "large": String(repeating: "large ", count: 100)])
    let destroying = try fixture.open().beginWriting()
    try destroying.destroy("destroyed")
    try destroying.commit()
    if logged { try fixture.checkpoint() }
    try fixture.set(["item/0": "third", "removed": "second"])
    let removing = try fixture.open().beginWriting()
    try removing.put(Attributes(name: "removed", created: 1, changed: 1, valueKind: 0), nil)
    try removing.commit()
    if !logged { try fixture.checkpoint() }
    before = Answers(of: try fixture.open(), names: names + ["absent"], histories: ["item/0", "removed"])
  }

  /// The group's answers now, to a process that knows only the witness.
  func answers() throws -> Answers {
    Answers(of: try fixture.open(), names: names + ["absent"], histories: ["item/0", "removed"])
  }

  /// How the group's answers now differ from those before, apart from refusals; `nil` if they do not.
  func lie() throws -> String? { try answers().lie(against: before) }
}
