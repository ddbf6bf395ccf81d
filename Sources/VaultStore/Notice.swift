internal import GroupFile
internal import Sealing

/// Something the user should know although the operation went well.
@nonexhaustive
public enum Notice: Sendable, Hashable {
  /// No state is kept outside the store, so an older copy of a group would not be noticed.
  case witnessUnavailable(reason: String)
  /// The witness of a group is damaged; writing to the group is refused until its state is accepted.
  case witnessInvalid(group: String)
  /// More states of a group were missed than its chain keeps, so this one could not be shown to descend from the last.
  case gap(group: String, from: UInt64, to: UInt64)
  /// A group could not be looked at, and an answer about all groups lacks it.
  case groupLeftOut(group: String, reason: String)

  /// What the user should know: lower case, no full stop.
  public var message: String {
    switch self {
    case .witnessUnavailable(let reason):
      "an older copy of the store would not be noticed: \(reason)"
    case .witnessInvalid(let group):
      "the witness of '\(group)' is damaged; nothing is written to it until: vault group accept \(group)"
    case .gap(let group, let from, let to):
      "'\(group)' moved from epoch \(from) to \(to), too far to prove that nothing was rolled back between"
    case .groupLeftOut(let group, let reason):
      "'\(group)' was left out: \(reason)"
    }
  }
}

/// Collects notices from all threads until somebody shows them.
final class NoticeBoard: Sendable {
  private let notices = Locked<[Notice]>([])

  func post(_ new: [GroupNotice], of group: AccessGroup.Name) {
    guard !new.isEmpty else { return }
    for notice in new {
      switch notice {
      case .witnessUnavailable(let reason): post(.witnessUnavailable(reason: reason))
      case .witnessInvalid: post(.witnessInvalid(group: group.description))
      case .gap(let from, let to): post(.gap(group: group.description, from: from, to: to))
      }
    }
  }

  func post(_ notice: Notice) {
    notices.withLock { if !$0.contains(notice), $0.count < 100 { $0.append(notice) } }
  }

  func take() -> [Notice] {
    notices.withLock { notices in
      defer { notices = [] }
      return notices
    }
  }
}
