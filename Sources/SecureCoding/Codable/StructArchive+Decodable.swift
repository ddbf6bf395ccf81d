import Foundation
import KeyedArchives

extension StructArchive {
  /// Decodes the value that this archive of the StructArchiver library represents.
  ///
  /// - Parameter name: the name that the library gave the type, which has no module.
  /// - Throws: ``ArchiveError/otherType(found:expected:)`` if the archive holds a structure of another name, and any
  ///   other ``ArchiveError`` if its contents do not match the type.
  func decoded<Value: Decodable>(_ type: Value.Type, named name: String?) throws(ArchiveError) -> Value {
    if case .record(let found, _) = self, !found.hasPrefix("Dictionary<") {
      let expected = name ?? String(TypeNames.shown(type).split(separator: ".").last ?? "")
      guard found == expected else { throw .otherType(found: found, expected: expected) }
    }
    return try EncodedValue.value(type, from: objects as AnyObject, at: ArchivePath())
  }

  /// The values as property-list objects. Recursion is safe here: the reader enforced the nesting limit.
  private var objects: Any {
    switch self {
    case .integer(let value): NSNumber(value: value)
    case .unsigned(let value): NSNumber(value: value)
    case .single(let value): NSNumber(value: value)
    case .real(let value): NSNumber(value: value)
    case .string(let text): text
    case .array(_, let elements): elements.map(\.objects)
    case .record(_, let fields):
      Dictionary(fields.map { ($0.key, $0.value.objects) }, uniquingKeysWith: { first, _ in first })
    }
  }
}
