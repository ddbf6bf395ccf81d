import Foundation
import KeyedArchives

/// Replaces objects of the caller's classes during a rehearsal. It only decodes their fields.
private final class AnyFields: NSObject, NSCoding {
  init?(coder: NSCoder) {
    super.init()
    (coder as? SecureUnarchiver)?.buildFields()
  }

  func encode(with coder: NSCoder) {}
}

extension SecureUnarchiver {
  /// The object whose fields are being decoded, or the archive's top.
  struct Frame {
    let dictionary: Int
    /// The classes that the enclosing decoding call accepts. Calls that name no class inherit them.
    let site: ClassSite
    /// The nodes read so far by calls that named no class.
    var heirs: [UInt32] = []
    /// The number of values without keys read so far.
    var unkeyed = 0
  }

  /// What a built object holds that was checked against the classes of the decoding call that built it.
  struct Inheritance {
    /// Those classes, and the ones that the object's own class adds to them.
    let site: ClassSite
    let added: [AnyClass]
    let heirs: [UInt32]
  }

  /// Bytes at a stable address, freed with the unarchiver.
  @safe final class LentBytes {
    let pointer: UnsafeMutablePointer<UInt8>
    let count: Int
    var constantPointer: UnsafePointer<UInt8> { unsafe UnsafePointer(pointer) }

    init(_ bytes: ArraySlice<UInt8>) {
      count = bytes.count
      unsafe pointer = .allocate(capacity: max(bytes.count, 1))
      for (offset, byte) in bytes.enumerated() { unsafe pointer[offset] = byte }
    }

    deinit { unsafe pointer.deallocate() }
  }

  var here: ArchivePath { ArchivePath(path) }

  /// Runs `body` and returns its result. Returns `fallback` if `body` fails, which is recorded, or if an earlier call
  /// failed.
  func attempt<T>(_ fallback: T, _ body: () throws(ArchiveError) -> T) -> T {
    guard failure == nil else { return fallback }
    do {
      try checkAllClasses()
      return try body()
    } catch {
      fail(error)
      return fallback
    }
  }

  /// Records `error` if it is the first.
  func fail(_ error: ArchiveError) {
    if failure == nil { failure = error }
  }

  /// Checks every class that the archive's top reaches against the list, before the first object is built.
  func checkAllClasses() throws(ArchiveError) {
    guard !isChecked else { return }
    guard table.graph.unfoldedTotal <= UInt64(clamping: limits.references) else {
      throw .overLimit(.references, allowed: limits.references, at: ArchivePath())
    }
    entries = table.classes.map { entry(named: $0.name) }
    for (number, record) in table.records.enumerated() {
      guard case .instance(let position) = record, entries[position] == nil, table.graph.isReachable(number) else {
        continue
      }
      throw .classRefused(
        name: table.classes[position].name, allowed: allowed.names, at: table.path(toObject: number))
    }
    isChecked = true
  }

  private func entry(named name: String) -> AllowedClasses.Entry? {
    guard isRehearsal else { return allowed.entry(named: name) }
    return ValueClass.named(name).map { .value($0) } ?? .user(AnyFields.self)
  }

  /// Builds all objects that the current fields refer to.
  func buildFields() {
    attempt(()) { () throws(ArchiveError) in
      let frame = frames[frames.count - 1]
      let fields = table.list.nodes[frame.dictionary]
      for (key, node) in zip(table.list.keys(fields), table.list.values(fields)) {
        let isClass = table.list.isText(table.list.nodes[Int(key)], "$class")
        guard table.list.nodes[Int(node)].kind == .uid, !isClass else { continue }
        path.append(.key(table.fieldName(key)))
        _ = try value(Int(node), at: frame.site)
        path.removeLast()
      }
    }
  }

  /// The object with `number`, built on first use. Throws if `site` does not accept its class.
  func object(_ number: Int, at site: ClassSite) throws(ArchiveError) -> Any? {
    switch table.records[number] {
    case .null: return nil
    case .classDescription: throw .brokenArchive(.referenceToClass, at: here)
    case .value:
      let node = table.list.nodes[table.node(ofObject: number)]
      try check(ValueClass.of(node), at: site)
      if let present = built[number] { return present }
      let value = try scalar(node)
      built[number] = value
      return value
    case .instance(let position):
      guard let entry = entries[position] else {
        throw .classRefused(name: table.classes[position].name, allowed: allowed.names, at: here)
      }
      try check(entry, named: table.classes[position].name, at: site)
      if let present = built[number] {
        try checkHeirs(of: number, at: site)
        return present
      }
      return try build(number, entry, named: table.classes[position].name, at: site)
    }
  }

