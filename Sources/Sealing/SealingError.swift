/// The errors of this module. No case carries bytes.
package enum SealingError: Error, Equatable {
  /// The system has no more memory, guarded or for passphrase stretching.
  case outOfMemory
  /// A sealed box does not open. A wrong key, a wrong binding, altered bytes and a box that is too short all give this
  /// error.
  case doesNotOpen
  /// The format does not allow these costs. Nothing was allocated for them.
  case overLimit
  /// The length, size or zeros of opened bytes do not follow the padding rule.
  case wrongPadding
  /// A key or a salt has the wrong number of bytes.
  case wrongCount(Int, expected: Int)
}
