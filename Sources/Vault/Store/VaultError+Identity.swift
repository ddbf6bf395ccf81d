internal import GroupFile

extension VaultError {
  /// Says what an error of the identity, its slots or its files means to users.
  init(_ error: IdentityError) {
    switch error {
    case .noStore(let path): self = .noStore(path: path)
    case .noHome: self = .noStore(path: "")
    case .locked(let lock): self = .locked(lock.words)
    case .wrongKey(let use): self = .wrongKey(use.words)
    case .mistypedCode(let defect): self = .mistypedCode(defect.words)
    case .damaged(let level, let detail): self = .damaged(group: nil, level: level.rawValue, detail: detail)
    case .newerFormat: self = .newerFormat(read: 2, write: 2)
    case .exists(let what): self = .exists(what.rawValue)
    case .lastSlot: self = .contradiction("the last slot cannot be removed: nothing would open the store")
    case .recovering:
      self = .contradiction("the recovery of this store did not end; run it again: vault init --recover DIR")
    case .noSlot(let number): self = .notFound(.slot(Int(number)))
    case .storage(let failure): self = .storage(failure.rawValue)
    case .denied(let level, let fault): self = .denied(.permissions("the \(level.subject) \(fault.reason)"))
    case .overLimit(let limit): self = .overLimit(limit)
    case .busy: self = .busy(group: nil)
    case .networkFileSystem(let kind):
      self = .storage("\(kind) is a network file system, where locks are not kept reliably")
    }
  }
}

extension IdentityError.Lock {
  fileprivate var words: String {
    switch self {
    case .keyFile(let fault): "the key file \(fault.reason)"
    case .keyFileFolder(let fault): "the key file's folder \(fault.reason)"
    case .keyFileInsideStore: "the key file must lie outside of the store that it opens"
    case .credential(let fault): "the credential \(fault.reason)"
    case .deviceKey(let fault): "the device key \(fault.reason)"
    case .noSlot(let use): "the store has no slot for a \(use.words)"
    }
  }
}

extension Slot.Use {
  /// What opens such a slot.
  var words: String { SlotInfo.Kind(self).rawValue }
}

extension RecoveryCode.Defect {
  /// What is wrong, and in which group: the characters themselves are never told.
  fileprivate var words: String {
    switch self {
    case .mistyped(let groups):
      "\(Self.named(groups)) of the recovery code \(groups.count == 1 ? "is" : "are") mistyped"
    case .misplaced(let groups): "\(Self.named(groups)) of the recovery code are in each other's places"
    case .groupLength(let group, let count):
      "group \(group) of the recovery code has \(count) characters instead of \(RecoveryCode.groupLength)"
    case .length(let count): "a recovery code has 40 characters, and this one \(count)"
    }
  }

  /// "group 3", "groups 3 and 5", "groups 1, 3 and 5".
  private static func named(_ groups: [Int]) -> String {
    let names = groups.map { String($0) }
    guard let last = names.last, names.count > 1 else { return "group \(names.joined())" }
    return "groups \(names.dropLast().joined(separator: ", ")) and \(last)"
  }
}

extension IdentityError.Level {
  /// What a sentence calls it.
  fileprivate var subject: String {
    switch self {
    case .state: "state folder"
    case .settings: "settings file"
    default: rawValue
    }
  }
}
