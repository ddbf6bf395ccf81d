internal import Exchange
internal import Vault

/// Imports the items that were read from a file.
struct ImportRequest {
  let imported: ImportedItems
  /// The name of the file in messages; nil if each item has its own.
  let fileName: String?
  let replaces: Bool
  let isDryRun: Bool
  let json: Bool
  /// Whether items that cannot be imported are left out and listed. Otherwise one of them stops the import.
  var leavesOut = false

  /// Sets all of the items in one transaction, or none of them. A dry run takes no lock and changes nothing.
  ///
  /// - Throws: `usage` or `overLimit` for an item that the store cannot hold, `conflict` for two items with the same
  ///   name, `exists` if an item would be replaced without `--replace`. A dry run has printed its table before it
  ///   throws `exists`.
  func run(in group: AccessGroup, _ session: Session) throws {
    var refused = imported.refusals.map { "\(place($0.place ?? "")): \($0.words)" }
    if !leavesOut, let fault = imported.refusals.first { throw Failure(fault.status, refused[0]) }
    let items = try leavesOut ? importable(in: group, &refused) : imported.items
    try requireDistinctNames()
    guard !isDryRun else { return try rehearse(items, refused, in: group, session) }
    let steps = try group.transaction { edit in
      let items = try named(items) { (name) throws(VaultError) in try edit.open(name) }
      let steps = try items.map { item in
        try ImportStep(item, at: place(of: item)) { (name) throws(VaultError) in try edit.open(name) }
      }
      if let refusal = refusal(of: steps) { throw refusal }
      for step in steps where step.action != .unchanged { try step.perform(in: edit) }
      return steps
    }
    try session.output.tell(of: "the items were imported") { () throws(Failure) in
      try tell(steps, refused, group, session)
    }
  }

  private func rehearse(
    _ items: [ImportedItem], _ refused: [String], in group: AccessGroup, _ session: Session
  ) throws {
    try group.requireWriter()
    let items = try named(items) { (name) throws(VaultError) in try group.open(name) }
    let steps = try items.map { item in
      let step = try ImportStep(item, at: place(of: item)) { (name) throws(VaultError) in try group.open(name) }
      if step.action != .unchanged { try step.rehearse(in: group) }
      session.showProgress("\(item.place) compared")
      return step
    }
    try session.report(refusal(of: steps)) { try tell(steps, refused, group, session) }
  }

  /// The items that the store can hold. No two have the same name.
  ///
  /// - Parameter refused: receives the reasons why the other items cannot be imported.
  /// - Throws: the errors of reading the store.
  private func importable(in group: AccessGroup, _ refused: inout [String]) throws -> [ImportedItem] {
    var names: Set<String> = []
    var kept: [ImportedItem] = []
    for item in imported.items {
      let name: String
      do throws(VaultError) { name = try Item.Name(item.name).description } catch {
        refused.append("\(place(of: item)): \(error.message)")
        continue
      }
      guard names.insert(name).inserted else {
        refused.append("\(place(of: item)): has the same name as another entry")
        continue
      }
      do {
        let step = try ImportStep(item, at: place(of: item)) { (_) throws(VaultError) in throw .notFound(.item) }
        try step.rehearse(in: group)
        kept.append(item)
      } catch let failure as Failure {
        refused.append(failure.message)
      }
    }
    return kept
  }

  private func place(of item: ImportedItem) -> String { place(item.place) }

  private func place(_ position: String) -> String {
    let place = UTF8Text.onOneLine(position)
    return fileName.map { "\($0), \(place)" } ?? place
  }

  private func requireDistinctNames() throws {
    guard !leavesOut else { return }
    var places: [String: String] = [:]
    for item in imported.items {
      let name: String
      do { name = try Item.Name(item.name).description } catch {
        throw Failure(error.exitStatus, "\(place(of: item)): \(error.message)")
      }
      if let first = places.updateValue(item.place, forKey: name) {
        throw Failure(
          .conflict, "\(place(of: item)): has the same name as \(UTF8Text.onOneLine(first))")
      }
    }
  }

