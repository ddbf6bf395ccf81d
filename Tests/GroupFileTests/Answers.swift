import Testing

@testable import GroupFile

/// A group's answers to a fixed set of questions, for comparison before and after someone changed its files.
struct Answers {
  enum Answer: Equatable {
    case text(String)
    case absent
    case refused(VaultError)
  }

  private(set) var all: [(question: String, answer: Answer)] = []

  /// Asks for the item and value of each name, for all versions of each name in `histories`, and for the list of all items.
  init(of file: AccessGroupFile, names: [String], histories: [String] = []) {
    let view: Snapshot
    do throws(VaultError) {
      view = try file.beginReading()
    } catch {
      all = (names.flatMap { [$0, $0] } + histories + ["list"]).map { ($0, .refused(error)) }
      return
    }
    for name in names {
      ask(name) { () throws(VaultError) in
        guard let item = try view.stored(name) else { return nil }
        return try Answers.text(of: item, in: view)
      }
      ask("value of \(name)") { () throws(VaultError) in
        do throws(VaultError) { return try view.view.value(name).text } catch {
          guard error == .notFound(.item) else { throw error }
          return nil
        }
      }
    }
    for name in histories {
      ask("history of \(name)") { () throws(VaultError) in
        var versions: [String] = []
        for item in try view.history(name) { versions.append(try Answers.text(of: item, in: view)) }
        return versions.joined(separator: "; ")
      }
    }
    ask("list") { () throws(VaultError) in
      let walk = try RowWalk(view)
      var names: [String] = []
      while let row = try walk.next() { names.append(try view.view.attributes(of: row).name + " \(row.version)") }
      return names.joined(separator: ", ")
    }
  }

  private mutating func ask(_ question: String, _ body: () throws(VaultError) -> String?) {
    do throws(VaultError) {
      all.append((question, try body().map(Answer.text) ?? .absent))
    } catch {
      all.append((question, .refused(error)))
    }
  }

  private static func text(of item: StoredItem, in view: Snapshot) throws(VaultError) -> String {
    let value = item.isPresent ? try view.view.secret(of: item.row).text : "removed"
    return "\(item.attributes.name) \(item.row.version) \(item.attributes.label ?? "-") \(value)"
  }

  /// The first answer that is neither the same as in `before` nor a refusal for damage, rollback or a newer format.
  func lie(against before: Answers) -> String? {
    precondition(before.all.count == all.count)
    for (old, new) in zip(before.all, all) where old.answer != new.answer {
      if case .refused(let error) = new.answer, error.isRefusal { continue }
      return "\(new.question): \(new.answer) instead of \(old.answer)"
    }
    return nil
  }

  /// The questions that the group refused to answer.
  var refused: [String] {
    all.compactMap { if case .refused = $0.answer { $0.question } else { nil } }
  }
}

extension VaultError {
  /// Whether the error ends the command with status 13, 14 or 17, the only statuses that changed bytes may cause.
  var isRefusal: Bool {
    switch self {
    case .damaged, .rolledBack, .newerFormat: true
    default: false
    }
  }

  var isDamage: Bool {
    switch self {
    case .damaged, .anotherGroup, .witnessUnavailable: true
    default: false
    }
  }

  var isRollback: Bool {
    if case .rolledBack = self { true } else { false }
  }
}

extension OpenedSecret {
  /// The value as text. Only tests turn a secret into a string.
  var text: String { unsafe withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }
}

/// Runs `body` and returns the group file error that it throws.
func failure<Result>(_ body: () throws -> Result) -> VaultError? {
  do {
    _ = try body()
    return nil
  } catch {
    return error as? VaultError
  }
}
