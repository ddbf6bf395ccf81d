package import Sealing

/// What an etcd user may do with the log of one published group.
public struct EtcdPermission: Sendable, Equatable {
  /// The etcd user.
  public let user: String
  /// The group's name.
  public let group: String
  public let access: Access

  /// Except for ``none``, each is an etcd role with a permission for the keys of one group.
  public enum Access: UInt8, Sendable {
    case none = 0
    case read
    /// Includes reading.
    case write
  }
}

/// What happened to an etcd permission after an application left a group.
public enum WithdrawnLogin: Sendable, Equatable {
  /// The application has no login for the group's remote.
  case notNeeded
  /// The application's etcd user no longer has access to the group's log.
  case withdrawn
  /// The login of the remote may not change users in etcd, or no `vaultd` answered.
  case refused(remote: String)
  /// The credential has the remote's own login, which cannot be withdrawn from one application.
  case shared(remote: String, user: String)
}

/// The body of a ``ClusterRequest/provision``. Each part has its byte count as `u32` before it: the users; the remote,
/// with a login that may change them; the password of each user, in the same order. The part with the users is a `u16`
/// count, then for each user `u16 ‖ name ‖ u16` count of grants, and for each grant `group id 32 ‖ u8` access. A user
/// without a password is not created.
package struct ProvisioningPlan: Sendable {
  package struct User: Sendable {
    package let name: String
    var password: OpenedSecret?
    package internal(set) var grants: [Grant] = []

    /// The password to set; `nil` for a user that exists.
    package func givenPassword() -> Secret? { password.map { Secret($0) } }
  }

  package struct Grant: Sendable {
    package let id: GroupID
    package let access: EtcdPermission.Access
  }

  package let remote: Remote
  package internal(set) var users: [User] = []

  init(remote: Remote) { self.remote = remote }

  func serialized() throws(VaultError) -> OpenedSecret {
    var writer = ByteWriter()
    writer.write(UInt16(clamping: users.count))
    for user in users {
      writer.writeCounted16(Array(user.name.utf8))
      writer.write(UInt16(clamping: user.grants.count))
      for grant in user.grants {
        writer.write(grant.id)
        writer.write(grant.access.rawValue)
      }
    }
    return try CountedParts.joined(writer.bytes, [remote.serialized().opened] + users.map(\.password))
  }

  /// - Throws: ``VaultError/invalid(_:)`` for bytes that ``serialized()`` does not produce.
  package init(decoding bytes: UnsafeRawBufferPointer) throws(VaultError) {
    let damage = VaultError.invalid("a request that does not follow the protocol")
    guard let parts = unsafe CountedParts.ranges(bytes), parts.count >= 2 else { throw damage }
    remote = try unsafe Remote(parsing: UnsafeRawBufferPointer(rebasing: bytes[parts[1]]), orThrow: damage)
    do { users = try ProvisioningPlan.users(unsafe Array(bytes[parts[0]])) } catch { throw damage }
    guard parts.count == users.count + 2 else { throw damage }
    for (index, part) in zip(users.indices, parts[2...]) {
      users[index].password = try unsafe CountedParts.secret(bytes, part)
    }
  }

  private static func users(_ bytes: [UInt8]) throws -> [User] {
    var reader = ByteReader(bytes)
    var found: [User] = []
    for _ in 0..<(try reader.read(UInt16.self)) {
      var user = User(name: try FieldReader.text(reader.readCounted16()[...]))
      for _ in 0..<(try reader.read(UInt16.self)) {
        let id = try reader.readBytes32()
        guard let access = EtcdPermission.Access(rawValue: try reader.read(UInt8.self)) else {
          throw ByteReader.Failure()
        }
        user.grants.append(Grant(id: id, access: access))
      }
      found.append(user)
    }
    try reader.finish()
    return found
  }
}

/// Parts that each have their byte count as `u32` before them.
enum CountedParts {
  /// - Throws: ``VaultError/storage(_:)`` if memory is short.
  static func joined(_ open: [UInt8], _ secrets: [OpenedSecret?]) throws(VaultError) -> OpenedSecret {
    let count = secrets.reduce(4 + open.count) { $0 + 4 + ($1?.count ?? 0) }
    let bytes = try sealing(GuardedBytes(count: count))
    unsafe bytes.withUnsafeMutableBytes { bytes in
      var offset = 0
      func append(_ part: UnsafeRawBufferPointer) {
        unsafe bytes.storeBytes(of: UInt32(part.count).bigEndian, toByteOffset: offset, as: UInt32.self)
        unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[(offset + 4)...]).copyMemory(from: part)
        offset += 4 + part.count
      }
      unsafe open.withUnsafeBytes { unsafe append($0) }
      for secret in secrets {
        unsafe secret?.withUnsafeBytes { unsafe append($0) } ?? append(UnsafeRawBufferPointer(start: nil, count: 0))
      }
    }
    return try unsafe bytes.withUnsafeBytes { (bytes) throws(VaultError) in try unsafe OpenedSecret(copying: bytes) }
  }

  /// The secret in one part; `nil` if the part is empty.
  static func secret(_ bytes: UnsafeRawBufferPointer, _ part: Range<Int>) throws(VaultError) -> OpenedSecret? {
    if part.isEmpty { return nil }
    return try unsafe OpenedSecret(copying: UnsafeRawBufferPointer(rebasing: bytes[part]))
  }

  /// The ranges of the parts; `nil` if the bytes are not exactly such parts.
  static func ranges(_ bytes: UnsafeRawBufferPointer) -> [Range<Int>]? {
    var parts: [Range<Int>] = []
    var offset = 0
    while offset < bytes.count {
      guard bytes.count - offset >= 4 else { return nil }
      let count = Int(UInt32(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
      offset += 4
      guard count <= bytes.count - offset else { return nil }
      parts.append(offset..<offset + count)
      offset += count
    }
    return parts
  }
}