  /// The error for items that must not be replaced.
  private func refusal(of steps: [ImportStep]) -> Failure? {
    let count = steps.count { $0.action == .replace }
    guard count > 0, !replaces else { return nil }
    return Failure(
      .exists,
      "\(count == 1 ? "1 item exists" : "\(count) items exist") with a different value or other details; "
        + "nothing was imported",
      hint: "to see which: --dry-run; to give them new versions: --replace; to keep both: --prefix P")
  }

  // MARK: Telling

  private func tell(
    _ steps: [ImportStep], _ refused: [String], _ group: AccessGroup, _ session: Session
  ) throws(Failure) {
    for step in steps {
      guard let expires = step.lostExpiry else { continue }
      session.warn(
        "'\(step.item.name)': the former value's expiry (\(session.shown(expires))) does not apply to the new one; "
          + "to set one: vault set NAME --keep-value --expires WHEN")
    }
    if json { return try writeJSON(steps, refused, group, to: session.output) }
    if isDryRun {
      var table = Table(columns: ["ACTION", "NAME", "KIND"], keeping: "NAME")
      for step in steps { table.add(step.action.rawValue, step.item.name, step.kind) }
      try table.write(to: session.output, style: session.outputStyle)
      try session.output.flush()
    }
    func count(_ action: ImportStep.Action) -> Int { steps.count { $0.action == action } }
    var counts = "\(count(.new)) new, \(count(.replace)) replaced, \(count(.unchanged)) unchanged"
    if !refused.isEmpty { counts += ", \(refused.count) not imported" }
    session.say("\(isDryRun ? "would import" : "imported") into '\(group.name)': \(counts)")
    for words in refused { session.say("not imported: \(words)") }
    for loss in losses(steps, group) { session.say("not kept: \(loss)") }
  }

  /// Parts of the file that no item keeps, including former versions of items that already existed, and those that are
  /// more than the group keeps. Values that stand for something else are not resolved.
  private func losses(_ steps: [ImportStep], _ group: AccessGroup) -> [String] {
    var losses = imported.losses
    // The store's own export has them as they were.
    for step in steps where !step.item.isWhole {
      guard let mark = Self.marks.first(where: { step.item.value.starts(with: $0.utf8) }) else { continue }
      losses.append(
        "\(place(of: step.item)): what the value that begins with '\(mark)' stands for; it is kept as it is written")
    }
    let versioned = steps.filter { !$0.item.older.isEmpty }
    guard !versioned.isEmpty else { return losses }
    let keep = (try? group.info().keep) ?? .max
    for step in versioned {
      let older = step.item.older.count
      let missing = step.action == .new ? older + 1 - keep : older - step.formerCount
      guard missing > 0 else { continue }
      let versions = missing == 1 ? "1 former version" : "\(missing) former versions"
      if step.action == .replace {
        losses.append("\(place(of: step.item)): its former versions, because the item exists")
      } else if step.action == .new || step.formerCount + 1 >= keep {
        losses.append("\(place(of: step.item)): \(versions), because the group keeps \(keep)")
      } else {
        losses.append("\(place(of: step.item)): \(versions), because the item exists")
      }
    }
    return losses
  }

  /// How a reference, and a value that sops encrypted, begin.
  private static let marks = [Reference.scheme, "ENC[AES256_GCM,"]

  private func writeJSON(
    _ steps: [ImportStep], _ refused: [String], _ group: AccessGroup, to output: Output
  ) throws(Failure) {
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
        for loss in losses(steps, group) { try json.string(loss) }
      }
      if leavesOut {
        try json.array("notImported") { (json) throws(Failure) in
          for words in refused { try json.string(words) }
        }
      }
    }
  }
}
