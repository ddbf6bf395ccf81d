import Sealing

/// Every record of a group's file that can still be read, with its place and possible meaning.
///
/// Nothing in it is proved: a record counts only by its digest, or by the owner's decision. What the file's own tables
/// hold is looked up there first, and the pages are searched for the rest.
struct SalvageIndex: ~Copyable {
  struct Location {
    let page: UInt32
    let cell: UInt16
  }

  struct RowRecord {
    let token: Token
    let version: UInt64
    let digest: Digest
    fileprivate let location: Location
  }

  /// A large value belongs to one version of one item; whatever other rows name its digest, it is read for that one.
  private struct BlobName: Hashable {
    let token: Token
    let version: UInt64
    let digest: Digest
  }

  private let pages: DatabasePages
  /// Sorted by token and version.
  private(set) var rows: [RowRecord] = []
  private var blobs: [BlobName: Location] = [:]
  private var nodes: [Digest: Location] = [:]
  /// The node that was found last for each place.
  private(set) var nodesByPlace: [TreePlace: Digest] = [:]
  let stored: StoredParts
  /// All records that could be parts of the state: the stored ones, and those on pages that no table reaches.
  private(set) var parts: [StatePart: Set<[UInt8]>] = [:]
  /// Records that could be wraps, by slot.
  private(set) var foundWraps: [[UInt8]: Set<[UInt8]>] = [:]
  private var rests: [UInt64: Set<Digest>] = [:]

  /// The rests of manifests by epoch: the stored ones, and, for other epochs, those that only one record claims.
  var chain: [UInt64: Digest] { rests.compactMapValues { $0.count == 1 ? $0.first : nil }.merging(stored.chain) { $1 } }

  init(of path: String, _ stored: StoredParts, progress: (UInt64, UInt64) -> Void) throws(VaultError) {
    self.stored = stored
    pages = try DatabasePages(path: path)
    parts = stored.parts.mapValues { [$0] }
    var reading = RecordPage.Reading()
    // Page 1 holds only the list of tables, which is known.
    var last: UInt32 = 1
    while last < pages.count, let number = pages.next(from: last + 1) {
      last = number
      if number % 1_024 == 0 { progress(UInt64(number), UInt64(pages.count)) }
      guard let bytes = pages.page(number), let page = RecordPage(bytes) else { continue }
      reading.beginPage()
      for cell in 0..<page.cellCount {
        guard let record = page.record(cell, pages, &reading) else { continue }
        keep(record, of: page.kind, at: Location(page: number, cell: UInt16(cell)))
      }
    }
    progress(UInt64(pages.count), UInt64(pages.count))
    rows.sort { ($0.token, $0.version) < ($1.token, $1.version) }
  }

  private mutating func keep(_ record: Record, of kind: RecordPage.Kind, at location: Location) {
    let isTable = kind == .tableLeaf
    switch (record.columns.count, isTable) {
    case (9, false):
      guard let row = Row(record) else { return }
      rows.append(RowRecord(token: row.token, version: row.version, digest: row.digest, location: location))
    case (3, true):
      guard let token = record.bytes(0, 16...16), let bytes = record.bytes(2, Row.blobByteCount),
        let version = record.integer(1, in: 1...Int64(ByteReader.counterLimit - 1))
      else { return }
      let name = unsafe record.payload.withUnsafeBytes { payload in
        unsafe BlobName(
          token: Token(loadingFrom: UnsafeRawBufferPointer(rebasing: payload[token])), version: UInt64(version),
          digest: Hash.digest(.blob, UnsafeRawBufferPointer(rebasing: payload[bytes])))
      }
      blobs[name] = location
    case (2, true): keepPart(record, location)
    case (2, false):
      guard let slot = record.bytes(0, 16...16), let sealed = record.bytes(1, Wrap.byteCount...Wrap.byteCount) else {
        return
      }
      foundWraps[Array(record.payload[slot]), default: []].insert(Array(record.payload[sealed]))
    default: return
    }
  }

  private mutating func keepPart(_ record: Record, _ location: Location) {
    if let (place, body) = record.node {
      let digest = TreeNode.digest(ofBody: body, at: place)
      nodes[digest] = location
      nodesByPlace[place] = digest
    } else if case .null = record.columns[0], record.rowID > 0 {
      if let rest = record.bytes(1, 32...32) {
        rests[UInt64(record.rowID), default: []].insert(Digest(record.payload[rest])!)
      } else if let bytes = record.bytes(1, 1...GroupLimits.rosterByteCount + 1_024),
        let part = StatePart(rawValue: record.rowID)
      {
        parts[part, default: []].insert(Array(record.payload[bytes]))
      }
    }
  }

  /// All records that could be the wrap of `slot`: the stored one, and then those on pages that no table reaches.
  func wraps(of slot: [UInt8]) -> [[UInt8]] {
    let found = foundWraps[slot] ?? []
    guard let wrap = try? stored.tables?.wrap(slot) else { return Array(found) }
    return [wrap] + found.subtracting([wrap])
  }

