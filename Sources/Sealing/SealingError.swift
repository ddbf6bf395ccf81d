/// What can go wrong in this module. No case carries bytes.
package enum SealingError: Error, Equatable {
  /// The system gives no more memory, guarded or for passphrase stretching.
  case outOfMemory
  /// A sealed box does not open. Another key, another binding, altered bytes and a box that is too short look alike.
  case doesNotOpen
  /// Costs that the format does not allow; nothing was allocated for them.
  case overLimit
  /// Opened bytes whose length, size or zeros do not follow the padding rule.
  case wrongPadding
  /// Bytes for a key or a salt that are not as many as it takes.
  case wrongCount(Int, expected: Int)
}
