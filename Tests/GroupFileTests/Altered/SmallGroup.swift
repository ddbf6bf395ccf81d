@testable import GroupFile

/// Twenty items with a history, a large value, a removed item and a destroyed one: small enough to flip each of its bits.
struct SmallGroup {
  let fixture: GroupFixture
  let names: [String]
  let before: Answers

  /// - Parameter logged: whether the newest changes stay in the log, or everything is in the main file.
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

  /// What the group answers now, to a process that knows nothing of it but the witness.
  func answers() throws -> Answers {
    Answers(of: try fixture.open(), names: names + ["absent"], histories: ["item/0", "removed"])
  }

  /// What is wrong with the answers that are given now.
  func lie() throws -> String? { try answers().lie(against: before) }
}
