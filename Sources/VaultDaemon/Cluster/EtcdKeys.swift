#if Daemon
  import Ground
  import Foundation
  import Sealing

  /// Where in etcd one access group's log is.
  struct EtcdKeys: Sendable {
    /// The group's id in hexadecimal.
    let group: String

    init(group id: [UInt8]) { group = id.hexadecimal }

    var prefix: String { "/vault/\(group)/" }

    var head: Data { key("head") }
    var base: Data { key("base") }
    /// The mark of those who remove parts that nothing names.
    var sweep: Data { key("sweep") }
    /// The end of all keys.
    var end: Data { Data(prefix.utf8.dropLast() + [UInt8(ascii: "/") + 1]) }
    var commitsEnd: Data { key("commit0") }
    /// Base, commits and head stand side by side in the order of keys.
    var watched: (start: Data, end: Data) { (base, key("head\0")) }

    func commit(_ epoch: UInt64) -> Data { key("commit/\(Self.digits(of: epoch))") }

    /// The commits in parts: which parts they are.
    func large(_ epoch: UInt64) -> Data { key("large/\(Self.digits(of: epoch))") }
    var largeEnd: Data { key("large0") }

    func part(_ digest: Digest) -> Data { key("part/\(digest.bytes.hexadecimal)") }
    var parts: (start: Data, end: Data) { (key("part/"), key("part0")) }

    /// - Returns: `nil` if `key` is not that of a commit.
    func epoch(of key: Data) -> UInt64? {
      guard let text = text(of: key, after: "commit/"), let epoch = UInt64(text, radix: 16),
        text == Self.digits(of: epoch)
      else { return nil }
      return epoch
    }

    /// - Returns: `nil` if `key` is not that of a part.
    func digest(of key: Data) -> Digest? {
      text(of: key, after: "part/").flatMap { Digest(hexadecimal: $0[...]) }
    }

    private func text(of key: Data, after name: String) -> String? {
      guard key.starts(with: (prefix + name).utf8) else { return nil }
      return String(data: key.dropFirst(prefix.utf8.count + name.utf8.count), encoding: .utf8)
    }

    private func key(_ name: String) -> Data { Data((prefix + name).utf8) }

    private static func digits(of epoch: UInt64) -> String {
      let digits = String(epoch, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
  }
#endif
