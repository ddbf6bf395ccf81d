/// Finds the word of ours that a mistyped one was meant to be, so that a hint can name it and never what was typed.
enum Closeness {
  /// - Returns: the nearest of `words` if at most two letters differ, and not all.
  static func nearest(to typed: String, among words: [String]) -> String? {
    // A long text is no mistyped word of ours, and comparing it would take long.
    guard typed.utf8.count <= 32 else { return nil }
    let nearest = words.map { ($0, distance(Array(typed.utf8), Array($0.utf8))) }.min { $0.1 < $1.1 }
    guard let (word, distance) = nearest, distance <= 2, distance < word.utf8.count else { return nil }
    return word
  }

  /// Letters to insert, remove or replace to make one word of the other (Levenshtein).
  private static func distance(_ first: [UInt8], _ second: [UInt8]) -> Int {
    var row = Array(0...second.count)
    for (line, letter) in first.enumerated() {
      var diagonal = row[0]
      row[0] = line + 1
      for column in second.indices {
        let replaced = diagonal + (letter == second[column] ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
      }
    }
    return row[second.count]
  }
}
