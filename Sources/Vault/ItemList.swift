public import GroupFile
internal import Sealing

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
  private var ready: [OpenedRows] = []
  private let opened = Locked(OpenedRows())
  private var thread: SecondThread?
  private var isOpening = false
  private var failure: VaultError?

  private static let batchCount = 256

  private enum Source {
    case file(ReadTransaction, RowWalk, RowOpener)
    /// The items are here already; `vaultd` opens their secrets.
    case service(AccessGroup)
  }

  /// - Parameter text: makes a text of each item, in any thread, so that the list has texts instead of items.
  init(
    _ transaction: ReadTransaction, _ query: ItemQuery, removed: Bool, group: String, text: ItemText? = nil
  ) throws(VaultError) {
    self.group = group
    let state = transaction.view.state
    let opener = RowOpener(state: state, signer: state.signer, query: query, listsRemoved: removed, text: text)
    source = .file(transaction, try inGroup(group, RowWalk(transaction)), opener)
  }

  init(_ items: [Item], _ query: ItemQuery, of group: AccessGroup, text: ItemText? = nil) {
    (source, self.group) = (.service(group), group.name.description)
    var opened = OpenedRows()
    for item in items where query.accepts(item) { opened.add(item, text) }
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
      if texts.count / 1_024 > (texts.count - rows.texts.count) / 1_024 { progress(texts.count) }
    }
    return texts
  }

  /// The next opened rows; `nil` after the last.
  private func nextRows() throws(VaultError) -> OpenedRows? {
    while ready.isEmpty {
      guard case .file(_, let walk, let opener) = source else { return nil }
      if open(walked(walk), opener) { continue }
      if let failure { throw failure.named(group) }
      return nil
    }
    let rows = ready.removeFirst()
    strangeRows += rows.strange.prefix(StrangeRow.limit - strangeRows.count)
    if let failure = rows.failure { throw failure.named(group) }
    return rows
  }

  /// The next rows; empty at the end, or if an error in `failure` ended the walk.
  private func walked(_ walk: RowWalk) -> [UnprovedRow] {
    var rows: [UnprovedRow] = []
    guard failure == nil else { return rows }
    rows.reserveCapacity(ItemList.batchCount)
    do throws(VaultError) {
      while rows.count < ItemList.batchCount, let row = try walk.nextUnproved() { rows.append(row) }
    } catch {
      failure = error
    }
    return rows
  }

  /// Starts opening `rows`, and takes the results of the previous call.
  ///
  /// - Returns: whether there are rows of either kind.
  private func open(_ rows: [UnprovedRow], _ opener: RowOpener) -> Bool {
    var own = OpenedRows()
    guard isOpening || rows.count == ItemList.batchCount else {
      // For a short list a thread costs more than it saves.
      for row in rows { opener.open(row, into: &own) }
      ready = [own]
      return !rows.isEmpty
    }
    let thread = thread ?? SecondThread()
    self.thread = thread
    var rest = rows[...]
    if isOpening {
      // Until the second thread has finished its rows, this one opens some as well.
      while thread.isBusy, let row = rest.popFirst() { opener.open(row, into: &own) }
      thread.wait()
      ready = [opened.withLock { $0 }, own]
    }
    isOpening = !rest.isEmpty
    guard isOpening else { return true }
    thread.begin { [opened, rest] in
      var rows = OpenedRows()
      for row in rest { opener.open(row, into: &rows) }
      opened.withLock { $0 = rows }
    }
    return true
  }

  /// Reads more of the state that the list shows.
  func reading<Result>(_ body: (ReadTransaction) throws(VaultError) -> Result) throws(VaultError) -> Result {
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

/// Makes a text of an item: it appends the text to the bytes.
package typealias ItemText = @Sendable (Item, inout [UInt8]) -> Void
