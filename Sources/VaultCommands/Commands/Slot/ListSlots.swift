import ArgumentParser
internal import Vault

/// `vault slot list`
struct ListSlots: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List what opens the store, with the costs of guessing a passphrase. Opens nothing.",
    usage: "vault slot list [--json]",
    discussion: """
      Example:
        vault slot list
      """)

  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let slots = try StoreLocation(environment: session.environment).identity().slots
    if json.json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for slot in slots { try slot.write(to: &json) }
      }
    }
    var table = Table("SLOT", "KIND", "COST")
    for slot in slots { table.add(String(slot.number), slot.kind.rawValue, slot.cost?.text ?? "") }
    try table.write(to: session.output, style: session.outputStyle)
  }
}

extension SlotInfo {
  func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.number("number", number)
      try json.string("kind", kind.rawValue)
      guard let cost else { return }
      try json.number("passes", cost.passes)
      try json.number("memoryKiB", cost.memoryKiB)
    }
  }
}

extension SlotInfo.Cost {
  /// `3 passes over 256 MiB`
  var text: String {
    let memory = memoryKiB.isMultiple(of: 1_024) ? "\(memoryKiB / 1_024) MiB" : "\(memoryKiB) KiB"
    return "\(passes) \(passes == 1 ? "pass" : "passes") over \(memory)"
  }
}
