internal import Glibc
internal import Sealing

extension Snapshot {
  /// Whether this state is later than the one with this epoch and link, and the chain shows that it descends from it.
  package func descends(from epoch: UInt64, _ link: [UInt8]) throws(VaultError) -> Bool {
    guard epoch < state.manifest.epoch, let link = Digest(link) else { return false }
    return try state.descends(from: epoch, link, connection)
  }
}

extension WriteTransaction {
  /// Takes the rows and the signed state of a commit of another host.
  ///
  /// - Throws: `damaged(.commit, …)` if its rows do not make the state that it signs; the errors of reading its parts.
  func take(_ commit: GroupCommit) throws(VaultError) {
    let (state, connection) = (try prove(commit), view.connection)
    if let roster = commit.roster {
      try connection.storePart(.header, roster.header)
      try connection.storePart(.roster, roster.roster)
      try connection.statement("DELETE FROM wrap").run()
      for (member, wrap) in zip(state.roster.members, roster.wraps) { try connection.storeWrap(member.slotID, wrap) }
    }
    try connection.storePart(.manifest, commit.manifest)
    try connection.appendChain(commit.epoch, state.manifest.rest())
    try connection.storeVersion(state.roster.flags.version)
    try session.commit()
    end(with: state)
  }

  /// Takes the rows of a commit, or only proves them if the session cannot write; returns the state that it signs.
  func prove(_ commit: GroupCommit) throws(VaultError) -> VerifiedState {
    let state = try commit.state(after: view.state, as: session.file.context)
    var kept: [Token: [UInt64: UInt64]] = [:]
    var newest: [Token: Row] = [:]
    for sealed in commit.rows {
      let row: Row
      do { row = try Row(parsing: sealed.row) } catch { throw .damaged(.commit, "a row's layout") }
      let old: Row? = if let known = newest[row.token] { known } else { try storedRow(at: row.token) }
      if kept[row.token] == nil { kept[row.token] = try old.map(marks(of:)) ?? [:] }
      try take(row, sealed.blob, over: old, answeredAt: kept[row.token]?[row.nonce.mark] ?? 0)
      newest[row.token] = row
    }
    let root = try storeTree()
    guard
      state.manifest.root == root, state.manifest.itemCount == manifest.itemCount,
      state.manifest.versionRowCount == manifest.versionRowCount
    else { throw .damaged(.commit, "its rows do not make the state that it signs") }
    return state
  }

  /// The newest kept version of an item for each request.
  private func marks(of current: Row) throws(VaultError) -> [UInt64: UInt64] {
    var marks = try view.connection.olderMarks(of: current.token, from: current.oldest)
    marks[current.nonce.mark] = current.version
    return marks
  }

  /// Takes a row that follows the item's current one, `old`. `answered` is the version before this commit that was written
  /// for the row's request; 0 if there was none.
  private func take(
    _ row: Row, _ blob: [UInt8]?, over old: Row?, answeredAt answered: UInt64
  ) throws(VaultError) {
    // One commit may have several versions that were written for one request. As its writer did, this asks for the
    // versions that are kept now: the rows before this one may have dropped those of a request.
    guard answered == 0 || answered < old?.oldest ?? 1 else {
      throw .damaged(.commit, "a request that was answered before")
    }
    // A row that ends its item's history names no predecessor.
    let isFirst = row.previous == .zero && row.oldest == row.version
    guard row.version == (old?.version ?? 0) + 1, row.oldest >= old?.oldest ?? 1,
      row.previous == old?.digest ?? .zero || isFirst
    else { throw .damaged(.commit, "a row does not follow the one before") }
    guard (row.place == .blob) == (blob != nil),
      blob.map({ Hash.digest(.blob, $0).bytes.elementsEqual(row.encoded[row.secretRange]) }) ?? true
    else { throw .damaged(.commit, "a large value does not match its row") }
    try count(row.version - row.oldest, over: old)
    try write(SealedDraft(old: old, row: row, digest: row.digest, blob: blob))
  }
}

extension GroupCommit {
  /// What the manifest says, if somebody signed it who may write under the roster of `state`, or under a later one in this
  /// commit or in `others`. Whoever may only read has the group's key, too, and must not pass for a writer. The manifest may
  /// name an older roster, as that of another branch does.
  package func signedManifest(under state: VerifiedState, with others: [GroupCommit]) -> Manifest? {
    guard let content = state.keys.openMeta(manifest, .manifestBinding) else { return nil }
    let body = Array(content.dropLast(SigningKey.signatureByteCount))
    guard let manifest = try? Manifest(parsing: body) else { return nil }
    let later = (others + [self]).lazy.compactMap { commit in
      commit.roster.flatMap {
        try? SignedRoster(opening: $0.roster, with: state.keys, ownerKey: state.roster.ownerKey).roster
      }
    }
    let rosters = [state.roster] + later.filter { $0.revision > state.roster.revision }
    guard rosters.contains(where: { $0.member(signing: manifest.writerKey)?.rights == .write }),
      manifest.writerKey.verifies(Array(content.suffix(SigningKey.signatureByteCount)), of: body)
    else { return nil }
    return manifest
  }

  /// The state that this commit signs, which must follow `old`.
  ///
  /// - Throws: `damaged(.commit, …)`; the errors of opening a roster and a manifest.
  func state(after old: VerifiedState, as context: GroupContext) throws(VaultError) -> VerifiedState {
    do throws(VaultError) { return try signedState(after: old, as: context) } catch .damaged(_, _, let detail) {
      // The commit is damaged, not the file.
      throw .damaged(.commit, detail)
    }
  }

  private func signedState(after old: VerifiedState, as context: GroupContext) throws(VaultError) -> VerifiedState {
    var (signed, member, sealedRoster) = (old.signedRoster, old.member, old.sealedRoster)
    if let roster {
      signed = try SignedRoster(opening: roster.roster, with: old.keys, ownerKey: context.ownerKey)
      let new = signed.roster
      guard new.groupID == old.roster.groupID, new.revision > old.roster.revision,
        new.generation == old.roster.generation, new.previous == old.signedRoster.digest, new.firstEpoch == epoch,
        StateHeader(of: new).serialized() == roster.header, new.members.count == roster.wraps.count,
        zip(new.members, roster.wraps).allSatisfy({ Wrap.digest($1, slotID: $0.slotID) == $0.wrapDigest })
      else { throw .damaged(.commit, "its roster does not follow the one before") }
      let key = try sealing(context.seed.signingPublicKey)
      let own = new.members.firstIndex { $0.signingKey == key }
      guard let own else { throw .denied(.notAMember) }
      member = try new.member(context, under: old.keys, roster.wraps[own])
      sealedRoster = roster.roster
    }
    let manifest = try SignedManifest.open(manifest, with: old.keys) { $0 == signed.digest ? signed : nil }
    guard manifest.epoch == epoch, manifest.previousLink == old.link, manifest.link() == link,
      manifest.version == signed.roster.flags.version
    else { throw .damaged(.commit, "its manifest does not follow the one before") }
    return VerifiedState(
      keys: old.keys, signedRoster: signed, manifest: manifest, member: member, sealedManifest: self.manifest,
      sealedRoster: sealedRoster, as: context.seed)
  }
}
