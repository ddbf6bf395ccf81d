/// An etcd cluster that orders and keeps the commits of published groups: its address and login.
///
/// The client key and the password are in guarded memory, and only ``key()`` and ``password()`` return them.
public struct Remote: Sendable {
  /// Follows the rules for names of groups.
  public private(set) var name = ""
  /// At least one, in the order given by the owner, without duplicates.
  public private(set) var endpoints: [Endpoint] = []
  /// Whether connections are encrypted, and the servers prove who they are.
  public private(set) var usesTLS = false
  /// The certificates, in PEM, of the authorities that may issue the servers' certificates; `nil` for those of the
  /// system.
  public private(set) var authority: String?
  /// The client's certificate and its chain, in PEM.
  public private(set) var certificate: String?
  /// The etcd user.
  public private(set) var user: String?
  /// After how many seconds the newest proved state of a group counts as too old to be read; `nil` for never.
  public private(set) var maxAge: UInt32?
  /// After how many seconds without a change a host that may write signs an empty change; `nil` for never.
  public private(set) var heartbeat: UInt32?
  /// The age in seconds by which a group's next state is due: two heartbeats; without any, half of the maximum age.
  package var dueAge: UInt64? { heartbeat.map { 2 * UInt64($0) } ?? maxAge.map { UInt64($0) / 2 } }
  private var openedKey: OpenedSecret?
  private(set) var openedPassword: OpenedSecret?

  /// One server of the cluster.
  public struct Endpoint: Sendable, Hashable, CustomStringConvertible {
    /// A name or an address; an IPv6 address without brackets.
    public let host: String
    /// 1 to 65,535.
    public let port: UInt16

