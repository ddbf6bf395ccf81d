import Sealing
import TestSupport

@testable import GroupFile

extension GroupCases {
  /// A credential's floor for the group, with and without a witness.
  func floorCases() -> [Case] {
    let link = Manifest.link(after: signed.manifest.previousLink, rest: signed.manifest.rest())
    let known = GroupVectors.FloorVector(
      groupID: VectorSeeds.groupID.bytes.hex, rosterRevision: 2, generation: 1, epoch: 3, link: link.bytes.hex)
    func floor(_ change: (inout GroupVectors.FloorVector) -> Void) -> GroupVectors.FloorVector {
      var floor = known
      change(&floor)
      return floor
    }
    func witness(_ change: (inout WitnessRecord) -> Void) -> String {
      var record = WitnessRecord(
        sequence: 5, groupID: VectorSeeds.groupID, ownerKey: base.roster.ownerKey, rosterRevision: 2, generation: 1,
        epoch: 3, link: link, rosterDigest: signed.rosterDigest)
      change(&record)
      return record.serialized().hex
    }
    let older = witness {
      $0.rosterRevision = 1
      $0.epoch = 2
      $0.link = signed.manifest.previousLink
    }
    let newer = floor { $0.epoch = 4 }
    let rolledBack = Refusal(54, "rolled-back")
    func first(_ name: String, _ refusal: Refusal?, _ floor: GroupVectors.FloorVector) -> Case {
      plain(name, refusal, reader: "reader", floor: floor)
    }
    return [
      first("a floor of this very state", nil, known),
      first(
        "a floor that the state descends from", nil,
        floor {
          $0.epoch = 2
          $0.link = signed.manifest.previousLink.bytes.hex
        }),
      first("a floor of a later epoch", rolledBack, newer),
      first("a floor of a later roster", rolledBack, floor { $0.rosterRevision = 3 }),
      first("a floor of a later generation", rolledBack, floor { $0.generation = 2 }),
      first("a floor of another state of the epoch", rolledBack, floor { $0.link = Digest.zero.bytes.hex }),
      first(
        "a floor that the state does not descend from", rolledBack,
        floor {
          $0.epoch = 2
          $0.link = VectorSeeds.bytes("fork").bytes.hex
        }),
      first("a floor of another group", .damaged(54, "witness"), floor { $0.groupID = GroupID.zero.bytes.hex }),
      plain("no file, and a floor", rolledBack, reader: "reader", floor: known, .make("nothing", "group.vault")),
      plain(
        "a floor beside a witness with an older roster", rolledBack, reader: "reader", witness: older, floor: newer),
      plain(
        "a later floor beside a witness with as new a roster, where it does not count", nil, reader: "reader",
        witness: witness { _ in }, floor: newer),
      plain(
        "a later floor beside an invalid witness, where it does not count", nil, reader: "reader", witness: "00",
        floor: newer),
    ]
  }
}
