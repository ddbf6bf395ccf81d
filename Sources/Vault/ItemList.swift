internal import GroupFile
internal import Sealing

/// A group's present items, one at a time, each proved before it is given; opens no secret by itself.
///
/// It shows one state of the group until it is let go, however long that takes. The order is not that of the names: names
/// are sealed. For one thread at a time.
public final class ItemList {
  private let transaction: ReadTransaction
  private let walk: RowWalk
  private let opener: RowOpener
  private let group: String
  /// Rows that a writer signed and that no item can be: passed over so far.
  private(set) var strangeRows: [StrangeRow] = []
  // Rows are proved on the caller's thread and opened on a second one, so many at a time.
  private var ready: ArraySlice<RowOpener.Outcome> = []
  private let opened = Locked<[RowOpener.Outcome]>([])
  private var thread: SecondThread?
  private var isOpening = false
  private var failure: GroupFileError?

  private static let batchCount = 256

  init(_ transaction: ReadTransaction, prefix: String, removed: Bool, group: String) throws(VaultError) {
    self.transaction = transaction
    self.group = group
    let state = transaction.view.state
    opener = RowOpener(state: state, signer: state.signer, prefix: prefix, listsRemoved: removed)
    do { walk = try RowWalk(transaction) } catch { throw VaultError(error, group: group) }
  }

  deinit { thread?.wait() }

  /// The next item whose name begins with the prefix; `nil` after the last.
  ///
  /// Rows that a writer signed and that no item can be are passed over; then the end is an error instead of `nil`.
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
        case .item(let item): return item
        case .unwanted: continue
        case .strange(let row): if strangeRows.count < StrangeRow.limit { strangeRows.append(row) }
        case .failed(let error): throw VaultError(error, group: group)
        }
      }
      if open(walked()) { continue }
      if let failure { throw VaultError(failure, group: group) }
      return nil
    }
  }

  /// The next rows, proved; none at the end, or where `failure` says why there are no more.
  private func walked() -> [Row] {
    var rows: [Row] = []
    guard failure == nil else { return rows }
    do throws(GroupFileError) {
      while rows.count < ItemList.batchCount, let row = try walk.next() { rows.append(row) }
    } catch {
      failure = error
    }
    return rows
  }

  /// Has `rows` opened, and takes over those that were given here before.
  ///
  /// - Returns: whether there are any of either.
  private func open(_ rows: [Row]) -> Bool {
    let hadJob = isOpening
    if hadJob {
      thread?.wait()
      ready = opened.withLock { $0 }[...]
    }
    isOpening = hadJob || rows.count == ItemList.batchCount
    guard isOpening, !rows.isEmpty else {
      // A short list is not worth a thread.
      if !hadJob { ready = rows.map(opener.open)[...] }
      isOpening = false
      return hadJob || !rows.isEmpty
    }
    let thread = thread ?? SecondThread()
    self.thread = thread
    thread.begin { [opener, opened] in
      let outcomes = rows.map(opener.open)
      opened.withLock { $0 = outcomes }
    }
    return true
  }

  /// Opens the secret of `name` in the state that the list shows, and tells what there is to tell about it.
  ///
  /// - Throws: ``VaultError/notFound(_:)``, and as ``next()``.
  public func open(_ name: String) throws(VaultError) -> OpenedItem {
    let name = try Item.Name(name).description
    do {
      let stored = try transaction.present(name)
      return OpenedItem(
        item: try Item(stored, in: transaction.view.state), secret: Secret(try transaction.view.secret(of: stored.row)))
    } catch let error as GroupFileError {
      throw VaultError(error, group: group)
    } catch {
      throw (error as? VaultError) ?? .unexpected("an item that cannot be opened")
    }
  }
}

/// Opens proved rows for a list; on any thread.
private struct RowOpener: Sendable {
  /// What a row turned out to be.
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

  func open(_ row: Row) -> Outcome {
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
      // The walk has proved the row: a writer signed it as it is.
      return strange(row, detail)
    } catch {
      return .failed(error)
    }
  }

  private func strange(_ row: Row, _ reason: String) -> Outcome {
    .strange(StrangeRow(token: row.token.hexadecimal, reason: reason))
  }
}

/// A row that a writer of a group signed and that no item can be: its name is none, or stands in another's place, it does not
/// open, or its version leaves no room for another. Only a program that is not Vault writes one.
public struct StrangeRow: Sendable, Equatable {
  /// Where the row stands, 32 hexadecimal digits: what ``SecretStore/removeRow(_:from:progress:)`` takes.
  public let token: String
  /// What is wrong with it.
  public let reason: String

  /// No more are kept of one list.
  static let limit = 1_000
}

extension AccessGroup {
  /// The present items whose names begin with `prefix`, one at a time, in no particular order.
  ///
  /// - Parameter prefix: compared in NFC, byte by byte.
  /// - Throws: ``VaultError/invalid(_:)`` for a prefix that no name can have.
  public func list(prefix: String = "") throws(VaultError) -> ItemList { try list(prefix: prefix, removed: false) }

  private func list(prefix: String, removed: Bool) throws(VaultError) -> ItemList {
    let prefix = prefix.isEmpty ? "" : try Item.Name(prefix).description
    let transaction: ReadTransaction
    do { transaction = try file.beginReading() } catch { throw VaultError(error, group: name.description) }
    notices.post(transaction.view.notices, of: name)
    return try ItemList(transaction, prefix: prefix, removed: removed, group: name.description)
  }

  /// The present items whose names begin with `prefix`, in order of their names' bytes.
  ///
  /// - Parameters:
  ///   - prefix: compared in NFC, byte by byte.
  ///   - progress: called now and then with the number of items read so far.
  /// - Throws: as ``list(prefix:)`` and ``ItemList/next()``.
  public func items(
    prefix: String = "", progress: (Int) -> Void = { _ in }
  ) throws(VaultError) -> [Item] {
    let (items, strange) = try listing(prefix: prefix, progress: progress)
    guard strange.isEmpty else { throw .strangeRows(group: name.description) }
    return items
  }

  /// As ``items(prefix:progress:)``, with the rows that no item can be, a thousand at most, instead of an error for them.
  public func listing(
    prefix: String = "", removed: Bool = false, progress: (Int) -> Void = { _ in }
  ) throws(VaultError) -> (items: [Item], strange: [StrangeRow]) {
    let list = try list(prefix: prefix, removed: removed)
    var items: [Item] = []
    while let item = try list.nextItem() {
      items.append(item)
      if items.count % 1_024 == 0 { progress(items.count) }
    }
    // Strings in NFC compare as their bytes do, and those of ASCII at once.
    items.sort { $0.name.description < $1.name.description }
    return (items, list.strangeRows)
  }
}
