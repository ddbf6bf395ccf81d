import Glibc
import Sealing
import TestSupport
import Testing

@testable import GroupFile
@testable import Vault

@Suite struct WitnessTests {
  private let temporary = TemporaryFolder()
  private let ownerKey = PublicKey([UInt8](countingFrom: 0, count: 32))!
  private let path = "witness/000102030405060708090a0b0c0d0e0f/team"

  private var folder: WitnessFolder { WitnessFolder(stateFolder: temporary.path, ownerKey: ownerKey) }
  private var witness: Witness { Witness(of: "team", in: folder, waiting: 100) }

  private func record(epoch: UInt64, sequence: UInt64 = 0) -> WitnessRecord {
    WitnessRecord(
      sequence: sequence, groupID: .zero, ownerKey: ownerKey, rosterRevision: 1, generation: 1, epoch: epoch,
      link: .zero, rosterDigest: .zero)
  }

  private func raise(_ witness: Witness, to epoch: UInt64) -> Bool { witness.raise { _ in record(epoch: epoch) } }

  /// The reading that an update gets, without changing the record; `nil` if the update is refused.
  private func look(_ witness: Witness) -> WitnessReading? {
    var seen: WitnessReading?
    let isDone = witness.raise { reading in
      seen = reading
      return nil
    }
    return isDone ? seen : nil
  }

  // MARK: - Records in turn

  @Test func `before the first record there is no witness`() {
    #expect(witness.read() == .absent)
    #expect(temporary.names().isEmpty)
  }

  @Test func `the first record creates the folders and the file for the owner alone`() {
    #expect(raise(witness, to: 7))
    #expect(witness.read() == .valid(record(epoch: 7, sequence: 1)))
    #expect(temporary.mode("witness") == 0o700)
    #expect(temporary.mode("witness/000102030405060708090a0b0c0d0e0f") == 0o700)
    #expect(temporary.mode(path) == 0o600)
    #expect(temporary.names(in: "witness/000102030405060708090a0b0c0d0e0f") == ["team"])
  }

  @Test func `records are written in turn and in place, and the file never grows`() throws {
    let witness = witness
    var before = [UInt8](repeating: 0, count: 512)
    for epoch in 1...9 as ClosedRange<UInt64> {
      #expect(raise(witness, to: epoch))
      #expect(witness.read() == .valid(record(epoch: epoch, sequence: epoch)))
      let after = try #require(temporary.read(path))
      #expect(after.count == 512)
      #expect((before[..<256] == after[..<256]) == epoch.isMultiple(of: 2))
      #expect((before[256...] == after[256...]) != epoch.isMultiple(of: 2))
      before = after
    }
  }

  @Test func `an update gets the present record and may keep it`() {
    let witness = witness
    #expect(look(witness) == .absent)
    #expect(witness.read() == .absent)
    #expect(raise(witness, to: 3))
    #expect(look(witness) == .valid(record(epoch: 3, sequence: 1)))
    #expect(witness.read() == .valid(record(epoch: 3, sequence: 1)))
  }

  @Test func `another process's record is seen through the open descriptor`() {
    let (reader, writer) = (witness, witness)
    #expect(raise(writer, to: 1))
    #expect(reader.read() == .valid(record(epoch: 1, sequence: 1)))
    #expect(raise(writer, to: 2))
    #expect(reader.read() == .valid(record(epoch: 2, sequence: 2)))
  }

  @Test func `a removed file no longer counts as the witness, and a recreated one does`() {
    let reader = witness
    #expect(raise(witness, to: 5))
    #expect(reader.read() == .valid(record(epoch: 5, sequence: 1)))
    temporary.remove(path)
    #expect(reader.read() == .absent)
    #expect(raise(witness, to: 6))
    #expect(reader.read() == .valid(record(epoch: 6, sequence: 1)))
    temporary.remove(path)
    #expect(raise(witness, to: 7))
    #expect(reader.read() == .valid(record(epoch: 7, sequence: 1)))
  }

  @Test func `before a change, another process's record and a recreated file are seen`() throws {
    let (one, other) = (witness, witness)
    #expect(raise(one, to: 1) && raise(one, to: 2))
    #expect(one.readToWrite() == .valid(record(epoch: 2, sequence: 2)))
    #expect(raise(other, to: 3))
    #expect(one.readToWrite() == .valid(record(epoch: 3, sequence: 3)))
    #expect(raise(one, to: 4))
    #expect(one.readToWrite() == .valid(record(epoch: 4, sequence: 4)))
    temporary.remove(path)
    #expect(one.readToWrite() == .absent)
    #expect(raise(other, to: 1))
    #expect(one.readToWrite() == .valid(record(epoch: 1, sequence: 1)))
  }

