import Sealing

/// Seals and opens the rows of one generation of a group (format article, "Rows").
struct RowSeal: Sendable {
  let keys: GroupKeys

  init(_ keys: GroupKeys) { self.keys = keys }

  /// Opens the attributes of a proved row.
  ///
  /// - Throws: `damaged(.row, …)`.
  func attributes(of row: Row) throws(VaultError) -> Attributes {
    do {
      let padded = try unsafe row.encoded.span.withUnsafeBytes { (bytes) throws(SealingError) in
        let box = unsafe UnsafeRawBufferPointer(rebasing: bytes[row.attributesRange])
        return try unsafe keys.binding.withBytes(
          token: row.token, version: row.version, state: row.state, half: .attributes
        ) { (binding) throws(SealingError) in
          try unsafe keys.openAttributes(box, nonce: row.nonce, binding: binding)
        }
      }
      return try Attributes(decoding: padded, in: Padding.textRange(inUnguarded: padded))
    } catch {
      throw error as? VaultError ?? .damaged(.row, "attributes do not open")
    }
  }

  /// Opens the attributes of a proved row and checks that the name in them belongs to the row's token.
  func placedAttributes(of row: Row) throws(VaultError) -> Attributes {
    let attributes = try attributes(of: row)
    guard keys.token(of: attributes.name) == row.token else { throw .damaged(.row, "a name in another's place") }
    return attributes
  }

  /// Opens `box[range]`, the sealed secret of a proved row.
  ///
  /// - Throws: `damaged(.row, …)`; `storage` if guarded memory is short.
  func secret(_ box: [UInt8], in range: Range<Int>, of row: Row) throws(VaultError) -> OpenedSecret {
    do {
      let bytes = try unsafe box.span.withUnsafeBytes { (box) throws(SealingError) in
        let box = unsafe UnsafeRawBufferPointer(rebasing: box[range])
        return try unsafe keys.binding.withBytes(
          token: row.token, version: row.version, state: row.state, half: .secret
        ) { (binding) throws(SealingError) in
          try unsafe keys.openSecret(box, nonce: row.nonce, binding: binding)
        }
      }
      let text = try unsafe bytes.withUnsafeBytes { (bytes) throws(SealingError) in try unsafe Padding.unpad(bytes) }
      guard text.count <= GroupLimits.secretByteCount else { throw VaultError.damaged(.row, "a value too long") }
      return OpenedSecret(bytes: bytes, range: text)
    } catch let error as VaultError {
      throw error
    } catch SealingError.outOfMemory {
      throw .storage(.memory)
    } catch {
      throw .damaged(.row, "a secret does not open")
    }
  }

  /// Seals a row of `token`. Both halves are padded by the same rule and share one nonce under two keys.
  ///
  /// - Parameters:
  ///   - secret: the value; `nil` makes a tombstone.
  ///   - nonce: random, and used for no other row.
  /// - Returns: the row, and the sealed secret if it is too large for the row.
  func row(
    _ attributes: Attributes, _ secret: OpenedSecret?, token: Token, version: UInt64, oldest: UInt64, previous: Digest,
    nonce: Nonce = Nonce()
  ) throws(VaultError) -> (row: Row, blob: [UInt8]?) {
    let state: Row.State = secret == nil ? .removed : .present
    let padded = Padding.padUnguarded(try attributes.encoded())
    func sealed(_ padded: UnsafeRawBufferPointer, _ half: RowBinding.Half) -> [UInt8] {
      unsafe keys.binding.withBytes(token: token, version: version, state: state, half: half) { binding in
        unsafe keys.seal(padded, half: half, nonce: nonce, binding: binding)
      }
    }
    let sealedAttributes = unsafe padded.span.withUnsafeBytes { unsafe sealed($0, .attributes) }
    var box: [UInt8] = []
    if let secret {
      box = try sealing(unsafe secret.withPadded { unsafe sealed($0, .secret) })
    }
    let place: Row.Place = secret == nil ? .none : box.count <= GroupLimits.inlineSecretByteCount ? .inline : .blob
    let stored = place == .blob ? Hash.digest(.blob, box).bytes : box
    let row = unsafe previous.withUnsafeBytes { previous in
      unsafe nonce.withUnsafeBytes { nonce in
        unsafe sealedAttributes.withUnsafeBytes { sealed in
          unsafe stored.withUnsafeBytes { stored in
            unsafe Row(
              Row.Parts(
                token: token, version: version, state: state, oldest: oldest, previous: previous, nonce: nonce,
                attributes: sealed, place: place, secret: stored))
          }
        }
      }
    }
    return (row, place == .blob ? box : nil)
  }
}

/// A value's bytes while they are open: a range of guarded memory, wiped when the last reference is released.
package struct OpenedSecret: Sendable {
  let bytes: GuardedBytes
  let range: Range<Int>

  /// Copies `value`, at most 1 MiB; the caller wipes the original.
  ///
  /// - Throws: `overLimit`; `storage` if guarded memory is short.
  package init(copying value: UnsafeRawBufferPointer) throws(VaultError) {
    guard value.count <= GroupLimits.secretByteCount else { throw .overLimit("a value of 1 MiB") }
    bytes = try unsafe sealing(GuardedBytes(copying: value))
    range = 0..<value.count
  }

  init(bytes: GuardedBytes, range: Range<Int>) {
    self.bytes = bytes
    self.range = range
  }

  package var count: Int { range.count }

  /// Lends the value.
  package func withUnsafeBytes<Result: ~Copyable, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe bytes.withUnsafeBytes { (all) throws(Failure) in
      try unsafe body(UnsafeRawBufferPointer(rebasing: all[range]))
    }
  }

  /// Lends the value in the padded form in which it is sealed.
  func withPadded<Result>(_ body: (UnsafeRawBufferPointer) -> Result) throws(SealingError) -> Result {
    let padded = try unsafe withUnsafeBytes { (value) throws(SealingError) in try unsafe Padding.pad(value) }
    return unsafe padded.withUnsafeBytes { unsafe body($0) }
  }
}
