import Foundation
import Sealing

@testable import GroupFile

/// A log of one group's commits in memory, which several hosts share.
final class MemoryLog: Sendable {
  struct Content: Sendable {
    var commits: [[UInt8]] = []
    /// The newest complete file, and its state.
    var base: (bytes: Data, state: PublishedState)?
    var head: PublishedState?
    /// What the next call ends with.
    var fault: Fault?
  }

  enum Fault: Sendable {
    case unreachable, lostAnswer, lostRequest
  }

  let content = Locked(Content())

  /// Makes the next call fail.
  func fail(with fault: Fault) { content.withLock { $0.fault = fault } }

  fileprivate func append(
    _ state: PublishedState, after previous: PublishedState, _ store: (inout Content) -> Void
  ) throws(VaultError) {
    try content.withLock { (content) throws(VaultError) in
      let fault = content.fault
      content.fault = nil
      if fault == .unreachable { throw .unordered(.unreachable("a test")) }
      if fault == .lostRequest { throw .unordered(.outcomeUnknown(nil)) }
      guard content.head == nil || content.head == previous else { throw .unordered(.overtaken) }
      content.head = state
      store(&content)
      if fault == .lostAnswer { throw .unordered(.outcomeUnknown(nil)) }
    }
  }
}

/// One host's copy of a group that is published in a log.
final class TestHost: CommitPublishing {
  let folder: String
  let log: MemoryLog
  let witness: MemoryWitness
  /// Whether the folder was made by this host.
  private let isOwn: Bool
  private let file = Locked<AccessGroupFile?>(nil)
  /// Called once a complete file is in the log, before the host puts it in its place.
  let onFile = Locked<@Sendable () -> Void>({})

  /// A host without a copy, as the owner (or `application`) of the fixture's group.
  init(_ group: GroupFixture, _ log: MemoryLog, application: String? = nil) throws {
    self.log = log
    folder = NSTemporaryDirectory() + "vault-host-\(UUID().uuidString)"
    witness = MemoryWitness()
    isOwn = true
    try open(group, application)
  }

  /// The host on which the fixture's group was made.
  init(origin group: GroupFixture, _ log: MemoryLog) throws {
    self.log = log
    folder = group.folder
    witness = group.witness
    isOwn = false
    try open(group, nil)
  }

  deinit { if isOwn { try? FileManager.default.removeItem(atPath: folder) } }

  private func open(_ group: GroupFixture, _ application: String?) throws {
    let context = GroupContext(
      groupName: group.name, ownerKey: try SigningKey(seed: group.owner).publicKey,
      seed: try application.map { try group.seed($0) } ?? group.seed,
      kind: application == nil ? .owner : .application)
    let file = AccessGroupFile(
      folder: folder, context: context, witness: witness, publisher: { [weak self] in self }, now: { 3_000 })
    self.file.withLock { $0 = file }
  }

  var group: AccessGroupFile { file.withLock { $0 }! }

  func publish(_ commit: GroupCommit, isRepeated: Bool) throws(VaultError) {
    if isRepeated, log.content.withLock({ $0.head?.link == commit.link }) { return }
    let previous = PublishedState(groupID: commit.groupID, epoch: commit.epoch - 1, link: commit.previousLink)
    let new = PublishedState(groupID: commit.groupID, epoch: commit.epoch, link: commit.link)
    try log.append(new, after: previous) { $0.commits.append(commit.serialized()) }
  }

  func publish(
    fileAt path: String, holding state: PublishedState, after previous: PublishedState
  ) throws(VaultError) {
    let bytes = FileManager.default.contents(atPath: path) ?? Data()
    try log.append(state, after: previous) { content in
      content.base = (bytes, state)
      content.commits = []
    }
    onFile.withLock { $0 }()
  }

  func catchUp() throws(VaultError) {
    let content = log.content.withLock { $0 }
    if let base = content.base { _ = try adopt(base.bytes) }
    for bytes in content.commits { _ = try group.apply(GroupCommit(parsing: bytes)) }
  }

  /// Puts a file in the place of the host's, as if the log had it.
  func adopt(_ bytes: Data) throws(VaultError) -> Bool {
    let number = UUID().uuidString
    let (new, kept) = ("\(folder).new-\(number)", "\(folder).kept-\(number)")
    defer { for path in [new, kept] { try? FileManager.default.removeItem(atPath: path) } }
    let draft = try GroupFile.GroupDraft(in: new, for: folder)
    _ = FileManager.default.createFile(
      atPath: new + "/group.vault", contents: bytes, attributes: [.posixPermissions: 0o600])
    return try group.adopt(draft, keeping: kept)
  }
}
