package import Sealing

/// A writer's signed statement of a group's current state (format article, "The manifest").
package struct Manifest: Sendable, Equatable {
  /// The roster's versions, which the owner decides.
  package var version: FormatVersion
  package var groupID: GroupID
  package var rosterDigest: Digest
  package var rosterRevision: UInt64
  package var generation: UInt64
  /// The number of the state; each commit adds 1, and accepting a rollback may add more.
  package var epoch: UInt64
  /// The number of rows in `item`, tombstones included.
  package var itemCount: UInt64
  package var versionRowCount: UInt64
  package var root: Digest
  /// The link of the previous manifest; zeros for the first.
  package var previousLink: Digest
  package var writerKey: PublicKey
  /// Milliseconds since 1970-01-01 UTC, for information only.
  package var time: UInt64

  static let bodyByteCount = 232
}

extension Manifest {
  /// The 232 bytes that the writer signs.
  package func body() -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: Manifest.bodyByteCount)
    writer.write(Label.manifest)
    writer.write(version.read)
    writer.write(version.write)
    writer.write(UInt32(0))
    writer.write(groupID)
    writer.write(rosterDigest)
    writer.write(rosterRevision)
    writer.write(generation)
    writer.write(epoch)
    writer.write(itemCount)
    writer.write(versionRowCount)
    writer.write(root)
    writer.write(previousLink)
    writer.write(writerKey)
    writer.write(time)
    return writer.bytes
  }

  /// `rest = H("vault1.man.rest", body without the previous link)`: the part of this manifest that the chain stores.
  package func rest() -> Digest {
    let body = body()
    return Hash.digest(.manifestRest, Array(body[..<160] + body[192...]))
  }

  /// `link = H("vault1.man.link", previous link ‖ rest)`: identifies this state and all states before it.
  package func link() -> Digest { Manifest.link(after: previousLink, rest: rest()) }

  package static func link(after previous: Digest, rest: Digest) -> Digest {
    Hash.digest(.manifestLink, previous.bytes + rest.bytes)
  }

  /// Reads a body; any defect is `damaged(.manifest, …)`. The versions in it are checked later, against the roster.
  package init(parsing body: [UInt8]) throws(VaultError) {
    do {
      var reader = ByteReader(body)
      try reader.expect(.manifest)
      version = FormatVersion(read: try reader.read(UInt16.self), write: try reader.read(UInt16.self))
      guard try reader.read(UInt32.self) == 0 else { throw VaultError.damaged(.manifest, "fields") }
      groupID = try reader.readBytes32()
      rosterDigest = try reader.readBytes32()
      rosterRevision = try reader.readCounter()
      generation = try reader.readCounter()
      epoch = try reader.readCounter()
      itemCount = try reader.readCounter()
      versionRowCount = try reader.readCounter()
      root = try reader.readBytes32()
      previousLink = try reader.readBytes32()
      writerKey = try reader.readBytes32()
      time = try reader.readCounter()
      try reader.finish()
    } catch {
      throw error as? VaultError ?? .damaged(.manifest, "layout")
    }
    guard epoch >= 1, (epoch == 1) == (previousLink == .zero) else { throw .damaged(.manifest, "fields") }
  }
}

/// A manifest with its signature, as it is sealed: `N 24 ‖ seal(meta key, N, binding, body ‖ signature)`.
enum SignedManifest {
  static let byteCount = Nonce.byteCount + Manifest.bodyByteCount + SigningKey.signatureByteCount + SealedBox.overhead

  static func seal(_ manifest: Manifest, by writer: SigningKey, with keys: GroupKeys) -> [UInt8] {
    let body = manifest.body()
    return keys.sealMeta(body + writer.sign(body), .manifestBinding)
  }

  /// Opens a stored manifest and checks it against the roster that it names: ids, digest, the writer's right and the
  /// signature. The versions in it are not checked.
  static func open(
    _ stored: [UInt8], with keys: GroupKeys, isProved: Bool = false, under roster: (Digest) -> SignedRoster?
  ) throws(VaultError) -> Manifest {
    guard let content = keys.openMeta(stored, .manifestBinding), content.count > SigningKey.signatureByteCount else {
      throw .damaged(.manifest, "seal")
    }
    let body = Array(content.dropLast(SigningKey.signatureByteCount))
    let manifest = try Manifest(parsing: body)
    guard let roster = roster(manifest.rosterDigest) else { throw .damaged(.manifest, "roster") }
    guard manifest.groupID == roster.roster.groupID, manifest.generation == roster.roster.generation,
      manifest.rosterRevision == roster.roster.revision, manifest.rosterDigest == roster.digest
    else { throw .damaged(.manifest, "roster") }
    guard manifest.epoch >= roster.roster.firstEpoch else { throw .damaged(.manifest, "epoch before its roster") }
    guard let writer = roster.roster.member(signing: manifest.writerKey), writer.rights == .write,
      manifest.epoch != roster.roster.firstEpoch || writer.kind == .owner
    else { throw .damaged(.manifest, "writer") }
    guard manifest.epoch - roster.roster.firstEpoch <= GroupLimits.epochsPerRoster else {
      throw .damaged(.manifest, "epoch too far above its roster's")
    }
    guard isProved || manifest.writerKey.verifies(Array(content.suffix(SigningKey.signatureByteCount)), of: body)
    else { throw .damaged(.manifest, "signature") }
    return manifest
  }
}

extension Label {
  static let manifest = Label("vault1.manifest")
  static let manifestRest = Label("vault1.man.rest")
  static let manifestLink = Label("vault1.man.link")
  static let manifestBinding = Label("vault1.meta.man")
}

/// The format versions that a file requires: the first for reading, both for writing (format article, "The roster").
package struct FormatVersion: Equatable, Sendable {
  package var read: UInt16
  package var write: UInt16

  package static let known = FormatVersion(read: 1, write: 2)
  /// The versions of a group that no log orders.
  package static let unpublished = FormatVersion(read: 1, write: 1)
  /// The versions of a published group: read as before, and written only in the order of its log.
  package static let published = FormatVersion(read: 1, write: 2)

  /// Throws `newerFormat` if `access` requires a higher version than this code supports.
  func check(_ access: Connection.Access) throws(VaultError) {
    if read > FormatVersion.known.read || access == .writing && write > FormatVersion.known.write {
      throw .newerFormat(read: Int(read), write: Int(write))
    }
  }
}

/// The limits of one group file (format article, "Limits"). Each is checked before memory is allocated.
package enum GroupLimits {
  package static let secretByteCount = 1 << 20
  package static let attributesByteCount = 64 << 10
  /// The largest size of an item's name, in bytes of its NFC form.
  package static let nameByteCount = 1_024
  /// The lowest version that no other can follow. Only a malicious writer gets an item near it.
  package static let lastVersion = ByteReader.counterLimit - 2
  /// The highest number of pairs in one item's attributes.
  package static let attributeCount = 64
  /// The largest sealed secret that is stored in its row; a longer one is stored in a separate blob.
  package static let inlineSecretByteCount = 512
  /// How many manifests the chain keeps.
  package static let chainLength: UInt64 = 4_096
  /// How many versions a group may keep of one item, the current one included.
  package static let keptVersions: ClosedRange<UInt16> = 1...1_000
  /// How far states may be above the roster's first one: more than honest use reaches, and so little
  /// that a malicious writer leaves the owner room for thousands of new rosters.
  package static let epochsPerRoster: UInt64 = 1 << 40
  package static let memberCount = 4_096
  package static let removedCount = 4_096
  package static let rosterByteCount = 1 << 20
}
