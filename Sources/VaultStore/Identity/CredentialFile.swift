internal import Glibc
internal import Sealing

/// The file in which an application keeps its credential.
enum CredentialFile {
  /// Reads a credential.
  ///
  /// - Throws: `locked` with the reason if the file is gone or not as it must be; what ``Credential/init(parsing:)`` throws.
  static func read(_ path: String, user: uid_t = geteuid()) throws(IdentityError) -> Credential {
    let bytes: GuardedBytes
    do throws(FileFault) {
      bytes = try SecretFile.read(path, .secret(user: user), size: 0...Credential.byteLimit)
    } catch {
      if case .storage(let failure) = error { throw .storage(failure) }
      throw .locked(.credential(error))
    }
    return try Credential(parsing: bytes)
  }
}
