import Foundation
import KeyedArchives

/// Puts the elements of a set, or the keys of a dictionary, into an order that depends on nothing but themselves.
///
/// The order of Foundation's own containers differs from process to process. Texts come in order of their bytes, and
/// before everything else; other elements in order of the bytes that each is archived as by itself.
enum CanonicalOrder {
  static func sorted(_ elements: [Any], _ fields: FieldsWriter) throws(ArchiveError) -> [Any] {
    guard elements.count > 1 else { return elements }
    var texts: [(key: String, element: Any)] = []
    var others: [(key: [UInt8], element: Any)] = []
    for element in elements {
      if let text = element as? NSString, !(text is NSMutableString) {
        texts.append((String(describing: text), element))
      } else if let text = element as? String {
        texts.append((text, element))
      } else {
        others.append((try bytes(of: element, fields), element))
      }
    }
    texts.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    others.sort { $0.key.lexicographicallyPrecedes($1.key) }
    return texts.map(\.element) + others.map(\.element)
  }

  private static func bytes(of element: Any, _ fields: FieldsWriter) throws(ArchiveError) -> [UInt8] {
    let outer = fields.archiver
    // Elements within elements are sorted once for each level; deeper than this they are not sorted but refused.
    guard outer.sortingDepth < 8 else { throw .overLimit(.depth, allowed: 8, at: outer.here) }
    let archiver = SecureArchiver(requiringSecureCoding: outer.requiresSecureCoding, limits: outer.limits)
    archiver.classNames = outer.classNames
    archiver.sortingDepth = outer.sortingDepth + 1
    archiver.encode(element, forKey: "root")
    return [UInt8](try archiver.finishEncoding())
  }
}
