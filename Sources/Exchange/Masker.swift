/// Replaces secret values in a stream of bytes, however the stream is divided into pieces.
///
/// Bytes that belong to an occurrence of a value are left out, and each run of them becomes one ``placeholder``. All
/// other bytes are kept. Bytes that may be the beginning of a value are held back until that is certain.
public struct Masker: Sendable {
  /// The text that replaces a value.
  public static let placeholder = "<concealed by vault>"

  private let patterns: MaskPatterns
  private var state: Int32 = 0
  /// The bytes from position `written` on.
  private var held: [UInt8] = []
  /// The number of bytes of the stream that have been decided and returned.
  private var written = 0
  /// The ranges of occurrences not yet returned, disjoint and in order.
  private var concealed: [Range<Int>] = []
  /// The end of the last run that became a placeholder.
  private var lastEnd = -1

  public init(_ patterns: MaskPatterns) { self.patterns = patterns }

  /// Whether bytes are held back.
  public var isHolding: Bool { !held.isEmpty }

  /// Processes the next bytes of the stream.
  ///
  /// - Returns: the output that is now certain.
  public mutating func take(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    var next = held.count
    held += bytes
    while true {
      // Most bytes do not begin a value and need only this check.
      if state == 0 { while next < held.count, !patterns.isFirst(held[next]) { next += 1 } }
      guard next < held.count else { break }
      state = patterns.step(from: state, held[next])
      next += 1
      let length = patterns.match(state)
      if length > 0 { conceal(length, endingAt: written + next) }
    }
    return giveOut(upTo: position - patterns.depth(state))
  }

  /// Call this after a pause in the stream, when someone may be waiting for bytes that are held back: the end of a
  /// prompt may look like the beginning of a value.
  ///
  /// - Returns: the bytes held back, if they are at most four bytes and at most a quarter of each value that they may
  ///   begin. If the rest of such a value follows, a placeholder replaces that rest. Longer beginnings are held back
  ///   until more bytes come.
  public mutating func pause() -> [UInt8] { patterns.tellsLittle(state) ? giveOut(upTo: position) : [] }

  /// Ends the stream.
  ///
  /// - Returns: the bytes held back, which turned out not to be a value.
  public mutating func finish() -> [UInt8] {
    defer { self = Masker(patterns) }
    return giveOut(upTo: position)
  }

  private var position: Int { written + held.count }

  private mutating func conceal(_ length: Int, endingAt end: Int) {
    var start = max(end - length, written)
    while let last = concealed.last, last.upperBound >= start {
      start = min(start, last.lowerBound)
      concealed.removeLast()
    }
    concealed.append(start..<end)
  }

  private mutating func giveOut(upTo end: Int) -> [UInt8] {
    guard end > written else { return [] }
    var output: [UInt8] = []
    var next = written
    for range in concealed where range.lowerBound < end {
      let start = max(range.lowerBound, next)
      output += held[(next - written)..<(start - written)]
      if start != lastEnd { output += Array(Masker.placeholder.utf8) }
      next = min(range.upperBound, end)
      lastEnd = next
    }
    output += held[(next - written)..<(end - written)]
    held.removeFirst(end - written)
    written = end
    concealed.removeAll { $0.upperBound <= end }
    return output
  }
}
