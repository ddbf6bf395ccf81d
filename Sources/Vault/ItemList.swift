internal import GroupFile
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
  private let query: ItemQuery
  /// The rows skipped so far: a writer signed them, but they are not valid items.
  private(set) var strangeRows: [StrangeRow] = []
  // Rows are found on the caller's thread, and proved and opened on a second one, in batches.
  private var ready: ArraySlice<RowOpener.Outcome> = []
  private let opened = Locked<[RowOpener.Outcome]>([])
  private var thread: SecondThread?
  private var isOpening = false
  private var failure: GroupFileError?

  private static let batchCount = 256

  private enum Source {
    case file(ReadTransaction, RowWalk, RowOpener)
    /// The items are here already; `vaultd` opens their secrets.
    case service(AccessGroup)
  }

  init(_ transaction: ReadTransaction, _ query: ItemQuery, removed: Bool, group: String) throws(VaultError) {
    self.query = query
    self.group = group
    let state = transaction.view.state
    let opener = RowOpener(state: state, signer: state.signer, prefix: query.prefix, listsRemoved: removed)
    source = .file(transaction, try inGroup(group, RowWalk(transaction)), opener)
  }

  init(_ items: [Item], _ query: ItemQuery, of group: AccessGroup) {
    (source, self.query, self.group) = (.service(group), query, group.name.description)
    ready = items.map(RowOpener.Outcome.item)[...]
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
      while let outcome = ready.popFirst() {
        switch outcome {
        case .item(let item): if query.accepts(item) { return item }
        case .unwanted: continue
        case .strange(let row): if strangeRows.count < StrangeRow.limit { strangeRows.append(row) }
        case .failed(let error): throw VaultError(error, group: group)
        }
      }
      guard case .file(_, let walk, let opener) = source else { return nil }
      if open(walked(walk), opener) { continue }
      if let failure { throw VaultError(failure, group: group) }
      return nil
    }
  }

  /// The next rows; empty at the end, or if an error in `failure` ended the walk.
  private func walked(_ walk: RowWalk) -> [UnprovedRow] {
    var rows: [UnprovedRow] = []
    guard failure == nil else { return rows }
    do throws(GroupFileError) {
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
    guard isOpening || rows.count == ItemList.batchCount else {
      // For a short list a thread costs more than it saves.
      ready = rows.map(opener.open)[...]
      return !rows.isEmpty
    }
    let thread = thread ?? SecondThread()
    self.thread = thread
    var rest = rows[...]
    if isOpening {
      // Until the second thread has finished its rows, this one opens some as well.
      var own: [RowOpener.Outcome] = []
      while thread.isBusy, let row = rest.popFirst() { own.append(opener.open(row)) }
      thread.wait()
      ready = opened.withLock { $0 + own }[...]
    }
    isOpening = !rest.isEmpty
    guard isOpening else { return !ready.isEmpty }
    thread.begin { [opened, rest] in
      let outcomes = rest.map(opener.open)
      opened.withLock { $0 = outcomes }
    }
    return true
  }

  /// Reads more of the state that the list shows.
  func reading<Result>(_ body: (ReadTransaction) throws(GroupFileError) -> Result) throws(VaultError) -> Result {
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

/// Proves and opens the rows of a list; on any thread.
private struct RowOpener: Sendable {
  /// The result of opening a row.
  enum Outcome: Sendable {
    case item(Item)
    case unwanted
    case strange(StrangeRow)
    case failed(GroupFileError)
  }

  let state: VerifiedState
  let signer: Writer?
  let prefix: String
  let listsRemoved: Bool

  func open(_ unproved: UnprovedRow) -> Outcome {
    do { try unproved.prove() } catch { return .failed(error) }
    let row = unproved.row
    guard row.version < GroupLimits.lastVersion else { return strange(row, "a version that no other can follow") }
    guard (row.state == .present) != listsRemoved else { return .unwanted }
    do throws(GroupFileError) {
      let attributes = try state.attributes(of: row)
      guard
        prefix.isEmpty || attributes.name.utf8.starts(with: prefix.utf8) || Item.Name(stored: attributes.name) == nil
      else { return .unwanted }
      guard let item = try? Item(row, attributes, signedBy: signer) else {
        return strange(row, "a name that no item can have")
      }
      return .item(item)
    } catch .damaged(.row, let detail) {
      // The list has proved the row, so a writer signed exactly this.
      return strange(row, detail)
    } catch {
      return .failed(error)
    }
  }

  private func strange(_ row: Row, _ reason: String) -> Outcome {
    .strange(StrangeRow(token: row.token.hexadecimal, reason: reason))
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

  private func list(_ query: ItemQuery, removed: Bool) throws(VaultError) -> ItemList {
    var query = query
    if !query.prefix.isEmpty { query.prefix = try Item.Name(query.prefix).description }
    if let service {
      var call = try call(.list, query.prefix)
      call.listsRemoved = removed
      return ItemList(try service.answer(to: call).items, query, of: self)
    }
    return try ItemList(beginReading(), query, removed: removed, group: name.description)
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
    while let item = try list.nextItem() {
      items.append(item)
      if items.count % 1_024 == 0 { progress(items.count) }
    }
    sortByName(&items)
    return (items, list.strangeRows)
  }

  /// Sorts the items by the bytes of their names. The eight bytes after the common beginning decide nearly always.
  private func sortByName(_ items: inout [Item]) {
    guard let first = items.first?.name.description.utf8 else { return }
    var shared = first.count
    for item in items { shared = zip(first.prefix(shared), item.name.description.utf8).prefix { $0 == $1 }.count }
    var places = items.indices.map { (key: items[$0].name.description.word(after: shared), index: $0) }
    places.sort {
      guard $0.key == $1.key else { return $0.key < $1.key }
      // Strings in NFC compare in the order of their bytes.
      return items[$0.index].name.description < items[$1.index].name.description
    }
    // Each item moves to its place, cycle by cycle. A copy of the array would count one more reference of each, and
    // most are in no cache by then.
    for start in places.indices {
      var place = start
      while places[place].index != start {
        let next = places[place].index
        items.swapAt(place, next)
        places[place].index = place
        place = next
      }
      places[place].index = place
    }
  }
}

extension String {
  /// The eight bytes after the first `count` as a number in the order of the bytes; zeros follow a text that ends before.
  fileprivate func word(after count: Int) -> UInt64 {
    var word: UInt64 = 0
    for byte in utf8.dropFirst(count).prefix(8) { word = word << 8 | UInt64(byte) }
    return word << (8 * UInt64(8 - min(8, max(0, utf8.count - count))))
  }
}
