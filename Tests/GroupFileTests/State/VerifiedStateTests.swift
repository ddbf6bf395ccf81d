import Sealing
import Testing

@testable import GroupFile

/// Rosters, manifests and wraps made by people who have some keys but not the right ones.
@Suite struct VerifiedStateTests {
  private func expectRefused(
    _ group: GroupFixture, _ level: VerificationLevel, _ sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for error in [failure { try group.value("name") }, failure { try group.set(["name": "new"]) }] {
      guard case .damaged(_, level, _) = error else {
        Issue.record("\(String(describing: error)) instead of damage at \(level)", sourceLocation: sourceLocation)
        continue
      }
    }
  }

  private func group() throws -> GroupFixture {
    let group = try GroupFixture()
    try group.set(["name": "value"])
    // A machine that never saw the group also refuses the following.
    group.witness.reading = .absent
    return group
  }

  // MARK: Identity of the file

  @Test func `groups swapped by name are refused`() throws {
    let group = try group()
    let other = try GroupFixture(name: "team.other", owner: group.owner.copy(), seed: group.seed)
    try other.files().put(into: group.folder)
    expectRefused(group, .roster)
    #expect(failure { try group.open().accept() }?.isDamage == true)
  }

  @Test func `another owner's group is refused`() throws {
    let group = try group()
    // The member seed is the same, so the wrap opens; but somebody else signed the roster.
    let other = try GroupFixture(seed: group.seed)
    try other.files().put(into: group.folder)
    expectRefused(group, .roster)
    let stranger = try GroupFixture()
    try stranger.files().put(into: group.folder)
    expectRefused(group, .wrap)
  }

  @Test func `a group with the same name and another id is refused until it is accepted`() throws {
    let group = try GroupFixture()
    try group.set(["name": "value"])
    let other = try GroupFixture(name: group.name, owner: group.owner.copy(), seed: group.seed)
    try other.set(["name": "other"])
    try other.files().put(into: group.folder)
    #expect(failure { try group.value("name") } == .anotherGroup(""))
    #expect(failure { try group.set(["name": "new"]) } == .anotherGroup(""))
    #expect(failure { try group.open().accept() } == .anotherGroup(""))
    #expect(try group.open().accept(another: true) == .accepted(epoch: 2))
    #expect(try group.value("name") == "other")
    #expect(group.witness.record?.flags == .acceptedByHand)
  }

  // MARK: The roster

  @Test func `a roster that somebody else signed is refused`() throws {
    let group = try group()
    let forge = try group.forge()
    let stranger = try Key.random()
    let roster = try forge.storeRoster(by: stranger.copy()) { $0.keep = 3 }
    try forge.storeManifest(roster: roster) { _ in }
    expectRefused(group, .roster)
  }

  @Test func `a roster that names another owner is refused even with the owner's signature`() throws {
    let group = try group()
    let forge = try group.forge()
    let roster = try forge.storeRoster { $0.ownerKey = GroupID(Randomness.bytes(32))! }
    try forge.storeManifest(roster: roster) { _ in }
    expectRefused(group, .roster)
  }

  @Test func `a roster for another key is refused`() throws {
    let group = try group()
    let forge = try group.forge()
    let roster = try forge.storeRoster { $0.keyCommitment = Digest(Randomness.bytes(32))! }
    try forge.storeManifest(roster: roster) { _ in }
    expectRefused(group, .roster)
  }

  @Test func `a roster that contradicts the header is refused`() throws {
    for change: @Sendable (inout Roster) -> Void in [
      { $0.flags = .purgedAtUninstall }, { $0.generation = 2 }, { $0.groupID = .zero },
    ] {
      let group = try group()
      let forge = try group.forge()
      let roster = try forge.storeRoster(keepingHeader: true, change)
      try forge.storeManifest(roster: roster) { _ in }
      expectRefused(group, .roster)
    }
  }

  @Test func `a roster without the reader's own entry, or with a contradicting one, is refused`() throws {
    let changes: [@Sendable (inout Member) -> Void] = [
      { $0.signingKey = GroupID(Randomness.bytes(32))! }, { $0.slotID = Randomness.bytes(16) },
      { $0.wrapDigest = Digest(Randomness.bytes(32))! },
    ]
    for change in changes {
      let group = try group()
      let forge = try group.forge()
      let roster = try forge.storeRoster { change(&$0.members[0]) }
      try forge.storeManifest(roster: roster) { _ in }
      expectRefused(group, .roster)
    }
  }

  @Test func `an application's seed does not open a group as its owner, nor the owner's seed as an application`() throws
  {
    let group = try group()
    let seed = MemberSeed(try Key.random())
    try group.forge().addMember(seed, .write)
    #expect(try group.open(as: seed).value("name") == "value")
    let asOwner = AccessGroupFile(
      folder: group.folder,
      context: GroupContext(
        groupName: group.name, ownerKey: try SigningKey(seed: group.owner).publicKey, seed: seed, kind: .owner),
      witness: group.witness, now: { 1 })
    #expect(failure { try asOwner.value("name") } == .damaged(.roster, "own entry"))
    #expect(failure { try group.open(as: group.seed).value("name") } == .damaged(.roster, "own entry"))
  }

