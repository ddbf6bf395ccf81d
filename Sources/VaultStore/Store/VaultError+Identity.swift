internal import GroupFile

extension VaultError {
  /// Says what an error of the identity, its slots or its files means to users.
  init(_ error: IdentityError) {
    switch error {
    case .noStore(let path): self = .noStore(path: path)
    case .noHome: self = .noStore(path: "")
    case .locked(let lock): self = .locked(lock.words)
    case .wrongKey(let use): self = .wrongKey(use.words)
    case .damaged(let level, let detail): self = .damaged(group: nil, level: level.rawValue, detail: detail)
    case .newerFormat: self = .newerFormat(read: 2, write: 2)
    case .exists(let what): self = .exists(what.rawValue)
    case .lastSlot: self = .contradiction("the last slot cannot be removed: nothing would open the store")
    case .noSlot(let number): self = .contradiction("there is no slot \(number)")
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
  var words: String {
    switch self {
    case .passphrase: "passphrase"
    case .keyFile: "key file"
    case .recoveryCode: "recovery code"
    case .systemd: "systemd credential"
    }
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
