import Sealing

extension AccessGroupFile {
  /// Drops tombstones with their history and gives freed pages back to the file system.
  ///
  /// The whole file is proved first: the new tree takes over every other row.
  ///
  /// - Parameter progress: called now and then with the number of rows proved so far.
  /// - Returns: how many tombstones went.
  /// - Throws: and then nothing is changed.
  package func compact(progress: (UInt64) -> Void = { _ in }) throws(GroupFileError) -> UInt64 {
    let session = try beginSession()
    let view = try snapshot(session.connection, witness.read(), strict: true)
    try view.state.confirmRoster(session.connection)
    try view.state.requireWriter()
    var kept = TreeBuilder()
    var tombstones: [Row] = []
    _ = try FullProof.run(
      view, progress: progress,
      visit: { (row) throws(GroupFileError) in
        if row.state == .removed {
          tombstones.append(row)
        } else {
          try kept.append(TreeEntry(token: row.token, digest: row.digest))
        }
      })
    if !tombstones.isEmpty { try drop(tombstones, kept, view, session) }
    session.vacuums = true
    session.end()
    return UInt64(tombstones.count)
  }

  private func drop(
    _ tombstones: [Row], _ kept: TreeBuilder, _ view: Snapshot, _ session: WriteSession
  ) throws(GroupFileError) {
    let connection = session.connection
    var versions: UInt64 = 0
    for row in tombstones {
      try connection.dropCurrent(row.token)
      try connection.dropVersions(of: row.token, below: row.version + 1)
      versions += row.version - row.oldest
    }
    try connection.empty("DELETE FROM node")
    let root = try kept.finish { (place, body) throws(GroupFileError) in try connection.storeNode(body, at: place) }
    let manifest = view.state.successor(
      root: root, itemCount: view.state.manifest.itemCount - UInt64(tombstones.count),
      versionRowCount: view.state.manifest.versionRowCount - versions, time: now())
    let state = try session.sign(manifest, after: view.state, by: context.seed)
    try session.commit()
    view.raise(witness, to: state)
    known.update(state)
  }
}

extension Connection {
  fileprivate func dropCurrent(_ token: Token) throws(GroupFileError) {
    let statement = try statement("DELETE FROM item WHERE token = ?")
    defer { statement.reset() }
    try statement.bind(1, token.bytes)
    _ = try statement.step()
  }
}
