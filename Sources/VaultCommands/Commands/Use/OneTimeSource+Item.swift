internal import Exchange
internal import Vault

extension OneTimeSource {
  /// The one-time code parameters in an item's value.
  ///
  /// - Throws: `conflict` with the fault.
  init(of opened: borrowing OpenedItem) throws(Failure) {
    var bytes = unsafe opened.secret.withUnsafeBytes { unsafe Array($0) }
    if opened.item.kind == .json {
      guard let field = ["totp", "otpauth", "otp"].lazy.compactMap({ JSONField.value(of: $0, in: bytes) }).first
      else {
        throw Failure(.conflict, "the value has no field 'totp', 'otpauth' or 'otp'", hint: "see it: vault get NAME")
      }
      bytes = field
    }
    do throws(Fault) {
      guard let text = String(validating: bytes, as: UTF8.self) else { throw .noSource }
      try self.init(text)
    } catch {
      throw OneTimeSource.failure(error)
    }
  }

  /// The code at a given time.
  ///
  /// - Throws: `conflict` for an unknown hash.
  func code(at time: Timestamp) throws(Failure) -> OneTimeCode {
    guard let algorithm = OneTimeCode.Algorithm(rawValue: algorithm) else { throw OneTimeSource.failure(.badAlgorithm) }
    return OneTimeCode(key: key, algorithm: algorithm, digits: digits, period: period, at: time)
  }

  private static func failure(_ fault: Fault) -> Failure {
    Failure(.conflict, fault.words, hint: fault == .countsUses ? nil : "otpauth://totp/NAME?secret=BASE32")
  }
}
