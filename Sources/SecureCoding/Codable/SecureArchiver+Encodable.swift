public import Foundation
public import KeyedArchives

extension SecureArchiver {
  /// Archives a Swift value under `key`, as Apple's `encodeEncodable(_:forKey:)` does: as the objects of a property list.
  ///
  /// A class that adopts `NSSecureCoding` as well is archived by its `encode(with:)`.
  ///
  /// - Throws: ``ArchiveError``; the archive cannot be finished then.
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

  /// An archive of a Swift value under `root`, with the name of its type beside it, under `vault.type`.
  ///
  /// - Parameters:
  ///   - value: a structure, enumeration, class, or a single number or text.
  ///   - name: the name of the type in the archive, where its own will not do: a private, local or generic type has none.
  ///   - format: binary, or XML.
  /// - Returns: the archive's bytes, the same for the same value, as far as its own `encode(to:)` keeps an order: the
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
