internal import Exchange
internal import Vault

/// What `vault import` does with the items that a file gave.
struct ImportRequest {
  let imported: ImportedItems
  /// What messages call the file; nil where each item is named by itself.
  let fileName: String?
  let replaces: Bool
  let isDryRun: Bool
  let json: Bool

  /// Sets all of the items in one transaction, or none of them; a dry run holds no lock, and changes nothing.
  ///
  /// - Throws: `usage` for an item that the store cannot hold, `conflict` for two of one name, `exists` where one would be
  ///   changed and may not: a dry run has told by then what there is.
  func run(in group: AccessGroup, _ session: Session) throws {
    try requireDistinctNames()
    guard !isDryRun else { return try rehearse(in: group, session) }
    let steps = try group.transaction { edit in
      let steps = try imported.items.map { item in
        try ImportStep(item, at: place(of: item)) { (name) throws(VaultError) in try edit.open(name) }
      }
      try refuseReplacing(steps)
      for step in steps where step.action != .unchanged { try step.perform(in: edit) }
      return steps
    }
    try tell(steps, group, session)
  }

  private func rehearse(in group: AccessGroup, _ session: Session) throws {
    try group.requireWriter()
    let steps = try imported.items.map { item in
      let step = try ImportStep(item, at: place(of: item)) { (name) throws(VaultError) in try group.open(name) }
      if step.action != .unchanged { try step.rehearse(in: group) }
      session.showProgress("\(item.place) compared")
      return step
    }
    session.endProgress()
    try tell(steps, group, session)
    try refuseReplacing(steps)
  }

  private func place(of item: ImportedItem) -> String {
    let place = UTF8Text.onOneLine(item.place)
    return fileName.map { "\($0), \(place)" } ?? place
  }

  private func requireDistinctNames() throws {
    var places: [String: String] = [:]
    for item in imported.items {
      let name: String
      do { name = try Item.Name(item.name).description } catch {
        throw Failure(error.exitStatus, "\(place(of: item)): \(error.message)")
      }
      if let first = places.updateValue(item.place, forKey: name) {
        throw Failure(
          .conflict, "\(place(of: item)): its item would be called as that of \(UTF8Text.onOneLine(first)) is")
      }
    }
  }

  private func refuseReplacing(_ steps: [ImportStep]) throws(Failure) {
    let count = steps.count { $0.action == .replace }
    guard count > 0, !replaces else { return }
    throw Failure(
      .exists, "\(count == 1 ? "1 item is" : "\(count) items are") there with another value; nothing was imported",
      hint: "see which: --dry-run; to give them new versions: --replace; to keep both: --prefix P")
  }

  // MARK: Telling

  private func tell(_ steps: [ImportStep], _ group: AccessGroup, _ session: Session) throws(Failure) {
    if json { return try writeJSON(steps, group, to: session.output) }
    if isDryRun {
      var table = Table("ACTION", "NAME", "KIND")
      for step in steps { table.add(step.action.rawValue, step.item.name, step.kind) }
      try table.write(to: session.output, style: session.outputStyle)
      try session.output.flush()
    }
    func count(_ action: ImportStep.Action) -> Int { steps.count { $0.action == action } }
    let counts = "\(count(.new)) new, \(count(.replace)) replaced, \(count(.unchanged)) unchanged"
    session.say("\(isDryRun ? "would import" : "imported") into '\(group.name)': \(counts)")
    for loss in imported.losses { session.say("not kept: \(loss)") }
  }

  private func writeJSON(_ steps: [ImportStep], _ group: AccessGroup, to output: Output) throws(Failure) {
    var json = JSONWriter(output)
    try json.object { (json) throws(Failure) in
      try json.string("group", group.name.description)
      try json.flag("dryRun", isDryRun)
      try json.array("items") { (json) throws(Failure) in
        for step in steps {
          try json.object { (json) throws(Failure) in
            try json.string("name", step.item.name)
            try json.string("action", step.action.rawValue)
            try json.string("kind", step.kind)
            try json.string("from", step.item.place)
          }
        }
      }
      try json.array("notKept") { (json) throws(Failure) in
        for loss in imported.losses { try json.string(nil, loss) }
      }
    }
  }
}
