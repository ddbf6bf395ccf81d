/// Orders a group's changes in its cluster, through this machine's `vaultd`.
struct ServicePublisher: CommitPublishing {
  let group: String
  let location: StoreLocation

  func publish(_ commit: GroupCommit, isRepeated: Bool) throws(VaultError) {
    try ask(isRepeated ? .commitAgain : .commit, commit.serialized())
  }

  func publish(fileAt path: String, holding state: PublishedState, after previous: PublishedState) throws(VaultError) {
    try ask(.base, PublishedFile(path: path, state: state, previous: previous).encoded())
  }

  func catchUp() throws(VaultError) { try ask(.sync, []) }

  private func ask(_ request: ClusterRequest, _ body: [UInt8]) throws(VaultError) {
    let failure: VaultError?
    var isSent = request != .base
    do throws(VaultError) {
      // A file may take minutes, so find out first whether `vaultd` answers at all.
      if !isSent { _ = try location.logStatus(of: group) }
      isSent = true
      // A large commit takes longer on its way to the servers: as long as `vaultd` gives it.
      let patience = request == .base ? 600 : 30 + body.count / 65_536
      failure = try location.askService(request.path(of: group), body, patience: patience).failure
    } catch {
      switch error {
      case ServiceClient.nobodyListens: throw .unordered(.notHere)
      case .locked(.service(let why)): throw .unordered(.shut(why))
      case .locked(.otherStore): throw error
      // The request may have reached `vaultd` and its cluster.
      case .service(.busy, _):
        throw .unordered(request == .sync || !isSent ? .unreachable("vaultd does not answer") : .outcomeUnknown(nil))
      default: throw .unordered(.unreachable(error.message))
      }
    }
    guard let failure else { return }
    switch failure {
    case .unordered, .denied(.notAMember): throw failure
    // What the cluster has contradicts the copy, or there is no room for it.
    case .service(let status, _) where request == .sync && [.damaged, .rolledBack, .storage].contains(status):
      throw failure
    default: throw .unordered(.unreachable(failure.message))
    }
  }
}

/// The requests of programs to `vaultd` about a published group: `POST /vault/1/REQUEST/GROUP`, answered by a
/// ``ServiceAnswer``.
package enum ClusterRequest: String, Sendable {
  /// Orders the commit in the body.
  case commit
  /// Orders the commit in the body, which an earlier request may have done.
  case commitAgain = "commit-again"
  /// Orders the state of the file that the body names.
  case base
  /// Brings the group's copy up to date.
  case sync
  /// Asks for the epoch of the log, and for the error that keeps the copy from being up to date.
  case status
  /// Asks for the epoch of the log on the servers of the remote in the body; none if that log lacks the copy's state.
  case servers
  /// Makes users and permissions in etcd, and answers 1 if etcd checks logins, else 0. The path names the remote.
  case provision

  func path(of group: String) -> String { "/vault/1/\(rawValue)/\(group)" }
}

/// The body of a ``ClusterRequest/base``: `u16 ‖ path ‖ group id 32 ‖ u64 epoch ‖ link 32 ‖ u64 epoch ‖ link 32`: the
/// state that the file's state follows, and the file's.
package struct PublishedFile: Sendable, Equatable {
  package let path: String
  package let state, previous: PublishedState

  package init(path: String, state: PublishedState, previous: PublishedState) {
    (self.path, self.state, self.previous) = (path, state, previous)
  }

  func encoded() -> [UInt8] {
    var writer = ByteWriter()
    writer.writeCounted16(Array(path.utf8))
    writer.write(previous.groupID)
    for state in [previous, state] {
      writer.write(state.epoch)
      writer.write(state.link)
    }
    return writer.bytes
  }
}
