import Sealing

/// Table `node`: the tree's nodes by their places. It is a cache that `repair` can rebuild; each body is proved by its
/// digest at every use.
extension Connection {
  /// Lends the stored body at `place`, unproved; `nil` if there is none.
  func withNodeBody<Result>(
    at place: TreePlace, _ body: (UnsafeRawBufferPointer) throws(GroupFileError) -> Result
  ) throws(GroupFileError) -> Result? {
    let statement = try statement("SELECT body FROM node WHERE prefix = ?")
    defer { statement.reset() }
    try unsafe place.withKey { (key) throws(GroupFileError) in _ = try unsafe statement.bind(1, key) }
    guard try statement.step() else { return nil }
    return try unsafe body(statement.blob(0, count: 34...TreeNode.leafCapacity * 48))
  }

  /// The stored body at `place`, unproved.
  func nodeBody(at place: TreePlace) throws(GroupFileError) -> [UInt8]? {
    unsafe try withNodeBody(at: place) { (body) throws(GroupFileError) in unsafe Array(body) }
  }

  /// Writes the body at `place`.
  func storeNode(_ body: [UInt8], at place: TreePlace) throws(GroupFileError) {
    let statement = try statement(
      "INSERT INTO node(prefix, body) VALUES(?, ?) ON CONFLICT(prefix) DO UPDATE SET body = excluded.body")
    defer { statement.reset() }
    try unsafe place.withKey { (key) throws(GroupFileError) in _ = try unsafe statement.bind(1, key) }
    try statement.bind(2, body)
    _ = try statement.step()
  }

  /// All bodies in rising order of their keys, unproved.
  func nodes() throws(GroupFileError) -> Statement { try statement("SELECT prefix, body FROM node ORDER BY prefix") }
}
