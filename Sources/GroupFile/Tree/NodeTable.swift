import Sealing

/// Table `node`: the tree's nodes by their places. It is a cache that `repair` can rebuild; each body is proved by its
/// digest whenever it is used.
extension Connection {
  /// The stored body at `place`, unproved.
  func nodeBody(at place: TreePlace) throws(GroupFileError) -> [UInt8]? {
    let statement = try statement("SELECT body FROM node WHERE prefix = ?")
    defer { statement.reset() }
    try statement.bind(1, place.key)
    guard try statement.step() else { return nil }
    return unsafe Array(try statement.blob(0, count: 34...TreeNode.leafCapacity * 48))
  }

  /// Writes the body at `place`.
  func storeNode(_ body: [UInt8], at place: TreePlace) throws(GroupFileError) {
    let statement = try statement(
      "INSERT INTO node(prefix, body) VALUES(?, ?) ON CONFLICT(prefix) DO UPDATE SET body = excluded.body")
    defer { statement.reset() }
    try statement.bind(1, place.key)
    try statement.bind(2, body)
    _ = try statement.step()
  }

  /// All bodies in rising order of their keys, unproved.
  func nodes() throws(GroupFileError) -> Statement { try statement("SELECT prefix, body FROM node ORDER BY prefix") }
}
