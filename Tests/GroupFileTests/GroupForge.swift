import Sealing
import TestSupport
import Testing

@testable import GroupFile

/// Makes signed and sealed rosters and manifests that are wrong in one way, as only someone with keys can.
struct GroupForge {
  let group: GroupFixture
  let state: VerifiedState

  var keys: GroupKeys { state.keys }

  /// - Parameter known: the state to continue from if the stored one does not verify.
  init(_ group: GroupFixture, from known: VerifiedState? = nil) throws {
    self.group = group
    let context = try group.open().context
    state = try known ?? group.peek { try VerifiedState.open($0, as: context, known: nil) }
  }

  /// Stores a manifest signed by `writer`, by default the owner, and adds it to the chain.
  func storeManifest(
    by writer: MemberSeed? = nil, roster: SignedRoster? = nil, keepingChain: Bool = false,
    _ change: (inout Manifest) -> Void
  ) throws {
    let writer = writer ?? group.seed
    var manifest = state.successor(time: 5)
    manifest.writerKey = try writer.signingPublicKey
    if let roster {
      manifest.rosterDigest = roster.digest
      manifest.rosterRevision = roster.roster.revision
      manifest.generation = roster.roster.generation
      manifest.version = roster.roster.flags.version
    }
    change(&manifest)
    let sealed = try SignedManifest.seal(manifest, by: writer.signingKey(), with: keys)
    try group.tamper { connection in
      try connection.storePart(.manifest, sealed)
      if !keepingChain { try connection.appendChain(manifest.epoch, manifest.rest()) }
    }
  }

  /// Stores a roster signed by `owner`, by default the group's own, with its header.
  @discardableResult
  func storeRoster(
    by owner: consuming Key? = nil, keepingHeader: Bool = false, _ change: (inout Roster) -> Void
  ) throws -> SignedRoster {
    var roster = state.roster
    change(&roster)
    let key = owner ?? group.owner.copy()
    let signed = SignedRoster(roster, by: try SigningKey(seed: key))
    try group.tamper { connection in
      try connection.storePart(.roster, signed.sealed(with: keys))
      if !keepingHeader { try connection.storePart(.header, StateHeader(of: roster).serialized()) }
    }
    return signed
  }

  /// A change of the roster as an honest owner makes it, including its manifest.
  func changeRoster(_ change: (inout Roster) -> Void) throws {
    let signed = try storeRoster { roster in
      roster.revision += 1
      roster.previous = state.signedRoster.digest
      roster.firstEpoch = state.manifest.epoch + 1
      change(&roster)
    }
    try storeManifest(roster: signed) { _ in }
  }

  /// Adds `seed` to the group as an application.
  func addMember(_ seed: MemberSeed, _ rights: MemberRights, application: String = "com.example.notes") throws {
    let slotID = seed.slotID(group: group.groupID, generation: 1)
    let wrap = try Wrap.seal(keys.groupKey, for: seed, groupID: group.groupID, generation: 1)
    try group.tamper { try $0.storeWrap(slotID, wrap) }
    let key = try seed.signingPublicKey
    try changeRoster { roster in
      roster.members.append(
        Member(
          kind: .application, rights: rights, issue: 1, application: application, signingKey: key,
          slotID: slotID, wrapDigest: Wrap.digest(wrap, slotID: slotID)))
      roster.members.sort { $0.signingKey < $1.signingKey }
    }
  }
}

extension GroupForge {
  /// A row for `name` with the value "forged". Anyone with the group's key can seal one.
  ///
  /// - Parameters:
  /// - named: the name that the attributes state.
  /// - attributes: changes the encoded attributes.
  /// - padded: changes the attributes after padding.
  func row(
    _ name: String, named: String? = nil, version: UInt64 = 1, oldest: UInt64? = nil,
    attributes change: ([UInt8]) -> [UInt8] = { $0 }, padded: ([UInt8]) -> [UInt8] = { $0 },
    naming blob: [UInt8]? = nil
  ) throws -> Row {
    let token = keys.token(of: name)
    let nonce = Nonce()
    let binding = RowBinding(groupID: group.groupID, generation: keys.generation)
    func seal(_ bytes: [UInt8], _ half: RowBinding.Half) -> [UInt8] {
      let binding = binding.bytes(token: token, version: version, state: .present, half: half)
      return unsafe bytes.withUnsafeBytes { unsafe keys.seal($0, half: half, nonce: nonce, binding: binding) }
    }
    let content = try Attributes(name: named ?? name, created: 1, changed: 1, valueKind: 2).encoded()
    let sealed = seal(padded(Padding.padUnguarded(change(content))), .attributes)
    let secret = blob ?? seal(Padding.padUnguarded(Array("forged".utf8)), .secret)
    return unsafe Digest.zero.withUnsafeBytes { previous in
      unsafe nonce.withUnsafeBytes { nonce in
        unsafe sealed.withUnsafeBytes { attributes in
          unsafe secret.withUnsafeBytes { secret in
            unsafe Row(
              token: token, version: version, state: .present, oldest: oldest ?? version, previous: previous,
              nonce: nonce, attributes: attributes, place: blob == nil ? .inline : .blob, secret: secret)
          }
        }
      }
    }
  }
}

