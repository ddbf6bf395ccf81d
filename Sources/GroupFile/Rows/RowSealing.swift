internal import Glibc
import Sealing

/// Opening and sealing the rows of the generation (format article, "Rows"), from any thread.
extension GroupKeys {
  /// Opens the attributes of a proved row, and checks that the name in them belongs to the row's token.
  ///
  /// - Parameter name: the name by whose token the row was found; `nil` if it was found in another way.
  /// - Throws: `damaged(.row, …)`.
  package func attributes(of row: Row, named name: String? = nil) throws(VaultError) -> Attributes {
    var opened: [UInt8] = []
    return Attributes(try fields(of: row, named: name, in: &opened), of: opened)
  }

  /// Opens the attributes of a proved row, otherwise as `attributes(of:named:)`.
  ///
  /// - Parameter opened: receives them. Rows can share it one after the other, and it only grows.
  package func fields(
    of row: Row, named name: String? = nil, in opened: inout [UInt8]
  ) throws(VaultError) -> AttributeFields {
    let fields: AttributeFields
    do {
      let count = row.attributesRange.count - SealedBox.overhead
      if opened.count < count { opened = [UInt8](repeating: 0, count: max(count, 256)) }
      let range = try unsafe row.encoded.span.withUnsafeBytes { (bytes) throws(SealingError) in
        let box = unsafe UnsafeRawBufferPointer(rebasing: bytes[row.attributesRange])
        let binding = binding.bytes(token: row.token, version: row.version, state: row.state, half: .attributes)
        var opened = opened.mutableSpan
        return try unsafe opened.withUnsafeMutableBytes { (opened) throws(SealingError) in
          let padded = unsafe UnsafeMutableRawBufferPointer(rebasing: opened[..<count])
          try unsafe SealedBox.openUnguarded(box, key: attributesKey, nonce: row.nonce, binding: binding, into: padded)
          return try unsafe Padding.unpad(UnsafeRawBufferPointer(padded))
        }
      }
      fields = try AttributeFields(of: opened, in: range)
    } catch {
      throw error as? VaultError ?? .damaged(.row, "attributes do not open")
    }
    // Compare bytes, as for the token: `==` treats all equivalent spellings as equal.
    let belongs = unsafe opened.span.withUnsafeBytes { opened in
      let found = unsafe UnsafeRawBufferPointer(rebasing: opened[fields.name])
      guard let name else { return unsafe token(of: found) == row.token }
      return unsafe name.utf8Span.span.withUnsafeBytes { unsafe $0.hasSameBytes(as: found) }
    }
    if !belongs { throw .damaged(.row, "a name in another's place") }
    return fields
  }

  /// Opens the value of a proved row.
  ///
  /// - Throws: `damaged(.row, …)`; `storage` if guarded memory is short.
  func secret(_ value: SealedValue) throws(VaultError) -> OpenedSecret {
    let bytes = try sealing(GuardedBytes(count: max(value.range.count - SealedBox.overhead, 0)))
    let text = try open(value, into: bytes)
    guard text.count <= GroupLimits.secretByteCount else { throw .damaged(.row, "a value too long") }
    return OpenedSecret(bytes: bytes, range: text)
  }

  /// Opens the value of a proved row into `padded`, guarded memory for one row after the other; returns its place there.
  func open(_ value: SealedValue, into padded: GuardedBytes) throws(VaultError) -> Range<Int> {
    do {
      try unsafe value.box.span.withUnsafeBytes { (box) throws(SealingError) in
        // Only a row that is present has a secret.
        let binding = binding.bytes(token: value.token, version: value.version, state: .present, half: .secret)
        let box = unsafe UnsafeRawBufferPointer(rebasing: box[value.range])
        try unsafe SealedBox.open(box, key: secretKey, nonce: value.nonce, binding: binding, into: padded)
      }
      return try unsafe padded.withUnsafeBytes { (padded) throws(SealingError) in
        try unsafe Padding.unpad(UnsafeRawBufferPointer(rebasing: padded[..<(value.range.count - SealedBox.overhead)]))
      }
    } catch {
      throw .damaged(.row, "a secret does not open")
    }
  }

  /// Seals a row of `token`. Both halves are padded by the same rule and share one nonce under two keys.
  ///
  /// - Parameter nonce: random, and used for no other row.
  func sealedRow(
    _ attributes: Attributes, _ secret: OpenedSecret?, token: Token, version: UInt64, oldest: UInt64, previous: Digest,
    nonce: Nonce = Nonce()
  ) throws(VaultError) -> (row: Row, blob: [UInt8]?) {
    let encoded = try attributes.encoded()
    func seal(_ padded: UnsafeRawBufferPointer?) -> (row: Row, blob: [UInt8]?) {
      unsafe sealedRow(
        encoded: encoded[...], padded: padded, token: token, version: version, oldest: oldest, previous: previous,
        nonce: nonce)
    }
    guard let secret else { return seal(nil) }
    return unsafe secret.withPadded { unsafe seal($0) }
  }

