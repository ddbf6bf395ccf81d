/// The name of one use of a hash, a key or a signature, zero-padded to 16 bytes (format article, "All labels").
///
/// A label is the BLAKE2b *personal* value of its use, or the first 16 bytes of the signed or bound data. So bytes made
/// for one use are invalid in any other.
package struct Label: Sendable, Hashable {
  /// The ASCII name, zero-padded to 16 bytes.
  package let padded: [UInt8]

  /// Makes the label of `name`: 1 to 16 ASCII bytes.
  package init(_ name: StaticString) {
    let text = Array(name.description.utf8)
    precondition(!text.isEmpty && text.count <= 16 && text.allSatisfy { $0 < 0x80 })
    padded = text + [UInt8](repeating: 0, count: 16 - text.count)
  }
}
