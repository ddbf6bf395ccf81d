import Foundation
import KeyedArchives

/// Archives objects of a Foundation class with the keys and types that Apple's systems use.
///
/// The `encode(with:)` of these classes requires Foundation's own archiver and ends the process with any other.
struct ValueWriter: Sendable {
  let type: AnyClass
  /// The names of the class and its superclasses in archives.
  let chain: [String]
  let write: @Sendable (AnyObject, FieldsWriter) throws(ArchiveError) -> Void

  init<Object: NSObject>(
    _ type: Object.Type, _ names: String...,
    write: @escaping @Sendable (Object, FieldsWriter) throws(ArchiveError) -> Void
  ) {
    self.type = type
    chain = names + ["NSObject"]
    self.write = { (object, fields) throws(ArchiveError) in
      guard let object = object as? Object else { throw fields.refused(.notWritten) }
      try write(object, fields)
    }
  }

  private static let everything: [ValueWriter] =
    plain + containers + times + numbers + indexes + texts + records + measurements + own

  private static let byType = Dictionary(
    everything.map { (ObjectIdentifier($0.type), $0) }, uniquingKeysWith: { first, _ in first })

  /// The writer for a Foundation class, which may be a private subclass of a known one.
  static func of(_ type: AnyClass) -> ValueWriter? {
    var next: AnyClass? = type
    while let current = next {
      if let writer = byType[ObjectIdentifier(current)] { return writer }
      next = _getSuperclass(current)
    }
    return nil
  }
}
