package import Sealing

/// An item as it stands in a snapshot: a proved row and its opened attributes.
package struct StoredItem: Sendable {
  package let row: Row
  package let attributes: Attributes

  package init(row: Row, attributes: Attributes) {
    self.row = row
    self.attributes = attributes
  }

  package var isPresent: Bool { row.state == .present }
}

/// What both a snapshot and a write transaction answer.
package protocol ItemReading: AnyObject {
  var view: Snapshot { get }

  /// The digest of the current row at `token`, changes of an open transaction included; `nil` is a proof of absence.
  func provedDigest(of token: Token) throws(GroupFileError) -> Digest?
}

extension Snapshot: ItemReading {
  package var view: Snapshot { self }

  package func provedDigest(of token: Token) throws(GroupFileError) -> Digest? { try digest(of: token) }
}

extension ItemReading {
  /// The current row of `name`, tombstones included; `nil` is proved.
  package func storedRow(_ name: String) throws(GroupFileError) -> Row? {
    try storedRow(at: view.state.keys.token(of: name))
  }

  /// The current row at `token`, tombstones included; `nil` is proved.
  package func storedRow(at token: Token) throws(GroupFileError) -> Row? {
    guard let digest = try provedDigest(of: token) else { return nil }
    return try view.row(token, digest: digest)
  }

  /// The current version of `name`, tombstones included; `nil` is proved.
  package func stored(_ name: String) throws(GroupFileError) -> StoredItem? {
    guard let row = try storedRow(name) else { return nil }
    return try item(row, name)
  }

  /// The current version of `name`, whose token is `token`; otherwise as `stored(_:)`.
  package func stored(_ name: String, at token: Token) throws(GroupFileError) -> StoredItem? {
    guard let row = try storedRow(at: token) else { return nil }
    return try item(row, name)
  }

  /// The present item `name`.
  ///
  /// - Throws: `noItem` if it is absent or removed.
  package func present(_ name: String) throws(GroupFileError) -> StoredItem {
    guard let item = try stored(name), item.isPresent else { throw .noItem }
    return item
  }

  /// `version` of `name`, which must be kept and hold a value.
  ///
  /// - Throws: `noItem`, `noVersion`.
  package func present(_ name: String, version: UInt64) throws(GroupFileError) -> StoredItem {
    guard let current = try storedRow(name) else { throw .noItem }
    guard version <= current.version, version >= current.oldest else { throw .noVersion(version) }
    var row = current
    while row.version > version, let older = try view.predecessor(of: row, oldest: current.oldest) { row = older }
    guard row.version == version, row.state == .present else { throw .noVersion(version) }
    return try item(row, name)
  }

  /// All kept versions of `name`, the newest first, tombstones included.
  ///
  /// - Throws: `noItem`.
  package func history(_ name: String) throws(GroupFileError) -> [StoredItem] {
    guard let current = try storedRow(name) else { throw .noItem }
    var versions = [try item(current, name)]
    var row = current
    while let older = try view.predecessor(of: row, oldest: current.oldest) {
      versions.append(try item(older, name))
      row = older
    }
    return versions
  }

  private func item(_ row: Row, _ name: String) throws(GroupFileError) -> StoredItem {
    StoredItem(row: row, attributes: try view.attributes(of: row, named: name))
  }
}
