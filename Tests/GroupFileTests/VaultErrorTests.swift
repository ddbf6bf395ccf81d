import Testing

@testable import GroupFile

/// How an error of a group's file gets the group's name.
@Suite struct VaultErrorTests {
  @Test func `every error of a group's file that concerns a group gets its name`() {
    let pairs: [(VaultError, VaultError)] = [
      (.damaged(.row, "seal"), .damaged(group: "team", level: .row, detail: "seal")),
      (.anotherGroup(""), .anotherGroup("team")),
      (.witnessUnavailable(group: "", reason: "gone"), .witnessUnavailable(group: "team", reason: "gone")),
      (
        .rolledBack(found: 1, known: 2, reason: .fork),
        .rolledBack(group: "team", found: 1, known: 2, reason: .fork)
      ),
      (.busy(group: nil), .busy(group: "team")),
      (.otherDevice("no key"), .otherDevice(group: "team", reason: "no key")),
      (.unproved(items: 1, versions: 2), .unproved(group: "team", items: 1, versions: 2)),
      (.unordered(.overtaken), .unordered(group: "team", .overtaken)),
      (.permissionDenied, .denied(.permissions("the group's folder"))),
      (.notFound(.item), .notFound(.item)),
      (.storage(.full), .storage(.full)),
    ]
    for (error, named) in pairs { #expect(error.named("team") == named) }
  }

  @Test func `an error that names its group keeps the name`() {
    let errors: [VaultError] = [
      .damaged(group: "other", level: .row, detail: "seal"), .anotherGroup("other"), .busy(group: "other"),
      .unordered(group: "other", .notHere), .denied(.permissions("entering '/srv'")),
    ]
    for error in errors { #expect(error.named("team") == error) }
  }

  @Test(
    arguments: [
      (.missing, .notFound(.group)), (.taken, .exists(.group)),
      (.link, .damaged(.container, "a file of the group is not a regular file")),
      (.wrongKind, .damaged(.container, "a file of the group is not a regular file")),
      (.wrongSize, .damaged(.container, "a file of the group is not a regular file")),
      (.foreignOwner, .permissionDenied), (.openToOthers(mode: 0o644), .permissionDenied), (.denied, .permissionDenied),
      (.busy, .busy(group: nil)), (.storage(.full), .storage(.full)),
    ] as [(FileFault, VaultError)])
  func `a fault of a group's file is the error of the group`(_ fault: FileFault, _ error: VaultError) {
    #expect(VaultError(fault) == error)
  }
}
