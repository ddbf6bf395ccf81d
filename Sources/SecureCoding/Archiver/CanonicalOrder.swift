import Foundation
import KeyedArchives

/// Puts the elements of a set, or the keys of a dictionary, into an order that depends on nothing but themselves.
///
/// The order of Foundation's own containers differs from process to process. Texts come in order of their bytes, and
/// before everything else; other elements in order of the bytes that each is archived as by itself.
enum CanonicalOrder {
  /// Keys that are archived as the same bytes, as two objects of a class without an equality of its own are, come in the order
  /// of what `value` gives for them.
  static func sorted(
    _ elements: [AnyObject], _ fields: FieldsWriter, value: (AnyObject) -> AnyObject? = { _ in nil }
  ) throws(ArchiveError) -> [AnyObject] {
    for element in elements where isUnusable(element) { throw fields.refused(.unusableElement) }
    guard elements.count > 1 else { return elements }
    var texts: [(key: String, element: AnyObject)] = []
    var others: [(key: [UInt8], element: AnyObject)] = []
    for element in elements {
      if let text = element as? NSString, !(text is NSMutableString) {
        texts.append((String(describing: text), element))
      } else {
        others.append((try fields.archiver.sortKeys.key(of: element, fields.archiver), element))
      }
    }
    texts.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    others.sort { $0.key.lexicographicallyPrecedes($1.key) }
    for index in others.indices.dropFirst() where others[index].key == others[index - 1].key {
      let first = others[..<index].lastIndex { $0.key != others[index].key }.map { $0 + 1 } ?? 0
      try place(index, from: first, &others, fields, value)
    }
    return texts.map(\.element) + others.map(\.element)
  }

  /// Moves the last of several elements with one key to where its value belongs.
  private static func place(
    _ last: Int, from first: Int, _ elements: inout [(key: [UInt8], element: AnyObject)], _ fields: FieldsWriter,
    _ value: (AnyObject) -> AnyObject?
  ) throws(ArchiveError) {
    var index = last
    while index > first {
      guard let one = value(elements[index - 1].element), let other = value(elements[index].element) else { return }
      let (before, after) = (
        try fields.archiver.sortKeys.key(of: one, fields.archiver),
        try fields.archiver.sortKeys.key(of: other, fields.archiver)
      )
      guard after.lexicographicallyPrecedes(before) else { return }
      elements.swapAt(index - 1, index)
      index -= 1
    }
  }

  /// Foundation on Linux cannot compare such elements, so no reader there can fill a set with them.
  private static func isUnusable(_ element: AnyObject) -> Bool { element is NSArray || element is NSDictionary }
}

/// The bytes that elements are sorted by, made once for each object, however deep sets lie in sets.
final class SortKeys {
  private var keys: [ObjectIdentifier: [UInt8]] = [:]
  private var byteCount = 0
  private var pending: Set<ObjectIdentifier> = []

  /// More than an archive may have in bytes, several times over.
  private static let limit = 64 << 20

  func key(of element: AnyObject, _ outer: SecureArchiver) throws(ArchiveError) -> [UInt8] {
    let identity = ObjectIdentifier(element)
    if let key = keys[identity] { return key }
    guard pending.insert(identity).inserted else { throw .cycle(at: outer.here) }
    defer { pending.remove(identity) }
    let key = try outer.sortKey(of: element)
    byteCount += key.count
    guard byteCount <= Self.limit else { throw .overLimit(.comparisons, allowed: Self.limit, at: outer.here) }
    keys[identity] = key
    return key
  }
}
