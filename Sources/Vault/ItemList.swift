public import GroupFile
import KeyedArchives
internal import Sealing

/// Which items of a group a list returns; by default all of them.
public struct ItemQuery: Sendable, Equatable {
  /// Only items whose names begin with this; compared in NFC, byte by byte.
  public var prefix: String
  /// Only items that have all these attributes. A value that ends with `*` also stands for every value that begins with the
  /// text before the asterisk.
  public var attributes: [String: String]
  /// Only items with this text in their name, label or attributes, ignoring case.
  public var text: String? {
    didSet { lowercased = text?.lowercased() }
  }
  /// Only items that expire at this moment or earlier.
  public var expiresBy: Timestamp?
  /// Whether items that the service keeps beside others are left out.
  package var skipsCompanions = false
  private var lowercased: String?

  public init(
    prefix: String = "", attributes: [String: String] = [:], text: String? = nil, expiresBy: Timestamp? = nil
  ) {
    (self.prefix, self.attributes, self.text, self.expiresBy) = (prefix, attributes, text, expiresBy)
    lowercased = text?.lowercased()
  }

  /// Whether an item, whose name begins with the prefix, fulfils the rest of the query.
  package func accepts(_ item: Item) -> Bool {
    guard !skipsCompanions || !item.name.isCompanion, hasAttributes(item),
      expiresBy.map({ item.expires ?? .never <= $0 }) ?? true
    else { return false }
    guard let lowercased else { return true }
    let texts = [item.name.description, item.label ?? ""] + item.attributes.flatMap { [$0.key, $0.value] }
    return texts.contains { $0.lowercased().holds(lowercased) }
  }

  package func hasAttributes(_ item: Item) -> Bool {
    attributes.allSatisfy { key, wanted in
      guard let value = item.attributes[key] else { return false }
      if value == wanted { return true }
      // Bytes are compared, because a mark after the beginning would join its last character.
      return wanted.utf8.last == UInt8(ascii: "*") && value.utf8.starts(with: wanted.utf8.dropLast())
    }
  }
}

extension Timestamp {
  fileprivate static let never = Timestamp(milliseconds: .max)
}

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

  /// The texts of all items.
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

/// What a list's rows hold.
private struct OpenedRows: Sendable {
  var items: [Item] = []
  var texts = ItemTexts()
  var strange: [StrangeRow] = []
  /// The first defect; rows after it are not opened.
  var failure: VaultError?

  mutating func add(_ item: Item, _ text: ItemText?) {
    if let text { texts.add(item, text) } else { items.append(item) }
  }
}

/// Proves and opens the rows of a list; on any thread.
private struct RowOpener: Sendable {
  let state: VerifiedState
  let signer: Writer?
  let query: ItemQuery
  let listsRemoved: Bool
  let text: ItemText?

  func open(_ unproved: UnprovedRow, into opened: inout OpenedRows) {
    guard opened.failure == nil else { return }
    do throws(VaultError) {
      try unproved.prove()
      if let item = try item(unproved.row, &opened.strange), query.accepts(item) { opened.add(item, text) }
    } catch {
      opened.failure = error
    }
  }

  /// The item of a proved row; `nil` if it is not wanted, or not a valid item.
  private func item(_ row: Row, _ strange: inout [StrangeRow]) throws(VaultError) -> Item? {
    func skip(_ reason: String) -> Item? {
      strange.append(StrangeRow(token: row.token.hexadecimal, reason: reason))
      return nil
    }
    guard row.version < GroupLimits.lastVersion else { return skip("a version that no other can follow") }
    guard (row.state == .present) != listsRemoved else { return nil }
    do throws(VaultError) {
      let attributes = try state.keys.attributes(of: row)
      let prefix = query.prefix
      guard
        prefix.isEmpty || attributes.name.utf8.starts(with: prefix.utf8) || Item.Name(stored: attributes.name) == nil
      else { return nil }
      guard let item = try? Item(row, attributes, signedBy: signer) else {
        return skip("a name that no item can have")
      }
      return item
    } catch .damaged(_, .row, let detail) {
      // The list has proved the row, so a writer signed exactly this.
      return skip(detail)
    } catch {
      throw error
    }
  }
}

