import Foundation
import KeyedArchives

/// Sorts the elements of a set, or the keys of a dictionary, so that the order depends only on the elements.
///
/// The order of Foundation's own containers differs from process to process. Strings come first, in byte order. Other
/// elements follow in the byte order of their own archives.
enum CanonicalOrder {
  /// Sorts the elements. Elements whose archives have the same bytes (two objects of a class that does not define
  /// equality may) come in the order of their `value`.
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
    var ordered = texts.map(\.element)
    var run: [AnyObject] = []
    for (index, other) in others.enumerated() {
      run.append(other.element)
      guard index + 1 == others.count || others[index + 1].key != other.key else { continue }
      ordered += try sorted(run, fields, byValue: value)
      run = []
    }
    return ordered
  }

  /// Sorts elements with the same sort key by their values.
  private static func sorted(
    _ run: [AnyObject], _ fields: FieldsWriter, byValue value: (AnyObject) -> AnyObject?
  ) throws(ArchiveError) -> [AnyObject] {
    guard run.count > 1 else { return run }
    var keyed: [(key: [UInt8], element: AnyObject)] = []
    for element in run {
      guard let value = value(element) else { return run }
      keyed.append((try fields.archiver.sortKeys.key(of: value, fields.archiver), element))
    }
    keyed.sort { $0.key.lexicographicallyPrecedes($1.key) }
    return keyed.map(\.element)
  }

  /// Foundation on Linux cannot compare arrays and dictionaries as elements, so no reader there can fill a set with
  /// them.
  private static func isUnusable(_ element: AnyObject) -> Bool { element is NSArray || element is NSDictionary }
}

/// The bytes that elements are sorted by, created once for each object, however deep sets are nested.
final class SortKeys {
  private var keys: [ObjectIdentifier: [UInt8]] = [:]
  private var byteCount = 0
  private var pending: Set<ObjectIdentifier> = []

  /// Several times the bytes that an archive may have by default. Each key repeats what its element shares with others.
  private static let standardLimit = 64 << 20

  func key(of element: AnyObject, _ outer: SecureArchiver) throws(ArchiveError) -> [UInt8] {
    let identity = ObjectIdentifier(element)
    if let key = keys[identity] { return key }
    guard pending.insert(identity).inserted else { throw .cycle(at: outer.here) }
    defer { pending.remove(identity) }
    let key = try outer.sortKey(of: element)
    byteCount += key.count
    let limit = max(Self.standardLimit, outer.limits.comparisons)
    guard byteCount <= limit else { throw .overLimit(.comparisons, allowed: limit, at: outer.here) }
    keys[identity] = key
    return key
  }
}
