import Sealing
import TestSupport
import Testing

@testable import GroupFile

@Suite struct ManifestTests {
  static func manifest() -> Manifest {
    Manifest(
      version: .unpublished, groupID: GroupID([UInt8](countingFrom: 1, count: 32))!,
      rosterDigest: Digest([UInt8](countingFrom: 2, count: 32))!, rosterRevision: 3, generation: 4, epoch: 5,
      itemCount: 6, versionRowCount: 7, root: Digest([UInt8](countingFrom: 8, count: 32))!,
      previousLink: Digest([UInt8](countingFrom: 9, count: 32))!,
      writerKey: PublicKey([UInt8](countingFrom: 10, count: 32))!, time: 11)
  }

  @Test func `the body has the documented layout`() {
    let body = ManifestTests.manifest().body()
    #expect(body.count == 232)
    #expect(body[..<16].elementsEqual("vault1.manifest\0".utf8))
    #expect(Array(body[16..<24]).hex == "0001000100000000")
    #expect(Array(body[24..<56]) == [UInt8](countingFrom: 1, count: 32))
    #expect(Array(body[56..<88]) == [UInt8](countingFrom: 2, count: 32))
    #expect(
      Array(body[88..<128]).hex
        == "0000000000000003" + "0000000000000004" + "0000000000000005" + "0000000000000006" + "0000000000000007")
    #expect(Array(body[128..<160]) == [UInt8](countingFrom: 8, count: 32))
    #expect(Array(body[160..<192]) == [UInt8](countingFrom: 9, count: 32))
    #expect(Array(body[192..<224]) == [UInt8](countingFrom: 10, count: 32))
    #expect(Array(body[224...]).hex == "000000000000000b")
  }

  @Test func `the link covers every field and the previous link`() {
    let manifest = ManifestTests.manifest()
    let body = manifest.body()
    let rest = Hash.digest(Label("vault1.man.rest"), Array(body[..<160] + body[192...]))
    #expect(manifest.rest() == rest)
    #expect(manifest.link() == Hash.digest(Label("vault1.man.link"), [UInt8](countingFrom: 9, count: 32) + rest.bytes))
    var other = manifest
    other.previousLink = .zero
    #expect(other.rest() == rest)
    #expect(other.link() != manifest.link())
  }

  @Test func `a manifest reads back as it was written, or is refused`() throws {
    let taken = try Canonical.check(ManifestTests.manifest().body()) { try Manifest(parsing: $0).body() }
    #expect(taken > 0)
  }

  @Test(
    arguments: [
      (0, [0]), (20, [1]), (23, [1]), (88, [0, 0x20]), (96, [0, 0x20]), (104, [0, 0x20]),
      (112, [0, 0x20]), (120, [0, 0x20]), (224, [0, 0x20]), (104, [0, 0, 0, 0, 0, 0, 0, 0]),
      (104, [0, 0, 0, 0, 0, 0, 0, 1]),
      (160, [UInt8](repeating: 0, count: 32)),
    ] as [(Int, [UInt8])])
  func `a broken field is refused`(_ offset: Int, _ bytes: [UInt8]) {
    var body = ManifestTests.manifest().body()
    body.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    guard case .damaged(_, .manifest, _) = failure({ try Manifest(parsing: body) }) else {
      Issue.record("taken")
      return
    }
  }

  @Test func `a manifest of any format version is read, because the roster decides about versions`() throws {
    var body = ManifestTests.manifest().body()
    body.replaceSubrange(16..<20, with: [0, 2, 0, 3])
    #expect(try Manifest(parsing: body).version == FormatVersion(read: 2, write: 3))
  }
}