  @Test func `each group and each owner has a separate witness`() throws {
    #expect(raise(witness, to: 1))
    let other = WitnessFolder(stateFolder: temporary.path, ownerKey: .zero)
    #expect(Witness(of: "team", in: other).read() == .absent)
    #expect(Witness(of: "team.two", in: folder).read() == .absent)
    #expect(raise(Witness(of: "team.two", in: folder), to: 1))
    temporary.write("witness/000102030405060708090a0b0c0d0e0f/.left.new", [])
    #expect(try folder.groups() == ["team", "team.two"])
    #expect(try other.groups() == [])
  }

  // MARK: - Damage

  @Test func `if one record is torn, the other one is used`() throws {
    #expect(raise(witness, to: 1) && raise(witness, to: 2))
    var bytes = try #require(temporary.read(path))
    bytes[256 + 110] ^= 1
    temporary.write(path, bytes)
    #expect(witness.read() == .valid(record(epoch: 1, sequence: 1)))
    #expect(raise(witness, to: 3))
    #expect(witness.read() == .valid(record(epoch: 3, sequence: 2)))
  }

  @Test(arguments: ["zeros", "short", "long", "empty", "link", "FIFO", "folder", "mode", "owner's key"])
  func `an invalid witness stays invalid until it is replaced by hand`(kind: String) throws {
    #expect(raise(witness, to: 1))
    let bytes = try #require(temporary.read(path))
    temporary.write("aside", bytes)
    temporary.remove(path)
    switch kind {
    case "zeros": temporary.write(path, [UInt8](repeating: 0, count: 512))
    case "short": temporary.write(path, Array(bytes.dropLast()))
    case "long": temporary.write(path, bytes + [0])
    case "empty": temporary.write(path, [])
    case "link": temporary.makeLink(path, to: temporary.file("aside"))
    case "FIFO": temporary.makeFIFO(path)
    case "folder": temporary.makeFolder(path)
    case "mode": temporary.write(path, bytes, mode: 0o622)
    default:
      var foreign = record(epoch: 1, sequence: 1)
      foreign.ownerKey = .zero
      temporary.write(path, foreign.serialized() + Array(repeating: 0, count: 256))
    }
    let witness = witness
    #expect(witness.read() == .invalid)
    #expect(look(witness) == .invalid)
    #expect(witness.read() == .invalid)
    // We must not remove somebody's folder.
    let isReplaced = kind != "folder"
    #expect(raise(witness, to: 9) == isReplaced)
    #expect(witness.read() == (isReplaced ? .valid(record(epoch: 9, sequence: 1)) : .invalid))
    #expect(temporary.read("aside") == bytes)
  }

  @Test func `a record that could not be read back is not written`() {
    #expect(raise(witness, to: 1))
    var foreign = record(epoch: 2)
    foreign.ownerKey = .zero
    #expect(!witness.raise { _ in foreign })
    #expect(!raise(witness, to: 1 << 53))
    #expect(witness.read() == .valid(record(epoch: 1, sequence: 1)))
  }

  // MARK: - Unavailable

  @Test func `without a usable state folder the witness is unavailable for a stated reason`() throws {
    func expect(_ folder: WitnessFolder, _ reason: String, sourceLocation: SourceLocation = #_sourceLocation) {
      let witness = Witness(of: "team", in: folder)
      #expect(witness.read() == .unavailable(reason: reason), sourceLocation: sourceLocation)
      #expect(!raise(witness, to: 1), sourceLocation: sourceLocation)
    }
    expect(
      WitnessFolder(stateFolder: nil, ownerKey: ownerKey), "there is no home folder for the state folder")
    expect(
      WitnessFolder(stateFolder: temporary.file("no"), ownerKey: ownerKey), "the state folder does not exist")
    #expect(temporary.mode("no") == nil)
    expect(
      WitnessFolder(stateFolder: temporary.write("file", []), ownerKey: ownerKey),
      "the state folder is not the kind of file or folder that belongs here")
    expect(
      WitnessFolder(stateFolder: temporary.makeFolder("open", mode: 0o772), ownerKey: ownerKey),
      "the state folder is open to other users (mode 772)")
    temporary.makeFolder("foreign")
    let user = temporary.giveAway("foreign")
    expect(
      WitnessFolder(stateFolder: temporary.file("foreign"), ownerKey: ownerKey, user: user),
      "the state folder belongs to another user")
  }