/// A row that a writer of a group signed but that is not a valid item: its name is invalid or belongs to another place,
/// it does not open, or its version number is the highest possible. Only a program other than Vault writes such a row.
public struct StrangeRow: Sendable, Equatable {
  /// The row's place, 32 hexadecimal digits: ``SecretStore/removeRow(_:from:progress:)`` takes it.
  public let token: String
  /// What is wrong with it.
  public let reason: String

  /// The highest number of such rows that one list keeps.
  static let limit = 1_000
}

extension AccessGroup {
  /// The current items whose names begin with `prefix`, one at a time, in no particular order.
  ///
  /// - Parameter prefix: compared in NFC, byte by byte.
  /// - Throws: ``VaultError/invalid(_:)`` for a prefix that no valid name has.
  public func list(prefix: String = "") throws(VaultError) -> ItemList { try list(ItemQuery(prefix: prefix)) }

  /// The current items that match `query`, one at a time, in no particular order. Rows are read, proved and opened as the
  /// caller asks for items.
  ///
  /// - Throws: ``VaultError/invalid(_:)`` for a prefix that no valid name has.
  public func list(_ query: ItemQuery) throws(VaultError) -> ItemList {
    try observed(.read) { () throws(VaultError) in try list(query, removed: false) }
  }

  private func list(_ query: ItemQuery, removed: Bool, text: ItemText? = nil) throws(VaultError) -> ItemList {
    var query = query
    if !query.prefix.isEmpty { query.prefix = try Item.Name(query.prefix).description }
    if let service {
      var call = try call(.list, query.prefix)
      call.listsRemoved = removed
      return ItemList(try service.answer(to: call).items, query, of: self, text: text)
    }
    return try ItemList(beginReading(), query, removed: removed, group: name.description, text: text)
  }

  /// The current items whose names begin with `prefix`, sorted by the bytes of their names.
  ///
  /// - Parameters:
  ///   - prefix: compared in NFC, byte by byte.
  ///   - progress: called now and then with the number of items read so far.
  /// - Throws: as ``list(prefix:)`` and ``ItemList/next()``.
  public func items(prefix: String = "", progress: (Int) -> Void = { _ in }) throws(VaultError) -> [Item] {
    let (items, strange) = try listing(prefix: prefix, progress: progress)
    guard strange.isEmpty else { throw .strangeRows(group: name.description) }
    return items
  }

  /// As ``items(prefix:progress:)``, but returns the rows that are not valid items, at most 1,000, instead of an error.
  public func listing(
    prefix: String = "", removed: Bool = false, progress: (Int) -> Void = { _ in }
  ) throws(VaultError) -> (items: [Item], strange: [StrangeRow]) {
    try listing(ItemQuery(prefix: prefix), removed: removed, progress: progress)
  }

  /// As ``listing(prefix:removed:progress:)``, of the items that match `query`.
  package func listing(
    _ query: ItemQuery, removed: Bool, progress: (Int) -> Void
  ) throws(VaultError) -> (items: [Item], strange: [StrangeRow]) {
    try observed(.read) { () throws(VaultError) in try all(query, removed: removed, progress: progress) }
  }

  /// As ``listing(_:removed:progress:)``, but no observer hears of it.
  func all(
    _ query: ItemQuery = ItemQuery(), removed: Bool = false, progress: (Int) -> Void = { _ in }
  ) throws(VaultError) -> (items: [Item], strange: [StrangeRow]) {
    let list = try list(query, removed: removed)
    var items: [Item] = []
    var names = JoinedTexts()
    while let item = try list.nextItem() {
      items.append(item)
      names.append(item.name.description)
      if items.count % 1_024 == 0 { progress(items.count) }
    }
    names.sort(&items)
    return (items, list.strangeRows)
  }

  /// As ``listing(_:removed:progress:)``, but with a text for each item instead of the item.
  package func texts(
    _ query: ItemQuery, removed: Bool, progress: (Int) -> Void, text: @escaping ItemText
  ) throws(VaultError) -> (texts: ItemTexts, strange: [StrangeRow]) {
    try observed(.read) { () throws(VaultError) in
      let list = try list(query, removed: removed, text: text)
      return (try list.texts(progress: progress), list.strangeRows)
    }
  }
}
