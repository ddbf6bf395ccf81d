import Sealing

/// The group key sealed for one member: `u8 kind ‖ N 24 ‖ seal(wrap key, N, binding, G)` (format article, "Wraps").
package enum Wrap {
  /// The only kind so far: a seed that the owner derived.
  private static let kind: UInt8 = 1
  static let byteCount = 1 + Nonce.byteCount + Key.byteCount + SealedBox.overhead

  /// Wraps `groupKey` for the member of `seed`.
  static func seal(
    _ groupKey: borrowing Key, for seed: MemberSeed, groupID: GroupID, generation: UInt64, nonce: Nonce = Nonce()
  ) throws(SealingError) -> [UInt8] {
    let slotID = seed.slotID(group: groupID, generation: generation)
    let wrapKey = try seed.wrapKey(group: groupID, generation: generation)
    let binding = Wrap.binding(groupID, generation, slotID)
    let box = unsafe groupKey.withUnsafeBytes {
      unsafe SealedBox.seal($0, key: wrapKey, nonce: nonce, binding: binding)
    }
    return [kind] + nonce.bytes + box
  }

  /// Opens a wrap.
  ///
  /// - Throws: `damaged(.wrap, …)`.
  static func open(
    _ stored: [UInt8], for seed: MemberSeed, groupID: GroupID, generation: UInt64
  ) throws(GroupFileError) -> Key {
    guard stored.count == byteCount, stored[0] == kind, let nonce = Nonce(stored[1..<25]) else {
      throw .damaged(.wrap, "layout")
    }
    let slotID = seed.slotID(group: groupID, generation: generation)
    do {
      let wrapKey = try seed.wrapKey(group: groupID, generation: generation)
      return try Key(
        SealedBox.open(
          Array(stored[25...]), key: wrapKey, nonce: nonce, binding: binding(groupID, generation, slotID)))
    } catch .outOfMemory {
      throw .storage(.memory)
    } catch {
      throw .damaged(.wrap, "seal")
    }
  }

  /// What the roster says of a wrap.
  static func digest(_ stored: [UInt8], slotID: [UInt8]) -> Digest { Hash.digest(.wrapHash, slotID + stored) }

  private static func binding(_ groupID: GroupID, _ generation: UInt64, _ slotID: [UInt8]) -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: 73)
    writer.write(Label.wrap)
    writer.write(groupID)
    writer.write(generation)
    writer.write(slotID)
    writer.write(kind)
    return writer.bytes
  }
}

extension Label {
  fileprivate static let wrap = Label("vault1.wrap")
  fileprivate static let wrapHash = Label("vault1.wrap.hash")
}
