import Sealing

/// Gives a group a new key: opens every version of every item and seals it again, at the place that its name has under the
/// new key (format article, "Rotation").
///
/// Versions, dates, writers, value epochs and removals stay; the first version kept of an item has no predecessor any more.
struct Rotation {
  private let view: Snapshot
  private let seal: RowSeal
  private var current: [Row] = []
  private var older: [Row] = []
  /// The large values under the old key.
  private var oldBlobs: [(token: Token, version: UInt64)] = []
  /// The versions of the item at hand, the oldest first.
  private var pending: [Row] = []

  private var connection: Connection { view.connection }

  /// Proves and seals everything, and replaces the rows in the open transaction.
  ///
  /// Sealed rows are kept in memory until all are proved, large values are not.
  ///
  /// - Returns: the root of the new tree.
  static func run(
    _ view: Snapshot, under keys: GroupKeys, _ progress: (RotationStep) -> Void
  ) throws(GroupFileError) -> Digest {
    var rotation = Rotation(view: view, seal: RowSeal(keys))
    _ = try FullProof.run(
      view, progress: { progress(.sealed($0)) },
      content: { (row, attributes, secret) throws(GroupFileError) in
        try rotation.seal(row, attributes, secret)
      },
      visit: { (_) throws(GroupFileError) in rotation.endItem() })
    return try rotation.write(progress)
  }

  private init(view: Snapshot, seal: RowSeal) {
    self.view = view
    self.seal = seal
    current.reserveCapacity(Int(min(view.state.manifest.itemCount, 1 << 20)))
  }

  /// Seals one version; an item's come oldest first, and end with the current one.
  private mutating func seal(
    _ row: Row, _ attributes: Attributes, _ secret: OpenedSecret?
  ) throws(GroupFileError) {
    let token = pending.last?.token ?? seal.keys.token(of: attributes.name)
    var attributes = attributes
    // No value was written after the last state: a member who says so would keep it from being listed when he is gone.
    attributes.valueEpoch = min(attributes.valueEpoch, view.state.manifest.epoch)
    let (new, blob) = try seal.row(
      attributes, secret, token: token, version: row.version, oldest: row.oldest,
      previous: pending.last?.digest ?? .zero)
    if row.place == .blob { oldBlobs.append((row.token, row.version)) }
    if let blob { try connection.insertBlob(token, version: row.version, blob) }
    pending.append(new)
  }

  private mutating func endItem() {
    current.append(pending.removeLast())
    older += pending
    pending.removeAll(keepingCapacity: true)
  }

  /// Puts the new rows in the place of the old ones, in the order of the file.
  private mutating func write(_ progress: (RotationStep) -> Void) throws(GroupFileError) -> Digest {
    for (token, version) in oldBlobs { try connection.dropBlob(token, version: version) }
    try connection.empty("DELETE FROM item")
    try connection.empty("DELETE FROM version")
    try connection.empty("DELETE FROM node")
    older.sort { ($0.token, $0.version) < ($1.token, $1.version) }
    for row in older { try connection.insertOlder(row) }
    current.sort { $0.token < $1.token }
    var tree = TreeBuilder(reservingCapacity: current.count)
    for (index, row) in current.enumerated() {
      try connection.insertCurrent(row)
      try tree.append(TreeEntry(token: row.token, digest: row.digest))
      if index % 1_024 == 1_023 { progress(.written(UInt64(index + 1))) }
    }
    return try tree.finish { (place, body) throws(GroupFileError) in try connection.storeNode(body, at: place) }
  }
}