  @Test func `on read-only storage the witness is read but not raised`() async {
    await #expect(processExitsWith: .success) { try ChildProcess.useReadOnlyState() }
  }

  @Test func `a full disk does not prevent raising an existing witness`() async {
    await #expect(processExitsWith: .success) { try ChildProcess.raiseWithoutSpace() }
  }

  @Test func `a lock that is held too long leaves the witness unchanged`() throws {
    #expect(raise(witness, to: 1))
    let held = try OpenFile(temporary.file("witness/000102030405060708090a0b0c0d0e0f"), O_RDONLY | O_DIRECTORY)
    try held.lock(waiting: 0)
    #expect(!raise(witness, to: 2))
    #expect(witness.read() == .valid(record(epoch: 1, sequence: 1)))
    held.unlock()
    #expect(raise(witness, to: 2))
  }

  // MARK: - Many at once

  @Test func `many threads raise the witness without losing a record, and a reader never sees it invalid or lower`() {
    let folder = folder
    let shared = Witness(of: "team", in: folder)
    let key = ownerKey
    onThreads(8) { thread in
      let own = Witness(of: "team", in: folder)
      var last: UInt64 = 0
      for turn in 0..<60 {
        if thread < 4 {
          let witness = turn.isMultiple(of: 2) ? own : shared
          let isRaised = witness.raise { reading in
            var next = WitnessRecord(
              sequence: 0, groupID: .zero, ownerKey: key, rosterRevision: 1, generation: 1, epoch: 1, link: .zero,
              rosterDigest: .zero)
            if case .valid(let old) = reading { next.epoch = old.epoch + 1 }
            return next
          }
          #expect(isRaised)
        }
        switch shared.read() {
        case .valid(let record):
          #expect(record.epoch >= last)
          last = record.epoch
        case .absent: #expect(last == 0)
        default: Issue.record("a witness that cannot be read")
        }
      }
    }
    #expect(shared.read() == .valid(record(epoch: 240, sequence: 240)))
  }
}

/// The code that the exit tests run in a separate process.
private enum ChildProcess {
  private static func record(epoch: UInt64) -> WitnessRecord {
    WitnessRecord(
      sequence: epoch, groupID: .zero, ownerKey: .zero, rosterRevision: 1, generation: 1, epoch: epoch, link: .zero,
      rosterDigest: .zero)
  }

  static func useReadOnlyState() throws {
    let temporary = TemporaryFolder()
    if geteuid() == 0 { try #require(unsafe chown(temporary.path, 65_533, 65_533) == 0 && setuid(65_533) == 0) }
    let folder = WitnessFolder(stateFolder: temporary.path, ownerKey: .zero)
    #expect(Witness(of: "team", in: folder).raise { _ in record(epoch: 1) })
    let path = "witness/00000000000000000000000000000000"
    temporary.setMode("\(path)/team", 0o400)
    #expect(Witness(of: "team", in: folder).read() == .valid(record(epoch: 1)))
    #expect(!Witness(of: "team", in: folder).raise { _ in record(epoch: 2) })
    temporary.setMode(path, 0o500)
    #expect(Witness(of: "other", in: folder).read() == .absent)
    #expect(!Witness(of: "other", in: folder).raise { _ in record(epoch: 1) })
    temporary.setMode(path, 0o000)
    #expect(
      Witness(of: "team", in: folder).read()
        == .unavailable(reason: "the witness cannot be opened: permission denied"))
    temporary.setMode(path, 0o700)
  }

  static func raiseWithoutSpace() throws {
    let temporary = TemporaryFolder()
    let folder = WitnessFolder(stateFolder: temporary.path, ownerKey: .zero)
    #expect(Witness(of: "team", in: folder).raise { _ in record(epoch: 1) })
    signal(SIGXFSZ, SIG_IGN)
    var little = rlimit(rlim_cur: 512, rlim_max: 512)
    try #require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &little) == 0)
    for epoch in 2...5 as ClosedRange<UInt64> {
      #expect(Witness(of: "team", in: folder).raise { _ in record(epoch: epoch) })
    }
    #expect(Witness(of: "team", in: folder).read() == .valid(record(epoch: 5)))
  }
}
