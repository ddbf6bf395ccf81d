/// A group's current items, one at a time, each proved before it is returned; opens no secret by itself.
///
/// It shows one state of the group for as long as it exists. The order is not that of the names, because names are
/// sealed. For one thread at a time.
public final class ItemList {
  private let source: Source
  private let group: String
  /// The rows skipped so far: a writer signed them, but they are not valid items.
  private(set) var strangeRows: [StrangeRow] = []
  private var items: ArraySlice<Item> = []
  // Rows are found on the caller's thread, and proved and opened on a second one, in batches.
  private var waiting: ArraySlice<UnprovedRow> = []
  /// The rows that the second thread has now.
  private var passed: ArraySlice<UnprovedRow> = []
  private var ready: ArraySlice<OpenedRows> = []
  private let opened = JobResult(OpenedRows())
  private var thread: SecondThread?
  private var isOpening = false
  /// Whether all rows were found.
  private var hasEnded = false
  private var failure: VaultError?

  private static let batchCount = 256

  private enum Source {
    case file(Snapshot, RowWalk, RowOpener)
    /// The items are here already; `vaultd` opens their secrets.
    case service(AccessGroup)
  }

  /// - Parameter text: makes a text of each item, in any thread, so that the list has texts instead of items.
  init(
    _ transaction: Snapshot, _ query: ItemQuery, removed: Bool, group: String, text: ItemText? = nil
  ) throws(VaultError) {
    self.group = group
    let state = transaction.state
    let opener = RowOpener(state: state, signer: state.signer, query: query, listsRemoved: removed, text: text)
    source = .file(transaction, try inGroup(group, RowWalk(transaction)), opener)
  }

  init(_ items: [Item], _ query: ItemQuery, of group: AccessGroup, text: ItemText? = nil) {
    (source, self.group) = (.service(group), group.name.description)
    var opened = OpenedRows()
    for item in items where query.accepts(item) {
      if let text { item.withSummary { opened.texts.add($0, text) } } else { opened.items.append(item) }
    }
    ready = [opened]
  }

  deinit { thread?.wait() }

  /// The next item whose name begins with the prefix; `nil` after the last.
  ///
  /// Rows that a writer signed but that are not valid items are passed over; the end is then an error instead of `nil`.
  ///
  /// - Throws: ``VaultError/damaged(group:level:detail:)`` and ``VaultError/storage(_:)``.
  public func next() throws(VaultError) -> Item? {
    if let item = try nextItem() { return item }
    guard strangeRows.isEmpty else { throw .strangeRows(group: group) }
    return nil
  }

  func nextItem() throws(VaultError) -> Item? {
    while true {
      if let item = items.popFirst() { return item }
      guard let rows = try nextRows() else { return nil }
      items = rows.items[...]
    }
  }

  func texts(progress: (Int) -> Void) throws(VaultError) -> ItemTexts {
    var texts = ItemTexts()
    while let rows = try nextRows() {
      texts.add(rows.texts)
      if texts.count == rows.texts.count, case .file(let transaction, _, _) = source {
        texts.reserve(Int(min(transaction.state.manifest.itemCount, 1 << 20)))
      }
      if texts.count / 1_024 > (texts.count - rows.texts.count) / 1_024 { progress(texts.count) }
    }
    return texts
  }

  private func nextRows() throws(VaultError) -> OpenedRows? {
    if ready.isEmpty, case .file(_, let walk, let opener) = source { try openRows(walk, opener) }
    guard let rows = ready.popFirst() else {
      if let failure { throw failure.named(group) }
      return nil
    }
    strangeRows += rows.strange.prefix(StrangeRow.limit - strangeRows.count)
    if let failure = rows.failure { throw failure.named(group) }
    return rows
  }

  /// Finds and opens rows until the second thread has finished some, or until the end.
  ///
  /// The second thread always finds rows that wait for it: if it had to sleep between two runs, a sixth of its time would
  /// pass in that. While enough of them wait, this thread opens some as well.
  private func openRows(_ walk: RowWalk, _ opener: RowOpener) throws(VaultError) {
    var own = OpenedRows()
    var hasOwn = false
    defer { if hasOwn { ready.append(own) } }
    while true {
      if thread?.isBusy != true {
        let finished = isOpening ? try take() : nil
        // For a short list a thread costs more than it saves.
        if waiting.count >= ItemList.batchCount / 4, opener.state.manifest.itemCount >= ItemList.batchCount {
          begin(opener)
        }
        if let finished { return ready.append(finished) }
      }
      if !hasEnded, waiting.count < ItemList.batchCount {
        find(walk)
      } else if let row = waiting.popFirst() {
        opener.open(row, into: &own)
        hasOwn = true
      } else if isOpening {
        return ready.append(try take())
      } else {
        return
      }
    }
  }

  /// Finds the next row; an error in `failure` ends the walk, too.
  private func find(_ walk: RowWalk) {
    do throws(VaultError) {
      if let row = try walk.nextUnproved() { waiting.append(row) } else { hasEnded = true }
    } catch {
      failure = error
      hasEnded = true
    }
  }

  /// Passes the rows that wait to the second thread, or half of them if they are the last ones.
  private func begin(_ opener: RowOpener) {
    let thread = thread ?? SecondThread()
    self.thread = thread
    let rows = hasEnded ? waiting.prefix(waiting.count / 2) : waiting
    waiting = waiting[rows.endIndex...]
    isOpening = true
    // The rows of the previous run are freed here, while the second thread works again.
    let freed = passed
    defer { extendLifetime(freed) }
    passed = rows
    thread.begin(opened) { () throws(VaultError) in
      var result = OpenedRows()
      for row in rows { opener.open(row, into: &result) }
      return result
    }
  }

  private func take() throws(VaultError) -> OpenedRows {
    thread?.wait()
    isOpening = false
    return try opened.get()
  }

  /// Reads more of the state that the list shows.
  func reading<Result>(_ body: (Snapshot) throws(VaultError) -> Result) throws(VaultError) -> Result {
    guard case .file(let transaction, _, _) = source else { throw .denied(.throughService) }
    return try inGroup(group, body(transaction))
  }

  /// Opens the secret of `name` in the state that the list shows, and returns it with the item's metadata.
  ///
  /// - Throws: ``VaultError/notFound(_:)``, and as ``next()``.
  public func open(_ name: String) throws(VaultError) -> OpenedItem {
    switch source {
    case .service(let group): try group.open(name)
    case .file(let transaction, _, _): try OneState(transaction, group: group).open(name)
    }
  }
}
