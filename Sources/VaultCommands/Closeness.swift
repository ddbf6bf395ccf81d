internal import Exchange
internal import Ground
internal import Vault

/// Finds which of our words was mistyped, so that a hint can name it instead of repeating what was typed.
enum Closeness {
  /// - Returns: the nearest of `words`, if at most two letters differ, one for a word of four letters or fewer, and at
  ///   least two letters are the same.
  static func nearest(to typed: String, among words: [String]) -> String? {
    // A long text cannot be one of our words, and comparing it would take long.
    guard typed.utf8.count <= 32 else { return nil }
    if let known = elsewhere[typed], words.contains(known) { return known }
    if let beginning = words.first(where: { typed.utf8.count > 2 && $0.hasPrefix(typed) }) { return beginning }
    let nearest = words.map { ($0, distance(Array(typed.utf8), Array($0.utf8))) }.min { $0.1 < $1.1 }
    guard let (word, distance) = nearest else { return nil }
    let shorter = min(word.utf8.count, typed.utf8.count)
    return distance <= (shorter > 4 ? 2 : 1) && distance < shorter - 1 ? word : nil
  }

  /// Like ``nearest(to:among:)`` for names of items, but ignores case.
  static func nearestName(to typed: String, among names: [String]) -> String? {
    let lower = typed.lowercased()
    if let same = names.first(where: { $0.lowercased() == lower }) { return same }
    guard typed.utf8.count > 2 else { return nil }
    return nearest(to: typed, among: names.filter { abs($0.utf8.count - typed.utf8.count) <= 2 })
  }

  /// Other tools' words for the same thing.
  private static let elsewhere = [
    "add": "set", "put": "set", "insert": "set", "store": "set", "delete": "remove", "del": "remove", "read": "get",
    "undelete": "restore", "log": "history", "find": "search", "exec": "run", "rename": "move", "open": "unlock",
    "clip": "get",
  ]

  /// The number of letters to insert, remove, replace or swap with the next to turn one word into the other (Damerau
  /// and Levenshtein).
  private static func distance(_ first: [UInt8], _ second: [UInt8]) -> Int {
    var rows = [Array(0...second.count)]
    for line in first.indices {
      var row = [line + 1]
      for column in second.indices {
        let replaced = rows[line][column] + (first[line] == second[column] ? 0 : 1)
        var least = min(replaced, rows[line][column + 1] + 1, row[column] + 1)
        if line > 0, column > 0, first[line] == second[column - 1], first[line - 1] == second[column] {
          least = min(least, rows[line - 1][column - 1] + 1)
        }
        row.append(least)
      }
      rows.append(row)
    }
    return rows[first.count][second.count]
  }
}

extension Session {
  /// Says in which group an item was not found, and suggests a name. The typed name is not repeated, unless it is that
  /// of a removed item.
  func near(_ error: any Error) -> any Error {
    guard case VaultError.notFound(.item) = error, let group = openedGroup else { return error }
    let message = "no such item in '\(group.name)'"
    let restores = line.command.path == "vault restore"
    if restores, line.operands.contains(where: { (try? group.history($0))?.isEmpty == false }) {
      let keepsNone = (try? group.info().keep) == 1
      return Failure(
        .notFound,
        keepsNone
          ? "the group keeps no value of a removed item" : "the item's values were destroyed and cannot be restored",
        hint: "an earlier backup may have them")
    }
    if line.operands.contains(where: Reference.isMeant) {
      return Failure(.notFound, message, hint: "to read what a reference names: vault read REFERENCE")
    }
    let gone = line.operands.first { (try? group.item($0)) == nil }
    if !restores, let gone, let history = try? group.history(gone), !history.isEmpty {
      return Failure(
        .notFound, "'\(UTF8Text.onOneLine(gone))' was removed from '\(group.name)'",
        hint: history.contains { !$0.isRemoved }
          ? "any member who may write can bring it back: vault restore NAME\(circumstances.option)"
          : "an earlier backup may have it")
    }
    let hint =
      restores
      ? "list what can be brought back: vault list --removed\(circumstances.option)"
      : VaultError.notFound(.item).hint(in: circumstances)
    // In a large group the search would take too long to be useful.
    guard let count = try? group.info().itemCount, count <= 10_000, let items = try? group.items() else {
      return Failure(.notFound, message, hint: hint)
    }
    let names = items.map(\.name.description)
    let typed = line.operands.filter { !names.contains($0) }
    guard let meant = typed.lazy.compactMap({ Closeness.nearestName(to: $0, among: names) }).first else {
      return Failure(.notFound, message, hint: hint)
    }
    return Failure(.notFound, message, hint: "did you mean '\(UTF8Text.onOneLine(meant))'?")
  }
}
