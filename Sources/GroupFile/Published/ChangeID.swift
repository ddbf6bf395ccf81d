import Sealing

/// Identifies the request for a change, so that it can be repeated when nobody knows whether the change was made.
///
/// A version that is written for a request carries its mark. As long as one of an item's kept versions does, no change of
/// the item is made for that request again, in a published group on any host (format article, "Requests").
public struct ChangeID: Sendable, Hashable, CustomStringConvertible {
  /// 1 to 64 visible characters of ASCII.
  public let description: String

  /// Makes one of 16 random bytes, as 32 hexadecimal digits.
  public init() { description = Randomness.bytes(16).hexadecimal }

  /// Takes the text of a request that is repeated, or one that somebody else has made.
  ///
  /// - Returns: `nil` unless `text` has 1 to 64 visible characters of ASCII.
  public init?(_ text: String) {
    guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
    description = text
  }

  func mark(in group: GroupID) -> UInt64 { Hash.digest(.request, group.bytes + Array(description.utf8)).word }
}

extension Label {
  fileprivate static let request = Label("vault1.request")
}

extension ItemReading {
  /// The newest kept version at `token` with a mark; `nil` if there is none.
  func markedVersion(_ mark: UInt64, at token: Token) throws(VaultError) -> UInt64? {
    guard let current = try storedRow(at: token) else { return nil }
    var row = current
    while row.nonce.mark != mark {
      guard let older = try view.predecessor(of: row, oldest: current.oldest) else { return nil }
      row = older
    }
    return row.version
  }
}
