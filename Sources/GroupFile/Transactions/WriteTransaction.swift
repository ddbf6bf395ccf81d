package import Sealing

/// One change of a group: all or nothing, signed once.
///
/// It begins with all the checks of a read and keeps other writers out. It ends with `commit()`; if it is released
/// without, nothing is changed.
package final class WriteTransaction: ItemReading {
  package let view: Snapshot
  /// The number of the state that this transaction makes.
  package var epoch: UInt64 { manifest.epoch }
  /// Milliseconds since 1970-01-01 UTC, the same for everything that it writes.
  package var time: UInt64 { manifest.time }
  /// That of the state that it makes, without the root.
  private(set) var manifest: Manifest
  let session: WriteSession
  private var queue: SealingQueue
  private var editor: TreeEditor
  private var isChanged = false
  /// How many changes were begun; also counts failed attempts to write rows that were held.
  package private(set) var changeCount = 0
  /// The mark of the request that the present changes are made for.
  private var mark: UInt64?
  /// Whether nobody can have made a change for that request before.
  private var isFirstAttempt = true
  private var marked: Set<Token> = []
  /// The error of a row that could not be written; after it, the transaction cannot be committed.
  private var failure: VaultError?

  init(_ session: WriteSession, _ view: Snapshot) {
    (self.session, self.view) = (session, view)
    queue = SealingQueue(view.state.keys)
    manifest = view.state.successor(time: session.file.now())
    editor = TreeEditor(root: manifest.root)
  }

  /// Makes the changes that follow for a request, which is new if nobody else knows it yet.
  package func answer(_ request: ChangeID?, isNew: Bool) {
    mark = request?.mark(in: view.state.manifest.groupID)
    (isFirstAttempt, marked) = (isNew, [])
  }

  /// The version of the item at `token` that was written for the present request before: then the item must not be changed
  /// again. `nil` lets it be changed.
  package func answered(at token: Token) throws(VaultError) -> UInt64? {
    guard let mark, !isFirstAttempt, !marked.contains(token) else { return nil }
    if let version = try markedVersion(mark, at: token) { return version }
    marked.insert(token)
    return nil
  }

  /// The mark for a row of `token`, which no kept version from before this transaction has.
  private func mark(at token: Token) -> UInt64? { isFirstAttempt || marked.contains(token) ? mark : nil }

  package func provedDigest(of token: Token) throws(VaultError) -> Digest? {
    if queue.holds(token) { try write { (queue) throws(VaultError) in try queue.finish() } }
    return try editor.digest(of: token) { (digest, place) throws(VaultError) in
      try view.digest(of: token, below: digest, at: place)
    }
  }

  /// Writes a new version of the item named in `attributes`; writer, dates and epochs are filled in here.
  ///
  /// - Parameter keepsValue: whether the value is an older one of this item, so that it keeps the value epoch in `attributes`.
  @discardableResult
  package func put(
    _ attributes: Attributes, _ secret: OpenedSecret?, keepsValue: Bool = false
  ) throws(VaultError) -> UInt64 {
    let token = view.state.keys.token(of: attributes.name)
    return try put(attributes, secret, over: storedRow(at: token), at: token, keepsValue: keepsValue)
  }

  /// Writes a new version over `old`, the item's current row as proved by this transaction; `nil` if it has none.
  ///
  /// In a large transaction most rows are written a little later, so the error of a row may be thrown by a later call.
  /// Otherwise as `put(_:_:keepsValue:)`.
  ///
  /// - Parameters:
  ///   - lowest: older versions than this are dropped, although the group would keep them.
  ///   - endsHistory: whether all older versions are dropped, and the new one does not name its predecessor.
  @discardableResult
  package func put(
    _ attributes: consuming Attributes, _ secret: OpenedSecret?, over old: Row?, at token: Token,
    keepsValue: Bool = false, droppingBelow lowest: UInt64 = 0, endingHistory endsHistory: Bool = false
  ) throws(VaultError) -> UInt64 {
    changeCount += 1
    var (version, oldest): (UInt64, UInt64) = (1, 1)
    if let old {
      // Only a removal may take the version that no other can follow: then the owner sees the row, and can remove it.
      let end = secret == nil ? GroupLimits.lastVersion : GroupLimits.lastVersion - 1
      guard old.version < end else { throw .overLimit("2^53 versions") }
      version = old.version + 1
      let keep = UInt64(view.state.roster.keep)
      oldest =
        endsHistory ? version : max(old.oldest, version + 1 > keep ? version + 1 - keep : 1, min(lowest, version))
    }
    try count(version - oldest, over: old)
    (attributes.writer, attributes.changed) = (view.state.member.who, time)
    if !keepsValue { attributes.valueEpoch = epoch }
    let draft = RowDraft(
      attributes: attributes, secret: secret, token: token, version: version, oldest: oldest, old: old,
      endsHistory: endsHistory, mark: mark(at: token))
    try write { (queue) throws(VaultError) in try queue.add(draft) }
    return version
  }

  private func write(_ rows: (inout SealingQueue) throws(VaultError) -> [SealedDraft]) throws(VaultError) {
    do throws(VaultError) {
      for sealed in try rows(&queue) { try write(sealed) }
    } catch {
      // Collected rows of earlier calls may be lost with this one, so the transaction must not be committed.
      failure = failure ?? error
      changeCount += 1
      throw error
    }
  }

  func write(_ sealed: SealedDraft) throws(VaultError) {
    let row = sealed.row
    try session.note(row, sealed.blob)
    if view.connection.access == .writing { try store(sealed) }
    try editor.put(TreeEntry(token: row.token, digest: sealed.digest)) { (digest, place) throws(VaultError) in
      let node = try view.load(digest, place)
      if case .leaf(let entries) = node { try proveRows(entries, except: row.token) }
      return node
    }
    isChanged = true
  }

  private func store(_ sealed: SealedDraft) throws(VaultError) {
    let (row, connection) = (sealed.row, view.connection)
    if let old = sealed.old {
      if row.oldest < row.version { try connection.insertOlder(old) }
      try connection.replaceCurrent(row)
      if row.oldest > old.oldest { try connection.dropVersions(of: row.token, below: row.oldest) }
    } else {
      // Fails if the table has a row that the tree does not name, because it is not ours to replace.
      try connection.insertCurrent(row)
    }
    if let blob = sealed.blob { try connection.insertBlob(row.token, version: row.version, blob) }
  }

  /// Ends an item's history: writes a tombstone that keeps nothing, and deletes the older versions.
  package func destroy(_ name: String) throws(VaultError) {
    let token = view.state.keys.token(of: name)
    guard try answered(at: token) == nil else { return }
    guard let item = try stored(name, at: token) else { throw .notFound(.item) }
    let attributes = Attributes(name: name, created: item.attributes.created, changed: time, valueKind: 0)
    try put(attributes, nil, over: item.row, at: token, endingHistory: true)
    session.frees = true
  }

  /// Updates the counts of items and of older versions for an item that now keeps `count` older versions. Another writer
  /// signed the old numbers, so they may be inconsistent.
  ///
  /// - Parameter old: the item's current row; `nil` for a new item.
  func count(_ count: UInt64, over old: Row?) throws(VaultError) {
    guard let old else {
      guard manifest.itemCount + 1 < ByteReader.counterLimit else { throw .overLimit("2^53 items") }
      manifest.itemCount += 1
      return
    }
    let before = manifest.versionRowCount
    guard before >= old.version - old.oldest else { throw .damaged(.manifest, "number of older versions") }
    let next = before - (old.version - old.oldest) + count
    guard next < ByteReader.counterLimit else { throw .overLimit("2^53 older versions") }
    manifest.versionRowCount = next
  }

  /// Proves the rows whose digests are copied into the changed leaf, so that a leaf with damaged rows is not signed
  /// again; not that of `token`, which this transaction has just written. Rows that the leaf does not name are passed
  /// over: anyone who can write the file can add them.
  private func proveRows(_ entries: [TreeEntry], except token: Token) throws(VaultError) {
    guard let first = entries.first?.token, let last = entries.last?.token else { return }
    let rows = try view.connection.currentRows(from: first, through: last)
    defer { rows.reset() }
    for entry in entries where entry.token != token {
      while true {
        guard try rows.step() else { throw .damaged(.row, "a row is missing") }
        guard unsafe Token(loadingFrom: try rows.blob(0, count: Token.byteCount)) == entry.token else { continue }
        guard try Row(rows).digest == entry.digest else { throw .damaged(.row, "a row does not match the tree") }
        break
      }
    }
  }

  /// Has the transaction sign a new state, even if no item changes.
  package func renew() {
    changeCount += 1
    isChanged = true
  }

  /// Signs the new state, makes it durable, raises the witness and admits the next writer.
  ///
  /// - Throws: an error after which nothing is changed; only `unconfirmed`, and `outcomeUnknown` of a published group, leave
  ///   this open.
  package func commit() throws(VaultError) {
    if let failure { throw failure }
    try write { (queue) throws(VaultError) in try queue.finish() }
    guard isChanged else {
      try view.connection.requireIntact()
      return session.end()
    }
    manifest.root = try storeTree()
    end(with: try session.commit(manifest, after: view.state))
  }

  func storeTree() throws(VaultError) -> Digest {
    let connection = view.connection
    return try editor.finish { (place, body, digest, node) throws(VaultError) in
      guard connection.access == .writing else { return }
      try connection.storeNode(body, at: place)
      view.cache.keep(node, digest, itemCount: manifest.itemCount)
    }
  }

  func end(with state: VerifiedState) {
    view.raise(session.file.witness, to: state)
    session.end(state)
  }

  /// Whether other hosts may know of the state that this transaction makes.
  package var hasBegunPublishing: Bool { session.hasBegunPublishing }

  package func rollback() {
    session.end()
    queue.discard()
  }
}

extension VerifiedState {
  package func requireWriter() throws(VaultError) { guard member.rights >= .write else { throw .denied(.readOnly) } }

  /// Refuses an epoch that readers would refuse.
  func requirePermitted(epoch: UInt64) throws(VaultError) {
    guard epoch < ByteReader.counterLimit else { throw .overLimit("2^53 states") }
    guard permits(epoch: epoch) else { throw .tooManyStates }
  }

  /// Whether readers accept a manifest of `epoch` under this roster.
  func permits(epoch: UInt64) -> Bool { epoch - roster.firstEpoch <= GroupLimits.epochsPerRoster }

  /// The manifest of the state after this one, under the same roster, with the same rows.
  ///
  /// - Parameter known: a higher epoch that was seen elsewhere; the new epoch is above both.
  func successor(time: UInt64, above known: UInt64 = 0) -> Manifest {
    var next = manifest
    next.version = roster.flags.version
    next.epoch = max(manifest.epoch, known) + 1
    (next.previousLink, next.writerKey, next.time) = (link, member.signingKey, time)
    return next
  }
}