  // MARK: The wrap

  @Test func `a complete proof refuses two members with one slot, whose second wrap belongs to nobody`() throws {
    let group = try group()
    let forge = try group.forge()
    try forge.addMember(MemberSeed(Key.random()), .read)
    _ = try group.open().verify()
    try group.forge().changeRoster { roster in
      let owner = roster.members.firstIndex { $0.kind == .owner }!
      (roster.members[1 - owner].slotID, roster.members[1 - owner].wrapDigest) =
        (roster.members[owner].slotID, roster.members[owner].wrapDigest)
    }
    #expect(failure { try group.open().verify() } == .damaged(.wrap, "a slot twice"))
  }

  @Test func `a wrap of another key is refused`() throws {
    let group = try group()
    let seed = group.seed
    let wrap = try Wrap.seal(Key.random(), for: seed, groupID: group.groupID, generation: 1)
    try group.tamper { try $0.run("UPDATE wrap SET sealed=?", wrap) }
    expectRefused(group, .roster)
  }

  @Test func `a wrap that was resealed with the same key is refused`() throws {
    let group = try group()
    let wrap = try Wrap.seal(group.forge().keys.groupKey, for: group.seed, groupID: group.groupID, generation: 1)
    try group.tamper { try $0.run("UPDATE wrap SET sealed=?", wrap) }
    expectRefused(group, .roster)
  }

  @Test func `another member's wrap is refused`() throws {
    let group = try group()
    let forge = try group.forge()
    let seed = MemberSeed(try Key.random())
    let wrap = try Wrap.seal(forge.keys.groupKey, for: seed, groupID: group.groupID, generation: 1)
    try group.tamper { try $0.run("UPDATE wrap SET sealed=?", wrap) }
    expectRefused(group, .wrap)
  }

  @Test func `a missing wrap is damage to the owner, and to anyone else means that they are not a member`() throws {
    let group = try group()
    #expect(throws: VaultError.denied(.notAMember)) { try group.open(as: MemberSeed(Key.random())).value("name") }
    try group.tamper { try $0.run("DELETE FROM wrap") }
    expectRefused(group, .wrap)
  }

  // MARK: The header

  @Test func `a header that asks for a device key is refused if the roster does not`() throws {
    let group = try group()
    var roster = try group.forge().state.roster
    roster.flags = .thisDeviceOnly
    roster.deviceKeyID = Randomness.bytes(16)
    let header = StateHeader(of: roster).serialized()
    try group.tamper { try $0.storePart(.header, header) }
    expectRefused(group, .roster)
  }

  // MARK: The manifest

  @Test func `a manifest of a member without write access is refused`() throws {
    let group = try group()
    let reader = MemberSeed(try Key.random())
    try group.forge().addMember(reader, .read)
    #expect(try group.open(as: reader).value("name") == "value")
    #expect(throws: VaultError.denied(.readOnly)) { try group.open(as: reader).beginWriting() }
    #expect(throws: VaultError.denied(.readOnly)) { try group.open(as: reader).compact() }
    group.witness.reading = .absent
    try group.forge().storeManifest(by: reader) { _ in }
    expectRefused(group, .manifest)
  }

  @Test func `a manifest of a non-member is refused`() throws {
    let group = try group()
    try group.forge().storeManifest(by: MemberSeed(Key.random())) { _ in }
    expectRefused(group, .manifest)
  }

  @Test func `a manifest that one member signed in another's name is refused`() throws {
    let group = try group()
    let owner = try group.seed.signingPublicKey
    let writer = MemberSeed(try Key.random())
    try group.forge().addMember(writer, .write)
    group.witness.reading = .absent
    try group.forge().storeManifest(by: writer) { $0.writerKey = owner }
    expectRefused(group, .manifest)
  }

  @Test func `a writer's manifest is accepted, except as the first under a new roster`() throws {
    let group = try group()
    let writer = MemberSeed(try Key.random())
    try group.forge().addMember(writer, .write)
    let transaction = try group.open(as: writer).beginWriting()
    try transaction.put("name", "by the writer")
    try transaction.commit()
    #expect(try group.value("name") == "by the writer")
    group.witness.reading = .absent
    let forge = try group.forge()
    let signed = try forge.storeRoster { roster in
      roster.revision += 1
      roster.previous = forge.state.signedRoster.digest
      roster.firstEpoch = forge.state.manifest.epoch + 1
    }
    try forge.storeManifest(by: writer, roster: signed) { _ in }
    expectRefused(group, .manifest)
  }

  @Test func `a manifest with an epoch before its roster's is refused`() throws {
    let group = try group()
    let forge = try group.forge()
    let signed = try forge.storeRoster { roster in
      roster.revision += 1
      roster.previous = forge.state.signedRoster.digest
      roster.firstEpoch = 100
    }
    try forge.storeManifest(roster: signed) { $0.epoch = 99 }
    expectRefused(group, .manifest)
  }