  /// Seals a row from its encoded attributes and its padded value, otherwise as
  /// `sealedRow(_:_:token:version:oldest:previous:nonce:)`.
  func sealedRow(
    encoded: ArraySlice<UInt8>, padded secret: UnsafeRawBufferPointer?, token: Token, version: UInt64,
    oldest: UInt64, previous: Digest, nonce: Nonce
  ) -> (row: Row, blob: [UInt8]?) {
    let state: Row.State = unsafe secret == nil ? .removed : .present
    func seal(_ padded: UnsafeRawBufferPointer, _ half: RowBinding.Half, into box: UnsafeMutableRawPointer) {
      let binding = binding.bytes(token: token, version: version, state: state, half: half)
      switch half {
      case .attributes: unsafe SealedBox.seal(padded, key: attributesKey, nonce: nonce, binding: binding, into: box)
      case .secret: unsafe SealedBox.seal(padded, key: secretKey, nonce: nonce, binding: binding, into: box)
      }
    }
    let boxByteCount = unsafe secret.map { $0.count + SealedBox.overhead } ?? 0
    let place: Row.Place =
      unsafe secret == nil ? .none : boxByteCount <= GroupLimits.inlineSecretByteCount ? .inline : .blob
    var blob: [UInt8]?
    if let secret = unsafe secret, place == .blob {
      blob = unsafe [UInt8](unsafeUninitializedCapacity: boxByteCount) { box, initializedCount in
        unsafe seal(secret, .secret, into: box.baseAddress!)
        initializedCount = boxByteCount
      }
    }
    // Both halves are sealed where they are stored.
    let row = unsafe previous.withUnsafeBytes { previous in
      unsafe nonce.withUnsafeBytes { nonceBytes in
        unsafe Row(
          token: token, version: version, state: state, oldest: oldest, previous: previous, nonce: nonceBytes,
          attributesByteCount: Padding.padded(count: encoded.count) + SealedBox.overhead, place: place,
          secretByteCount: place == .blob ? Digest.byteCount : boxByteCount
        ) { attributes, stored in
          let padded = unsafe UnsafeMutableRawBufferPointer(rebasing: attributes.dropLast(SealedBox.overhead))
          unsafe encoded.span.withUnsafeBytes { unsafe Padding.pad($0, into: padded) }
          unsafe seal(UnsafeRawBufferPointer(padded), .attributes, into: attributes.baseAddress!)
          if let blob {
            unsafe Hash.digest(.blob, blob).withUnsafeBytes { unsafe stored.copyMemory(from: $0) }
          } else if let secret = unsafe secret {
            unsafe seal(secret, .secret, into: stored.baseAddress!)
          }
        }
      }
    }
    return (row, blob)
  }
}

extension UnsafeRawBufferPointer {
  // `elementsEqual` takes ten times as long, and every get comes here.
  func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    unsafe count == other.count && (isEmpty || memcmp(baseAddress!, other.baseAddress!, count) == 0)
  }
}

/// The associated data of one half of a row: 88 bytes that tie it to its group, generation, name, version and state.
///
/// A half copied to another token, version or group does not open there (format article, "Rows").
struct RowBinding: Sendable {
  enum Half: UInt32 {
    case attributes = 1
    case secret = 2
  }

  private let start: [UInt8]

  /// The part that is the same for all rows of a group's generation.
  init(groupID: GroupID, generation: UInt64) { start = Label.row.padded + groupID.context(generation) }

  func bytes(token: Token, version: UInt64, state: Row.State, half: Half) -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: 88)
    writer.write(start)
    writer.write(token.high)
    writer.write(token.low)
    writer.write(version)
    writer.write(half.rawValue)
    writer.write(UInt32(state.rawValue))
    return writer.bytes
  }
}

/// A sealed value, and what opening it needs.
struct SealedValue {
  let token: Token
  let version: UInt64
  let nonce: Nonce
  let box: [UInt8]
  let range: Range<Int>
}

extension SealedValue {
  /// The value of `row`, which is in `blob` if it is too large for the row.
  init(_ row: Row, _ blob: [UInt8]? = nil) {
    self.init(
      token: row.token, version: row.version, nonce: row.nonce, box: blob ?? row.encoded,
      range: blob?.indices ?? row.secretRange)
  }
}
