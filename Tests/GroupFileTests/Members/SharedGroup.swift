import Foundation
import Sealing

@testable import GroupFile

/// The owner of a fixture's group, with applications whose seeds the owner derives.
struct TestAuthority: RosterAuthority {
  let owner: MemberSeed
  let signing: SigningKey

  init(_ group: GroupFixture) throws {
    owner = group.seed
    signing = try SigningKey(seed: group.owner)
  }

  func rosterSigningKey() -> SigningKey { signing }

  func seed(application: String, issue: UInt32) throws(SealingError) -> MemberSeed {
    try unsafe owner.withUnsafeBytes { (bytes) throws(SealingError) in
      let root = try unsafe Key(copying: bytes)
      return MemberSeed(try root.derive(Label("test.app"), [UInt8(issue)] + Array(application.utf8)))
    }
  }
}

extension GroupFixture {
  func authority() throws -> TestAuthority { try TestAuthority(self) }

  /// The seed of an application that the owner can let in.
  func seed(_ application: String, issue: UInt32 = 1) throws -> MemberSeed {
    try authority().seed(application: application, issue: issue)
  }

  /// The group as an application opens it on a machine of its own.
  func open(
    _ application: String, issue: UInt32 = 1, witness: MemoryWitness = MemoryWitness(), floor: WitnessRecord? = nil
  ) throws -> AccessGroupFile {
    AccessGroupFile(
      folder: folder,
      context: GroupContext(
        groupName: name, ownerKey: try SigningKey(seed: owner).publicKey, seed: try seed(application, issue: issue),
        kind: .application, floor: floor),
      witness: witness, now: { 2_000 })
  }

  @discardableResult
  func change(_ change: RosterChange) throws -> VerifiedState {
    try open().changeRoster(change, by: authority()).state
  }

  /// Takes an application out of the group as the owner's command does. If the file is too damaged to be changed in place,
  /// a new file replaces it.
  @discardableResult
  func forceRevocation(
    of application: String, droppingUnproved: Bool = false, accepting acceptance: OwnersAcceptance? = nil
  ) throws -> (state: VerifiedState, left: GroupRepair) {
    var change = RosterChange { $0.application == application }
    change.dropsUnproved = droppingUnproved
    return try force(change, accepting: acceptance)
  }

  /// Gives the group a new key as the owner's command does.
  func forceRotation() throws -> VerifiedState { try force(RosterChange(rotates: true), accepting: nil).state }

  private func force(
    _ change: RosterChange, accepting acceptance: OwnersAcceptance?
  ) throws -> (state: VerifiedState, left: GroupRepair) {
    let draft = folder + ".draft"
    let aside = folder + ".aside"
    defer {
      removeDrafts()
      try? FileManager.default.removeItem(atPath: aside)
    }
    do {
      return try open().changeRoster(change, accepting: acceptance, by: authority())
    } catch let error as VaultError where error.isAvoidable {
      return try open().changeRoster(
        change, accepting: acceptance, salvagingAt: DraftPlaces(draft: draft, kept: aside), by: authority(),
        members: members())
    }
  }

  /// Removes what changes leave at the path of their draft, whose folder commands remove.
  func removeDrafts() {
    for suffix in ["", ".copy", ".copy+1", ".copy+2", ".copy+3"] {
      try? FileManager.default.removeItem(atPath: folder + ".draft" + suffix)
    }
  }

  /// Repairs the group without keeping the damaged files.
  func repair() throws -> GroupRepair? {
    let draft = folder + ".draft"
    let aside = folder + ".aside"
    defer {
      for path in [draft, aside] { try? FileManager.default.removeItem(atPath: path) }
    }
    return try open().repair(
      at: draft, keeping: aside, by: authority(), members: members(), isLossAccepted: { _ in true })
  }

  /// The applications that the owner knows.
  private func members() throws -> [MemberSeed] {
    try ["com.example.other", "com.example.api", "com.example.web"].map { try seed($0) }
  }

  @discardableResult
  func grant(_ application: String, _ rights: MemberRights, issue: UInt32 = 1) throws -> VerifiedState {
    try change(RosterChange(grants: [.init(application: application, issue: issue, rights: rights)]))
  }

  @discardableResult
  func revoke(_ application: String) throws -> VerifiedState {
    try change(RosterChange { $0.application == application })
  }
}

extension AccessGroupFile {
  /// Changes the roster; a new file is drafted beside the group's folder, and the replaced one is removed.
  @discardableResult
  func changeRoster(
    _ change: RosterChange, accepting acceptance: OwnersAcceptance? = nil, by authority: any RosterAuthority,
    progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) -> (state: VerifiedState, left: GroupRepair) {
    let places = draftPlaces
    defer { for path in [places.draft, places.kept] { try? FileManager.default.removeItem(atPath: path) } }
    return try changeRoster(change, accepting: acceptance, at: places, by: authority, progress: progress)
  }

  /// Accepts the state as the owner; otherwise as `changeRoster`.
  func accept(
    _ owner: OwnersAcceptance, confirm: (OfferedState) -> Bool = { _ in true }
  ) throws(VaultError) -> AcceptedState {
    let places = draftPlaces
    defer { for path in [places.draft, places.kept] { try? FileManager.default.removeItem(atPath: path) } }
    return try accept((owner, places), confirm: confirm)
  }

  private var draftPlaces: DraftPlaces {
    let number = UInt64.random(in: .min ... .max)
    return DraftPlaces(draft: "\(folder).draft-\(number)", kept: "\(folder).kept-\(number)")
  }

  func set(_ values: [String: String]) throws {
    let transaction = try beginWriting()
    for (name, value) in values.sorted(by: { $0.key < $1.key }) { try transaction.put(name, value) }
    try transaction.commit()
  }
}
