package import Sealing

/// The state that the owner knew of a group when he issued a credential: what a machine without a witness of its own takes
/// for the newest (format article, "The credential").
package struct Floor: Equatable, Sendable {
  package let groupID: GroupID
  package let rosterRevision: UInt64
  package let generation: UInt64
  package let epoch: UInt64
  package let link: Digest

  package init(groupID: GroupID, rosterRevision: UInt64, generation: UInt64, epoch: UInt64, link: Digest) {
    self.groupID = groupID
    self.rosterRevision = rosterRevision
    self.generation = generation
    self.epoch = epoch
    self.link = link
  }

  /// The floor of a verified state.
  package init(_ state: VerifiedState) {
    self.init(
      groupID: state.manifest.groupID, rosterRevision: state.manifest.rosterRevision,
      generation: state.manifest.generation, epoch: state.manifest.epoch, link: state.link)
  }

  /// The floor as a witness would say it, where it counts beside `reading`: without a witness, or with one whose roster is
  /// older. The digest of the roster is not known.
  func record(of ownerKey: PublicKey, beside reading: WitnessReading) -> WitnessRecord? {
    switch reading {
    case .invalid: return nil
    case .valid(let record) where record.rosterRevision >= rosterRevision: return nil
    case .valid, .absent, .unavailable:
      return WitnessRecord(
        sequence: 0, groupID: groupID, ownerKey: ownerKey, rosterRevision: rosterRevision, generation: generation,
        epoch: epoch, link: link, rosterDigest: .zero)
    }
  }
}
