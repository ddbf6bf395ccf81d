public import Foundation
public import KeyedArchives

extension SecureArchiver {
  /// Archives a Swift value under `key` as property-list objects, as Apple's `encodeEncodable(_:forKey:)` does.
  ///
  /// A class that also adopts `NSSecureCoding` is archived by its `encode(with:)`.
  ///
  /// - Throws: ``ArchiveError``. The archive cannot be finished after that.
  public func encodeEncodable(_ value: some Encodable, forKey key: String) throws(ArchiveError) {
    if let object = value as? any NSSecureCoding, !ClassNames.isFoundation(type(of: object as AnyObject)) {
      encode(object, forKey: key)
    } else {
      field(key) { () throws(ArchiveError) in
        try self.reference(to: EncodedValue.objects(of: value, at: self.here, depth: self.limits.effectiveDepth))
      }
    }
    if let failure { throw failure }
  }

  /// Archives a Swift value under `root`, and the name of its type under `vault.type`.
  ///
  /// - Parameters:
  ///   - value: a structure, enumeration, class, or a single number or string.
  ///   - name: the name of the type in the archive. Required for private, local and generic types, which have no stable
  ///     name of their own.
  ///   - format: binary, or XML.
  /// - Returns: the archive's bytes. They are the same for the same value if its `encode(to:)` keeps an order; the
  ///   elements of a `Set` have none.
  /// - Throws: ``ArchiveError/noStableName(type:)``, ``ArchiveError/notArchivable(type:reason:at:)``.
  public static func archivedData<Value: Encodable>(
    encoding value: Value, named name: String? = nil, format: ArchiveFormat = .binary
  ) throws(ArchiveError) -> Data {
    guard let name = name ?? TypeNames.stable(Value.self) else {
      throw .noStableName(type: TypeNames.shown(Value.self))
    }
    let archiver = SecureArchiver()
    try archiver.encodeEncodable(value, forKey: "root")
    archiver.set(TypeNames.key) { archiver.builder.add(text: name) }
    return try archiver.finishEncoding(format)
  }
}
