/// Replaces secret values in a stream of bytes, however it is cut into pieces.
///
/// A byte that belongs to any occurrence of a value is left out, and a run of them becomes one ``placeholder``; all others stay.
/// Bytes that may be the beginning of a value are held back until it is known whether they are.
public struct Masker: Sendable {
  /// What is written in place of a value.
  public static let placeholder = "<concealed by vault>"

  private let patterns: MaskPatterns
  private var state: Int32 = 0
  /// The bytes from `written` on.
  private var held: [UInt8] = []
  /// How many bytes of the stream are decided and given out.
  private var written = 0
  /// Where occurrences lie that are not given out yet: apart from each other, in order.
  private var concealed: [Range<Int>] = []
  /// Where the last run that became a placeholder ends.
  private var lastEnd = -1

  public init(_ patterns: MaskPatterns) { self.patterns = patterns }

  /// Whether bytes are held back.
  public var isHolding: Bool { !held.isEmpty }

  /// Takes the next bytes of the stream.
  ///
  /// - Returns: what is certain now.
  public mutating func take(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    var next = held.count
    held += bytes
    while true {
      // Most bytes begin no value, and need no more than this look.
      if state == 0 { while next < held.count, !patterns.isFirst(held[next]) { next += 1 } }
      guard next < held.count else { break }
      state = patterns.step(from: state, held[next])
      next += 1
      let length = patterns.match(state)
      if length > 0 { conceal(length, endingAt: written + next) }
    }
    return giveOut(upTo: position - patterns.depth(state))
  }

  /// Says that nothing came for a while, so that somebody may be waiting for what is held back: a prompt may end like a value
  /// begins.
  ///
  /// - Returns: what is held back, where that is at most four bytes and a quarter of any value it may begin. If the rest of
  ///   such a value follows, a placeholder stands for the rest. Longer beginnings stay until more comes.
  public mutating func pause() -> [UInt8] { patterns.tellsLittle(state) ? giveOut(upTo: position) : [] }

  /// Ends the stream.
  ///
  /// - Returns: what was held back: it was no value.
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