extension GroupFixture {
  /// Replaces the row of `name` by one with the value "forged". `writer`, by default the owner, signs the tree with it.
  func storeRow(
    _ name: String, named: String? = nil, version: UInt64 = 3, oldest: UInt64 = 3, by writer: MemberSeed? = nil,
    attributes: ([UInt8]) -> [UInt8] = { $0 }, padded: ([UInt8]) -> [UInt8] = { $0 }
  ) throws {
    let forge = try forge()
    let row = try forge.row(
      name, named: named, version: version, oldest: oldest, attributes: attributes, padded: padded)
    try store(row, under: forge, by: writer)
  }

  /// Replaces the row of an item, with a tree that `writer`, by default the owner, signs.
  func store(_ row: Row, _ blob: [UInt8]? = nil, under forge: GroupForge, by writer: MemberSeed? = nil) throws {
    var root = Digest.zero
    try tamper { connection in
      try connection.replaceCurrent(row)
      if let blob { try connection.insertBlob(row.token, version: row.version, blob) }
      var editor = TreeEditor(root: forge.state.manifest.root)
      try editor.put(TreeEntry(token: row.token, digest: row.digest)) { (_, place) throws(VaultError) in
        try TreeNode(parsing: try connection.nodeBody(at: place) ?? [], at: place)
      }
      root = try editor.finish { (place, body, _, _) throws(VaultError) in try connection.storeNode(body, at: place)
      }
    }
    try forge.storeManifest(by: writer) { $0.root = root }
  }
}

extension GroupFixture {
  func forge() throws -> GroupForge { try GroupForge(self) }

  /// The group as opened by the application with `seed`.
  func open(as seed: MemberSeed, witness: MemoryWitness? = nil) throws -> AccessGroupFile {
    AccessGroupFile(
      folder: folder,
      context: GroupContext(
        groupName: name, ownerKey: try SigningKey(seed: owner).publicKey, seed: seed, kind: .application),
      witness: witness ?? self.witness, now: { 1_000 })
  }
}

extension Connection {
  /// Replaces the chain's entry of one epoch. `nil` deletes the entry.
  func replaceRest(of epoch: UInt64, with rest: Digest?) throws {
    try statement("DELETE FROM chain WHERE epoch=?").bind(1, counter: epoch).run()
    guard let rest else { return }
    try statement("INSERT INTO chain VALUES(?,?)").bind(1, counter: epoch).bind(2, rest.bytes).run()
  }

  /// Runs a statement with values. Only tests write outside a transaction.
  func run(_ sql: StaticString, _ bytes: [UInt8]...) throws {
    let statement = try statement(sql)
    for (index, bytes) in bytes.enumerated() { _ = try statement.bind(Int32(index + 1), bytes) }
    try statement.run()
  }
}

extension GroupKeys {
  /// Opened attributes, padding included.
  func openAttributes(
    _ box: UnsafeRawBufferPointer, nonce: Nonce, binding: [UInt8]
  ) throws -> [UInt8] {
    var padded = [UInt8](repeating: 0, count: box.count - SealedBox.overhead)
    try unsafe padded.withUnsafeMutableBytes {
      try unsafe SealedBox.openUnguarded(box, key: attributesKey, nonce: nonce, binding: binding, into: $0)
    }
    return padded
  }

  /// A sealed half of a row.
  func seal(
    _ padded: UnsafeRawBufferPointer, half: RowBinding.Half, nonce: Nonce, binding: [UInt8]
  ) -> [UInt8] {
    switch half {
    case .attributes: unsafe SealedBox.seal(padded, key: attributesKey, nonce: nonce, binding: binding)
    case .secret: unsafe SealedBox.seal(padded, key: secretKey, nonce: nonce, binding: binding)
    }
  }
}
