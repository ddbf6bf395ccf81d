import Foundation
import KeyedArchives

extension StructArchive {
  /// The value that these bytes of the StructArchiver library stand for.
  ///
  /// - Parameter name: the name that the library gave the type: without its module.
  /// - Throws: ``ArchiveError/otherType(found:expected:)`` where a structure of another name is there, and as
  ///   ``SecureUnarchiver/decoded(_:named:from:limits:)``.
  func decoded<Value: Decodable>(_ type: Value.Type, named name: String?) throws(ArchiveError) -> Value {
    if case .record(let found, _) = self, !found.hasPrefix("Dictionary<") {
      let expected = name ?? String(TypeNames.shown(type).split(separator: ".").last ?? "")
      guard found == expected else { throw .otherType(found: found, expected: expected) }
    }
    return try EncodedValue.value(type, from: objects as AnyObject, at: ArchivePath())
  }

  /// The values as objects of a property list. Recursion is safe here: reading ended at the limit of nesting.
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