  private func build(
    _ number: Int, _ entry: AllowedClasses.Entry, named name: String, at site: ClassSite
  ) throws(ArchiveError) -> Any {
    guard !isBeingBuilt[number] else { throw .cycle(at: here) }
    guard frames.count <= limits.effectiveDepth else {
      throw .overLimit(.depth, allowed: limits.effectiveDepth, at: here)
    }
    isBeingBuilt[number] = true
    var added: [AnyClass] = []
    if case .value(let value) = entry { added = value.added }
    let site = site.inherited(adding: added)
    frames.append(Frame(dictionary: table.node(ofObject: number), site: site))
    let object: Any
    switch entry {
    case .value(let value):
      let fields = Fields(coder: self, object: number, className: name, site: site)
      object = try value.build(fields)
      try noteParts(of: fields)
    case .user(let type):
      // The list admits only classes that adopt `NSCoding`.
      let made = (type as? any NSCoding.Type)?.init(coder: self)
      if let failure { throw failure }
      guard let made else { throw .refusedByClass(name: name, at: here) }
      object = made
    }
    let heirs = frames.removeLast().heirs
    if !heirs.isEmpty { inheritances[number] = Inheritance(site: site, added: added, heirs: heirs) }
    isBeingBuilt[number] = false
    built[number] = object
    return object
  }

  /// Checks an object that another decoding call built: `site` must also accept what was checked against the classes of
  /// that call. Without recursion, because objects that are built already may be nested deeper than the limit.
  private func checkHeirs(of number: Int, at site: ClassSite) throws(ArchiveError) {
    guard !isRehearsal else { return }
    var pending = [(number, site)]
    while let (object, outer) = pending.popLast() {
      guard let inheritance = inheritances[object] else { continue }
      let site = outer.inherited(adding: inheritance.added)
      guard !site.hasSameClasses(as: inheritance.site) else { continue }
      guard accepted[site.classes.map { ObjectIdentifier($0) }, default: []].insert(object).inserted else { continue }
      try budget.take(comparisons: 1 + inheritance.heirs.count / 4, at: here)
      path.append(.object(object))
      for heir in inheritance.heirs {
        let node = table.list.nodes[Int(heir)]
        guard node.kind == .uid else {
          try check(ValueClass.of(node), at: site)
          continue
        }
        let number = Int(node.payload)
        switch table.records[number] {
        case .null, .classDescription: continue
        case .value: try check(ValueClass.of(table.list.nodes[table.node(ofObject: number)]), at: site)
        case .instance(let position):
          guard let entry = entries[position] else { continue }
          try check(entry, named: table.classes[position].name, at: site)
          pending.append((number, site))
        }
      }
      path.removeLast()
    }
  }

  private func check(_ entry: AllowedClasses.Entry, named name: String, at site: ClassSite) throws(ArchiveError) {
    switch entry {
    case .value(let value): try check(value, at: site)
    case .user(let type):
      guard isRehearsal || site.accepts(type, variantOf: nil) else {
        throw .classRefused(name: name, allowed: site.names, at: here)
      }
    }
  }

  func check(_ value: ValueClass, at site: ClassSite) throws(ArchiveError) {
    let accepts = isRehearsal || site.accepts(value.type, variantOf: value.immutable, isListed: allowed.lists(value))
    guard accepts else {
      throw .classRefused(name: value.name, allowed: site.names, at: here)
    }
  }
}

/// How much decoding may still use, in proportion to the input.
struct Budget {
  private let limits: ArchiveLimits
  private var bytes: Int
  private var comparisons: Int

  /// The bytes that any archive may take.
  static let free = 1 << 20

  init(_ limits: ArchiveLimits, inputBytes: Int) {
    self.limits = limits
    let (product, overflows) = inputBytes.multipliedReportingOverflow(by: max(0, limits.expansion))
    bytes = overflows ? .max : product.saturatingSum(Budget.free)
    comparisons = limits.comparisons
  }

  /// Charges `count` bytes for a string or data.
  mutating func take(bytes count: Int, at path: @autoclosure () -> ArchivePath) throws(ArchiveError) {
    let (left, overflows) = bytes.subtractingReportingOverflow(max(0, count))
    guard !overflows, left >= 0 else { throw .overLimit(.expansion, allowed: limits.expansion, at: path()) }
    bytes = left
  }

  /// Charges `count` comparisons, a number that may be saturated.
  mutating func take(comparisons count: Int, at path: @autoclosure () -> ArchivePath) throws(ArchiveError) {
    let (left, overflows) = comparisons.subtractingReportingOverflow(max(0, count))
    guard !overflows, left >= 0 else { throw .overLimit(.comparisons, allowed: limits.comparisons, at: path()) }
    comparisons = left
  }
}