  private func record(at location: Location) -> Record? {
    guard let bytes = pages.page(location.page), let page = RecordPage(bytes), location.cell < page.cellCount else {
      return nil
    }
    var reading = RecordPage.Reading()
    return page.record(Int(location.cell), pages, &reading)
  }

  func row(_ record: RowRecord) -> Row? { self.record(at: record.location).flatMap { Row($0) } }

  func versions(of token: Token) -> ArraySlice<RowRecord> { rows(below: TreePlace(depth: 32, prefix: token)) }

  func rows(below place: TreePlace) -> ArraySlice<RowRecord> {
    let start = rows.sortedIndex { $0.token >= place.prefix }
    return rows[start..<rows.sortedIndex { $0.token.prefix(place.depth) > place.prefix }]
  }

  /// The row with the proved `digest`: the current one of `token`, or its older version with this number.
  func row(_ token: Token, version: UInt64? = nil, _ digest: Digest) -> Row? {
    let found =
      if let version { try? stored.tables?.olderRow(token, version: version) } else {
        try? stored.tables?.currentRow(token)
      }
    if let row = found, row.digest == digest { return row }
    var all = versions(of: token)
    if let version { all = all[all.sortedIndex { $0.version >= version }...].prefix { $0.version == version } }
    for record in all where record.digest == digest {
      if let row = row(record), row.digest == digest { return row }
    }
    return nil
  }

  /// The sealed secret of a row that is stored apart from it; `nil` if it is lost.
  func blob(of row: Row) -> [UInt8]? {
    guard let digest = Digest(row.encoded[row.secretRange]) else { return nil }
    if let bytes = try? stored.tables?.blob(row.token, version: row.version), Hash.digest(.blob, bytes) == digest {
      return bytes
    }
    guard let location = blobs[BlobName(token: row.token, version: row.version, digest: digest)],
      let record = record(at: location),
      record.columns.count == 3, let range = record.bytes(2, Row.blobByteCount)
    else { return nil }
    let bytes = Array(record.payload[range])
    return Hash.digest(.blob, bytes) == digest ? bytes : nil
  }

  /// The value of a row, wherever it is; `nil` if it is lost. Its errors are those of `GroupKeys.secret(_:)`.
  func secret(of row: Row, _ keys: GroupKeys) throws(VaultError) -> (value: OpenedSecret, blob: [UInt8]?)? {
    let blob = row.place == .blob ? blob(of: row) : nil
    guard row.place != .blob || blob != nil else { return nil }
    return (try keys.secret(SealedValue(row, blob)), blob)
  }

  /// The node with the proved `digest` at `place`.
  func node(_ digest: Digest, at place: TreePlace) -> TreeNode? {
    for body in [try? stored.tables?.nodeBody(at: place), nodes[digest].flatMap { record(at: $0)?.node?.body }] {
      if let body, TreeNode.digest(ofBody: body, at: place) == digest { return try? TreeNode(parsing: body, at: place) }
    }
    return nil
  }
}

extension Record {
  fileprivate var node: (place: TreePlace, body: [UInt8])? {
    guard columns.count == 2, let key = bytes(0, 17...17),
      let body = bytes(1, Connection.nodeByteCount)
    else { return nil }
    var reader = ByteReader(payload, in: key)
    guard let depth = try? reader.read(UInt8.self), depth <= 32, let prefix = try? reader.readToken(),
      prefix.prefix(Int(depth)) == prefix
    else { return nil }
    return (TreePlace(depth: Int(depth), prefix: prefix), Array(payload[body]))
  }
}

extension Row {
  /// The row in a record of table `item` or `version`; `nil` if the format does not allow it.
  fileprivate init?(_ record: Record) {
    let counter: ClosedRange<Int64> = 1...Int64(ByteReader.counterLimit - 1)
    guard record.columns.count == 9, let token = record.bytes(0, 16...16), let version = record.integer(1, in: counter),
      let state = record.integer(2, in: 1...2).flatMap({ State(rawValue: UInt8($0)) }),
      let oldest = record.integer(3, in: counter), oldest <= version, let previous = record.bytes(4, 32...32),
      let nonce = record.bytes(5, 24...24), let attributes = record.bytes(6, Row.sealedAttributesByteCount),
      let place = record.integer(7, in: 0...2).flatMap({ Place(rawValue: UInt8($0)) }),
      (state == .removed) == (place == .none), let secret = record.bytes(8, Row.secretByteCount(place))
    else { return nil }
    self = unsafe record.payload.withUnsafeBytes { payload in
      func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: payload[range])
      }
      return unsafe Row(
        token: Token(loadingFrom: slice(token)), version: UInt64(version), state: state, oldest: UInt64(oldest),
        previous: slice(previous), nonce: slice(nonce), attributes: slice(attributes), place: place,
        secret: slice(secret))
    }
  }
}