  @Test func `a manifest for another group, roster or generation is refused`() throws {
    let changes: [@Sendable (inout Manifest) -> Void] = [
      { $0.groupID = .zero }, { $0.rosterDigest = .zero }, { $0.rosterRevision += 1 }, { $0.generation += 1 },
    ]
    for change in changes {
      let group = try group()
      try group.forge().storeManifest(change)
      expectRefused(group, .manifest)
    }
  }

  @Test func `a manifest sealed under another key is refused`() throws {
    let group = try group()
    let keys = try GroupKeys(groupKey: Key.random(), groupID: group.groupID, generation: 1, deviceKey: nil)
    let manifest = try group.forge().state.manifest
    let sealed = try SignedManifest.seal(manifest, by: group.seed.signingKey(), with: keys)
    try group.tamper { try $0.storePart(.manifest, sealed) }
    expectRefused(group, .manifest)
  }

  // MARK: Newer formats

  @Test func `a group with a newer write version that the owner signed can be read but not written`() throws {
    let group = try group()
    let known = try group.open()
    #expect(try known.value("name") == "value")
    try group.sign(FormatVersion(read: 1, write: 3))
    #expect(try group.value("name") == "value")
    #expect(try group.open().verify().items == 1)
    for file in [known, try group.open()] {
      let refusal = VaultError.newerFormat(read: 1, write: 3)
      #expect(failure { try file.beginWriting() } == refusal)
      #expect(failure { try file.compact() } == refusal)
      #expect(failure { try file.accept() } == refusal)
      #expect(failure { try file.changeRoster(RosterChange(rotates: true), by: group.authority()) } == refusal)
    }
  }

  @Test func `a newer read version that the owner signed is refused, whatever the tables are`() throws {
    let group = try group()
    try group.sign(FormatVersion(read: 2, write: 3))
    for statement in ["CREATE TABLE more(a)", "DELETE FROM item", "DROP TABLE chain", "DELETE FROM state WHERE part=3"]
    {
      let refusal = VaultError.newerFormat(read: 2, write: 3)
      #expect(failure { try group.value("name") } == refusal)
      #expect(failure { try group.open().beginWriting() } == refusal)
      #expect(failure { try group.open().changeRoster(RosterChange(rotates: true), by: group.authority()) } == refusal)
      #expect(failure { try group.repair() } == refusal)
      try #require(RawFile.run(group.folder + "/group.vault", [statement], keepingLog: true))
    }
  }

  @Test func `an unsigned format version is damage`() throws {
    for version in ["0x00010002", "0x00020002", "0x00000000"] {
      let group = try group()
      try group.say(version: version)
      #expect(failure { try group.value("name") }?.isDamage == true)
      #expect(failure { try group.open().beginWriting() }?.isDamage == true)
      #expect(failure { try group.open().accept() }?.isDamage == true)
      #expect(try group.repair()?.lost == 0)
      #expect(try group.value("name") == "value")
    }
  }

  @Test func `an unsigned format version does not excuse other tables`() throws {
    let group = try group()
    try group.say(version: "0x00020002")
    try #require(RawFile.run(group.folder + "/group.vault", ["CREATE TABLE more(a)"], keepingLog: true))
    #expect(
      failure { try group.open().changeRoster(RosterChange(rotates: true), by: group.authority()) }?.isDamage == true)
    try group.say(version: "0x00010001")
    #expect(failure { try group.value("name") }?.isDamage == true)
  }

  @Test func `a format version in a writer's manifest that the owner did not sign is damage`() throws {
    for version in [
      FormatVersion(read: 1, write: 2), FormatVersion(read: 2, write: 2), FormatVersion(read: 0, write: 0),
    ] {
      let group = try group()
      try group.forge().storeManifest { $0.version = version }
      for clear in ["0x00010001", "0x00010002", "0x00020002"] {
        try group.say(version: clear)
        #expect(failure { try group.value("name") } == .damaged(.manifest, "format version"))
        #expect(failure { try group.open().verify() } == .damaged(.manifest, "format version"))
      }
      #expect(try group.repair()?.lost == 0)
      #expect(try group.value("name") == "value")
      #expect(try group.open().beginReading().view.state.manifest.version == .unpublished)
    }
  }

  @Test func `a process that has seen a newer format does not write when the file claims an older one`() throws {
    let group = try group()
    try group.sign(FormatVersion(read: 1, write: 3))
    let known = try group.open()
    #expect(try known.value("name") == "value")
    try group.say(version: "0x00010001")
    #expect(failure { try known.value("name") }?.isDamage == true)
    #expect(failure { try known.beginWriting() } == .newerFormat(read: 1, write: 3))
  }
}

extension GroupFixture {
  /// Changes the unsigned format versions of the file.
  func say(version: String) throws {
    try #require(RawFile.run(folder + "/group.vault", ["PRAGMA user_version=\(version)"], keepingLog: true))
  }

  /// Has the owner sign that the group needs `version`.
  fileprivate func sign(_ version: FormatVersion) throws {
    try forge().changeRoster { roster in
      roster.flags = Roster.Flags(rawValue: UInt32(version.read - 1) << 8 | UInt32(version.write - 1) << 16)
    }
    try say(version: "\(UInt32(version.read) << 16 | UInt32(version.write))")
  }
}
