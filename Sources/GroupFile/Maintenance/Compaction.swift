extension AccessGroupFile {
  /// Drops tombstones with their history, returns free pages to the file system, and returns the number of tombstones.
  /// The file is changed in place, because another Unix user cannot make a folder next to the group's. The whole file
  /// is proved first, because the new tree adopts every other row; on an error it is unchanged. `unfreed` is called with
  /// the error that kept the free pages in the file, such as a full disk.
  package func compact(
    progress: (UInt64) -> Void = { _ in }, unfreed: (VaultError) -> Void = { _ in }
  ) throws(VaultError) -> UInt64 {
    let session = try beginSession()
    let view = try snapshot(session.connection, witness.readToWrite(), strict: true)
    try view.state.confirmRoster(session.connection)
    try view.state.requireWriter()
    // A log has no way to say that rows are gone, but for a new file, which a new key makes.
    guard !view.state.isPublished else { throw .contradiction(.notByLog) }
    var kept = TreeBuilder()
    var tombstones: [Row] = []
    _ = try FullProof.run(
      view, progress: progress,
      visit: { (row) throws(VaultError) in
        if row.state == .removed {
          tombstones.append(row)
        } else {
          try kept.append(TreeEntry(token: row.token, digest: row.digest))
        }
      })
    if !tombstones.isEmpty { try drop(tombstones, kept, view, session) }
    session.vacuums = true
    session.end()
    if let failure = session.vacuumFailure { unfreed(failure) }
    return UInt64(tombstones.count)
  }

  private func drop(
    _ tombstones: [Row], _ kept: TreeBuilder, _ view: Snapshot, _ session: WriteSession
  ) throws(VaultError) {
    try view.state.requirePermitted(epoch: view.state.manifest.epoch + 1)
    let connection = session.connection
    var versions: UInt64 = 0
    for row in tombstones {
      try connection.statement("DELETE FROM item WHERE token = ?").bind(1, row.token).run()
      try connection.dropVersions(of: row.token, below: row.version + 1)
      versions += row.version - row.oldest
    }
    try connection.statement("DELETE FROM node").run()
    var manifest = view.state.successor(time: now())
    manifest.root = try kept.finish { (place, body) throws(VaultError) in try connection.storeNode(body, at: place) }
    manifest.itemCount -= UInt64(tombstones.count)
    manifest.versionRowCount -= versions
    let state = try session.commit(manifest, after: view.state)
    view.raise(witness, to: state)
    know(state)
  }
}
