import Foundation
import Sealing

@testable import GroupFile

/// A group in its own folder, with its owner as the only member and a witness in memory.
final class GroupFixture: Sendable {
  let folder: String
  let owner: Key
  let seed: MemberSeed
  let groupID: GroupID
  let witness = MemoryWitness()
  let name: String

  /// - Parameters:
  /// - owner: the owner of another group, to make a second group with the same owner.
  /// - seed: the member seed of another group.
  /// - folder: an existing folder with the shape `shape`.
  init(
    name: String = "team.shared", keep: UInt16 = 10, owner: consuming Key? = nil, seed: MemberSeed? = nil,
    in folder: String? = nil, shape: ContainerShape = .closed, device: DeviceKey? = nil
  ) throws {
    self.folder = folder ?? NSTemporaryDirectory() + "vault-group-\(UUID().uuidString)"
    if folder == nil {
      try FileManager.default.createDirectory(
        atPath: self.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
    self.name = name
    if let owner { self.owner = owner } else { self.owner = try Key.random() }
    self.seed = try seed ?? MemberSeed(Key.random())
    groupID = GroupID(Randomness.bytes(32))!
    var creation = GroupCreation(name: name, time: 1)
    creation.keep = keep
    creation.shape = shape
    creation.device = device
    let record = try creation.write(
      to: self.folder, groupID: groupID, owner: SigningKey(seed: self.owner), seed: self.seed)
    _ = witness.raise { _ in record }
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// The group as a new process opens it, knowing only the witness.
  func open(_ witness: (any Witnessing)? = nil) throws -> AccessGroupFile {
    AccessGroupFile(
      folder: folder,
      context: GroupContext(groupName: name, ownerKey: try SigningKey(seed: owner).publicKey, seed: seed),
      witness: witness ?? self.witness, now: { 1_000 })
  }

  /// Removes the group, as the owner's command does.
  func remove() throws {
    let kept = folder + ".kept"
    defer {
      removeDrafts()
      for path in [folder + ".removed", kept + "+locked"] { try? FileManager.default.removeItem(atPath: path) }
    }
    try open().remove(to: folder + ".removed", at: DraftPlaces(draft: folder + ".draft", kept: kept))
  }

  /// Sets items in one transaction.
  func set(_ values: [String: String]) throws {
    let transaction = try open().beginWriting()
    for (name, value) in values.sorted(by: { $0.key < $1.key }) { try transaction.put(name, value) }
    try transaction.commit()
  }

  func value(_ name: String) throws -> String { try open().value(name) }
}

extension AccessGroupFile {
  func value(_ name: String) throws -> String {
    let transaction = try beginReading()
    // The view's connection is another reader's as soon as the transaction has ended.
    return try withExtendedLifetime(transaction) { try transaction.view.value(name).text }
  }
}

extension WriteTransaction {
  @discardableResult
  func put(_ name: String, _ value: String) throws -> UInt64 {
    let secret = try unsafe Array(value.utf8).withUnsafeBytes { try unsafe OpenedSecret(copying: $0) }
    return try put(Attributes(name: name, created: 1, changed: 1, valueKind: 2), secret)
  }
}