    /// `host:port`, with brackets around an IPv6 address.
    public var description: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }
  }

  /// The size limit of a remote, in bytes.
  public static let byteLimit = 65_536
  /// The maximum number of endpoints.
  public static let endpointLimit = 64

  /// - Parameters:
  ///   - name: as of a group: `[a-z0-9][a-z0-9._-]{0,127}`, without `..`.
  ///   - address: `etcd://HOST:PORT[,HOST:PORT…]`; with `etcds`, or with certificates, connections are encrypted.
  ///   - authority: certificates in PEM.
  ///   - certificate: the client's certificate in PEM, which needs its `key`.
  ///   - key: the private key of the certificate, in PEM.
  ///   - user: the etcd user, of 1 to 256 bytes, which needs a `password`.
  ///   - password: 1 to 1,024 bytes of UTF-8.
  ///   - maxAge: in seconds, above 0.
  ///   - heartbeat: in seconds, above 0.
  /// - Throws: ``VaultError/invalid(_:)``; ``VaultError/overLimit(_:)`` beyond 64 KiB in all;
  ///   ``VaultError/storage(_:)`` if memory is short.
  public init(
    _ name: String, at address: String, authority: String? = nil, certificate: String? = nil,
    key: consuming Secret? = nil, user: String? = nil, password: consuming Secret? = nil, maxAge: UInt32? = nil,
    heartbeat: UInt32? = nil
  ) throws(VaultError) {
    let (scheme, endpoints) = try Remote.parse(address)
    (self.name, self.endpoints, self.authority, self.certificate) = (name, endpoints, authority, certificate)
    (self.user, self.maxAge, self.heartbeat) = (user, maxAge, heartbeat)
    usesTLS = scheme == .tls || authority != nil || certificate != nil
    (openedKey, openedPassword) = (key?.opened, password?.opened)
    try validate()
  }

  private func validate() throws(VaultError) {
    _ = try Remote.name(name)
    guard (1...Remote.endpointLimit).contains(endpoints.count), Set(endpoints).count == endpoints.count else {
      throw .invalid("a remote has 1 to \(Remote.endpointLimit) different endpoints")
    }
    guard endpoints.allSatisfy({ Remote.isHost($0.host) && $0.port > 0 }) else { throw Remote.addressRule }
    guard usesTLS || authority == nil && certificate == nil else { throw .invalid("certificates need TLS") }
    for text in [authority, certificate] {
      guard text.map(Remote.isCertificate) ?? true else {
        throw .invalid("a certificate is in PEM, and no private key is with it")
      }
    }
    guard (certificate == nil) == (openedKey == nil) else {
      throw .invalid("a client's certificate and its key go together")
    }
    guard openedKey.map(Remote.isPrivateKey) ?? true else {
      throw .invalid("a private key is in PEM, without a passphrase")
    }
    guard (user == nil) == (openedPassword == nil) else { throw .invalid("a user and a password go together") }
    guard user.map({ ServiceBinding.isText($0, 256) }) ?? true else {
      throw .invalid("a user has 1 to 256 bytes without control characters")
    }
    let isUTF8 = unsafe openedPassword?.withUnsafeBytes { unsafe $0.isUTF8 }
    guard isUTF8 != false, (1...1_024).contains(openedPassword?.count ?? 1) else {
      throw .invalid("a password has 1 to 1,024 bytes of UTF-8")
    }
    guard maxAge != 0, heartbeat != 0 else { throw .invalid("a length of time is 1 second or more") }
    guard openFields().count + 12 + (openedKey?.count ?? 0) + (openedPassword?.count ?? 0) <= Remote.byteLimit else {
      throw .overLimit("64 KiB of a remote in all")
    }
  }

  /// The private key of the client's certificate, in PEM.
  public func key() -> Secret? { openedKey.map { Secret($0) } }

  /// The password of the etcd user.
  public func password() -> Secret? { openedPassword.map { Secret($0) } }

  /// Whether both have the same servers, the same login, and the same setting for empty changes.
  package func isSame(as other: Remote) -> Bool {
    func isSame(_ left: OpenedSecret?, _ right: OpenedSecret?) -> Bool {
      guard let left, let right else { return left == nil && right == nil }
      return unsafe left.withUnsafeBytes { left in unsafe right.withUnsafeBytes { unsafe left.elementsEqual($0) } }
    }
    var others = other
    (others.name, others.maxAge) = (name, maxAge)
    return openFields() == others.openFields() && isSame(openedKey, other.openedKey)
      && isSame(openedPassword, other.openedPassword)
  }

  func loggingIn(as user: String, _ password: OpenedSecret) throws(VaultError) -> Remote {
    var remote = self
    (remote.user, remote.openedPassword) = (user, password)
    try remote.validate()
    return remote
  }

  /// In the form in which the owner writes it: `etcd://HOST:PORT[,HOST:PORT…]`, or `etcds://…` if connections are
  /// encrypted.
  public var address: String {
    (usesTLS ? Scheme.tls : .plain).rawValue + endpoints.map(\.description).joined(separator: ",")
  }

  private enum Scheme: String, CaseIterable {
    case plain = "etcd://"
    case tls = "etcds://"
  }

  private static let addressRule = VaultError.invalid(
    "the address of a remote is etcd://HOST:PORT[,HOST:PORT…], or etcds://… for TLS")

  /// - Throws: ``VaultError/invalid(_:)``.
  static func name(_ text: String) throws(VaultError) -> String { try FolderName.check(text, "a remote's name") }

  private static func parse(_ address: String) throws(VaultError) -> (Scheme, [Endpoint]) {
    guard let scheme = Scheme.allCases.first(where: { address.hasPrefix($0.rawValue) }) else { throw addressRule }
    var endpoints: [Endpoint] = []
    for part in address.dropFirst(scheme.rawValue.count).split(separator: ",", omittingEmptySubsequences: false) {
      guard let colon = part.lastIndex(of: ":") else { throw addressRule }
      let digits = part[part.index(after: colon)...]
      guard let port = UInt16(digits: digits), port > 0 else { throw addressRule }
      let place = part[..<colon]
      let isBracketed = place.hasPrefix("[") && place.hasSuffix("]")
      let host = isBracketed ? place.dropFirst().dropLast() : place
      guard isHost(String(host)), isBracketed == host.contains(":") else { throw addressRule }
      endpoints.append(Endpoint(host: String(host), port: port))
    }
    return (scheme, endpoints)
  }

  /// A host name or an IPv4 address; if it contains a colon, an IPv6 address.
  private static func isHost(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count <= 253 else { return false }
    if text.utf8.contains(UInt8(ascii: ":")) {
      return text.utf8.allSatisfy { "0123456789abcdefABCDEF:.".utf8.contains($0) }
    }
    return !"-.".utf8.contains(first) && text.utf8.allSatisfy(ServiceBinding.isPlain)
  }

  private static func isCertificate(_ text: String) -> Bool {
    text.holds("-----BEGIN CERTIFICATE-----") && text.holds("-----END CERTIFICATE-----")
      && !text.utf8.contains(0) && !text.holds("PRIVATE KEY-----")
  }

  private static func isPrivateKey(_ secret: OpenedSecret) -> Bool {
    unsafe secret.withUnsafeBytes { bytes in
      unsafe !bytes.contains(0) && holds("PRIVATE KEY-----", bytes) && !holds("ENCRYPTED", bytes)
    }
  }

  private static func holds(_ word: String, _ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.indices.contains { unsafe bytes[$0...].starts(with: word.utf8) }
  }

  // MARK: The bytes of a remote (format article, "A remote")

  /// The serialized form, in guarded memory because it contains the key and the password.
  package func serialized() throws(VaultError) -> Secret {
    Secret(try CountedParts.joined(openFields(), [openedKey, openedPassword]))
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
    do { try parse(unsafe Array(bytes[parts[0]])) } catch VaultError.newerFormat {
      throw .newerFormat(read: nil, write: nil)
    } catch {
      throw damage
    }
    openedKey = try unsafe CountedParts.secret(bytes, parts[1])
    openedPassword = try unsafe CountedParts.secret(bytes, parts[2])
    do { try validate() } catch { throw damage }
  }

  private enum Tag: UInt8 {
    case name = 1
    case transport, endpoints, authority, certificate, user, maxAge, heartbeat
  }

  /// What is not secret.
  private func openFields() -> [UInt8] {
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

  private mutating func parse(_ bytes: [UInt8]) throws {
    let fields = try Fields<Tag>(bytes, limit: Remote.byteLimit, unknown: VaultError.newerFormat(read: nil, write: nil))
    guard let name = try fields.text(.name), let transport = try fields.byte(.transport), (1...2).contains(transport),
      let list = fields[.endpoints]
    else { throw ByteReader.Failure() }
    (self.name, usesTLS) = (name, transport == 2)
    var reader = ByteReader(Array(list))
    while reader.remaining > 0 {
      guard endpoints.count < Remote.endpointLimit else { throw ByteReader.Failure() }
      let port = try reader.read(UInt16.self)
      endpoints.append(Remote.Endpoint(host: try FieldReader.text(reader.readCounted16()[...]), port: port))
    }
    authority = try fields.text(.authority)
    certificate = try fields.text(.certificate)
    user = try fields.text(.user)
    maxAge = try fields[.maxAge].map(Self.seconds)
    heartbeat = try fields[.heartbeat].map(Self.seconds)
  }

  private static func seconds(_ field: ArraySlice<UInt8>) throws -> UInt32 {
    guard field.count == 4 else { throw ByteReader.Failure() }
    return Array(field).word(at: 0)
  }
}
