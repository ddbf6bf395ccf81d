internal import GroupFile
internal import Sealing

/// The bytes of a remote (format article, "A remote").
extension Remote {
  private enum Tag: UInt8 {
    case name = 1
    case transport, endpoints, authority, certificate, user, maxAge, heartbeat
  }

  /// The fields that are not secret.
  var openFields: [UInt8] {
    var fields = FieldWriter()
    fields.write(Tag.name.rawValue, Array(name.utf8))
    fields.write(Tag.transport.rawValue, [usesTLS ? 2 : 1])
    var list = ByteWriter()
    for endpoint in endpoints {
      list.write(endpoint.port)
      list.writeCounted16(Array(endpoint.host.utf8))
    }
    fields.write(Tag.endpoints.rawValue, list.bytes)
    if let authority { fields.write(Tag.authority.rawValue, Array(authority.utf8)) }
    if let certificate { fields.write(Tag.certificate.rawValue, Array(certificate.utf8)) }
    if let user { fields.write(Tag.user.rawValue, Array(user.utf8)) }
    for (tag, seconds) in [(Tag.maxAge, maxAge), (.heartbeat, heartbeat)] {
      guard let seconds else { continue }
      var bytes = ByteWriter()
      bytes.write(seconds)
      fields.write(tag.rawValue, bytes.bytes)
    }
    return fields.bytes
  }

  /// The serialized form, in guarded memory because it contains the key and the password.
  ///
  /// - Throws: ``VaultError/storage(_:)`` if memory is short.
  package func serialized() throws(VaultError) -> Secret {
    let bytes = try serializedBytes()
    return try unsafe bytes.withUnsafeBytes { (bytes) throws(VaultError) in try unsafe Secret(copying: bytes) }
  }

  func serializedBytes() throws(VaultError) -> GuardedBytes {
    try CountedParts.joined([openFields], [openedKey, openedPassword])
  }

  /// Reads a serialized form, every byte of it.
  ///
  /// - Parameter damage: the error for bytes that do not follow the format.
  /// - Throws: `damage`; ``VaultError/newerFormat(read:write:)`` for a field that a newer version added;
  ///   ``VaultError/storage(_:)`` if memory is short.
  package init(parsing bytes: UnsafeRawBufferPointer, orThrow damage: VaultError) throws(VaultError) {
    guard bytes.count <= Remote.byteLimit, let parts = unsafe CountedParts.ranges(bytes), parts.count == 3 else {
      throw damage
    }
    let fields: OpenFields
    do { fields = try OpenFields(unsafe Array(bytes[parts[0]])) } catch VaultError.newerFormat {
      throw .newerFormat(read: nil, write: nil)
    } catch {
      throw damage
    }
    let key = try unsafe CountedParts.secret(bytes, parts[1])
    let password = try unsafe CountedParts.secret(bytes, parts[2])
    do {
      try self.init(
        fields.name, fields.endpoints, usesTLS: fields.usesTLS, authority: fields.authority,
        certificate: fields.certificate, key: key, user: fields.user, password: password, maxAge: fields.maxAge,
        heartbeat: fields.heartbeat)
    } catch {
      throw damage
    }
  }

  /// The fields that are not secret, as they were read.
  private struct OpenFields {
    var name = ""
    var endpoints: [Endpoint] = []
    var usesTLS = false
    var authority: String?
    var certificate: String?
    var user: String?
    var maxAge: UInt32?
    var heartbeat: UInt32?

    init(_ bytes: [UInt8]) throws {
      var reader = FieldReader(bytes, in: bytes.indices, limit: Remote.byteLimit)
      var seen: Set<Tag> = []
      while let (number, field) = try reader.next() {
        guard let tag = Tag(rawValue: number) else { throw VaultError.newerFormat(read: nil, write: nil) }
        seen.insert(tag)
        switch tag {
        case .name: name = try FieldReader.text(field)
        case .transport:
          guard field.elementsEqual([1]) || field.elementsEqual([2]) else { throw ByteReader.Failure() }
          usesTLS = field.elementsEqual([2])
        case .endpoints:
          var list = ByteReader(Array(field))
          while list.remaining > 0 {
            guard endpoints.count < Remote.endpointLimit else { throw ByteReader.Failure() }
            let port = try list.read(UInt16.self)
            endpoints.append(Endpoint(host: try FieldReader.text(list.readCounted16()[...]), port: port))
          }
        case .authority: authority = try FieldReader.text(field)
        case .certificate: certificate = try FieldReader.text(field)
        case .user: user = try FieldReader.text(field)
        case .maxAge: maxAge = try OpenFields.seconds(field)
        case .heartbeat: heartbeat = try OpenFields.seconds(field)
        }
      }
      guard seen.isSuperset(of: [.name, .transport, .endpoints]) else { throw ByteReader.Failure() }
    }

    private static func seconds(_ field: ArraySlice<UInt8>) throws -> UInt32 {
      var reader = ByteReader(Array(field))
      let seconds = try reader.read(UInt32.self)
      try reader.finish()
      return seconds
    }
  }
}
