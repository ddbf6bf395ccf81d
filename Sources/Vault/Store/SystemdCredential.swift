internal import Sealing

/// What lies in `$CREDENTIALS_DIRECTORY/vault`: its content decides what it is (format article, "The credential").
enum SystemdCredential {
  case application(Credential)
  case slotKey(SlotKey)

  /// A key, in a class because an enum's payload, and what a closure captures, must be copyable.
  final class SlotKey: Sendable {
    let key: Key

    init(_ key: consuming Key) { self.key = key }
  }

  /// Reads the file; `nil` if it is not there, and then nothing was named.
  ///
  /// - Throws: `locked` where the file is not as it must be, `damaged` where it is neither of the two.
  static func read(_ path: String) throws(IdentityError) -> SystemdCredential? {
    let bytes: GuardedBytes
    do throws(FileFault) {
      bytes = try SecretFile.read(path, .handedOver(), size: 0...Credential.byteLimit)
    } catch {
      if error == .missing { return nil }
      if case .storage(let failure) = error { throw .storage(failure) }
      throw .locked(.credential(error))
    }
    if bytes.count == Key.byteCount {
      return .slotKey(SlotKey(try sealing { () throws(SealingError) in try Key(bytes) }))
    }
    return .application(try Credential(parsing: bytes))
  }
}
