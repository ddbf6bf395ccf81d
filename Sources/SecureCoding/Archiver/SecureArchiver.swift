public import Foundation
public import KeyedArchives

/// Writes keyed archives that `NSKeyedUnarchiver` and ``SecureUnarchiver`` read, and throws where Foundation's own writer
/// on Linux ends the process.
///
/// It is an `NSCoder`, so that a class's `encode(with:)` works unchanged:
///
/// ```swift
/// let data = try SecureArchiver.archivedData(withRootObject: person)
/// ```
///
/// The same value gives the same bytes in every process: what has no order is sorted. An object that is archived twice is
/// one object in the archive, as it is in memory; one that leads back to itself is refused, because
/// ``SecureUnarchiver`` would refuse it.
///
/// The calls of `NSCoder` cannot throw. So the first failure is kept, and the call that ends the archive throws it.
public final class SecureArchiver: NSCoder {
  /// Whether a class must declare secure coding to be archived.
  private let requiresSecure: Bool
  /// How deep objects may refer to each other.
  let limits: ArchiveLimits

  var builder = PropertyListBuilder()
  /// The node of each object; `$null` is the first.
  var objects: [UInt32]
  /// The number of each object in memory. The objects are kept, so that their addresses stay theirs.
  var numbers: [ObjectIdentifier: Int] = [:]
  var kept: [AnyObject] = []
  var isBeingEncoded: Set<Int> = []
  var classNumbers: [String: Int] = [:]
  var classNames: [ObjectIdentifier: String]
  /// Which class each name stands for in this archive.
  var claimed: [String: ObjectIdentifier] = [:]
  /// References that count only if their object is archived for another reason.
  /// Shared with the archivers that only make keys to sort by.
  var sortKeys = SortKeys()
  private(set) var isSorting = false
  /// Whether the archive holds something that the reader might refuse, so that it is read once before it is handed out.
  var needsRehearsal = false
  /// Bytes of the data that stand inline in objects of Foundation. A bitmap may be large where the set it is of is not.
  var dataBytes = 0
  var conditional: [(reference: UInt32, object: AnyObject)] = []
  var frames: [Frame] = [Frame()]
  var path: [ArchivePath.Step] = []
  /// The first failure.
  var failure: ArchiveError?
  private(set) var isFinished = false

  /// Begins an archive.
  ///
  /// - Parameters:
  ///   - requiringSecureCoding: whether classes that adopt only `NSCoding` are refused.
  ///   - names: under which names classes are archived, where it is not their own: an Objective-C name, or the one that an
  ///     app expects which still reads such archives.
  ///   - limits: those within which the archive shall be readable.
  public init(
    requiringSecureCoding: Bool = true, names: [(type: AnyClass, name: String)] = [], limits: ArchiveLimits = .standard
  ) {
    requiresSecure = requiringSecureCoding
    classNames = [:]
    self.limits = limits
    objects = [builder.add(text: "$null")]
    super.init()
    for mapping in names { setClassName(mapping.name, for: mapping.type) }
  }

  /// Archives objects of class `type`, and of it alone, under `name`. To be called before the first of them is encoded.
  ///
  /// A name that Foundation's classes have, or another class of the same archive, is a failure of the archive.
  public func setClassName(_ name: String, for type: AnyClass) {
    guard !name.isEmpty, !name.hasPrefix("$"), name != "NSObject", ValueClass.named(name) == nil else {
      return fail(.unusableClass(name: name, reason: .nameTaken))
    }
    classNames[ObjectIdentifier(type)] = name
  }

  /// The bytes that `element` is archived as by itself.
  func sortKey(of element: AnyObject) throws(ArchiveError) -> [UInt8] {
    let archiver = SecureArchiver(requiringSecureCoding: requiresSecure, limits: limits)
    archiver.classNames = classNames
    archiver.sortKeys = sortKeys
    archiver.isSorting = true
    archiver.encode(element, forKey: "root")
    return [UInt8](try archiver.finishEncoding())
  }

  /// Ends the archive.
  ///
  /// - Returns: its bytes.
  /// - Throws: ``ArchiveError``, the first failure of all calls so far.
  public func finishEncoding(_ format: ArchiveFormat = .binary) throws(ArchiveError) -> Data {
    if let failure { throw failure }
    guard !isFinished else { throw .unsupportedCall("finishEncoding(_:) for the second time", at: ArchivePath()) }
    isFinished = true
    for (reference, object) in conditional { builder.point(reference, to: numbers[ObjectIdentifier(object)] ?? 0) }
    let top = frames[0]
    let keys = ["$version", "$archiver", "$top", "$objects"].map { builder.add(text: $0) }
    let values = [
      builder.add(integer: 100_000), builder.add(text: "NSKeyedArchiver"),
      builder.add(keys: top.keys, values: top.values), builder.add(array: objects),
    ]
    let envelope = builder.add(keys: keys, values: values)
    let bytes = try builder.list(top: envelope).bytes(format)
    if !isSorting { try confirm(bytes) }
    return Data(bytes)
  }

  /// What could not be read again is not written: more than the limits allow, a conditional reference that leads back, or a
  /// value that the reader refuses.
  private func confirm(_ bytes: [UInt8]) throws(ArchiveError) {
    let table = try ArchiveTable(bytes, limits: limits)
    if let back = table.graph.backReferences.first { throw .cycle(at: table.path(toObject: back.to)) }
    guard table.graph.depth <= limits.effectiveDepth else {
      throw .overLimit(.depth, allowed: limits.effectiveDepth, at: ArchivePath())
    }
    guard table.graph.unfoldedTotal <= UInt64(clamping: limits.references) else {
      throw .overLimit(.references, allowed: limits.references, at: ArchivePath())
    }
    if needsRehearsal { try SecureUnarchiver.rehearse(table, limits: limits) }
  }

  // The calls of NSCoder. What each does stands beside it in the files of this folder.

  public override var allowsKeyedCoding: Bool { true }
  public override var requiresSecureCoding: Bool { requiresSecure }
  /// The first failure, an ``ArchiveError``.
  public override var error: (any Error)? { failure }

  /// Takes a failure that a class reports about what it encodes. What `error` says is not kept, because it may hold
  /// values.
  public override func failWithError(_ error: any Error) {
    fail(error as? ArchiveError ?? .notArchivable(type: "", reason: .failed, at: here))
  }

  public override func encode(_ object: Any?, forKey key: String) {
    field(key) { () throws(ArchiveError) in try self.reference(to: object) }
  }

  /// Archives `object` under `key` only if it is archived for another reason, before or after; nil otherwise.
  public override func encodeConditionalObject(_ object: Any?, forKey key: String) {
    field(key) { () throws(ArchiveError) in try self.conditionalReference(to: object) }
  }

  public override func encode(_ value: Bool, forKey key: String) { field(key) { self.builder.add(bool: value) } }
  public override func encode(_ value: Int32, forKey key: String) { integer(Int64(value), key) }
  public override func encode(_ value: Int64, forKey key: String) { integer(value, key) }
  public override func encode(_ value: Int, forKey key: String) { integer(Int64(value), key) }
  public override func encode(_ value: Float, forKey key: String) { field(key) { self.builder.add(real: value) } }
  public override func encode(_ value: Double, forKey key: String) { field(key) { self.builder.add(real: value) } }
  public override func encodeBytes(_ bytes: UnsafePointer<UInt8>?, length: Int, forKey key: String) {
    guard length >= 0, unsafe bytes != nil || length == 0 else { return fail(Self.noBytes(here)) }
    field(key) { unsafe self.builder.add(data: UnsafeBufferPointer(start: bytes, count: length)) }
  }

  // Values without keys are archived under `$0`, `$1`, … of their object.

  public override func encode(_ object: Any?) {
    unkeyed { () throws(ArchiveError) in try self.reference(to: object) }
  }
  public override func encodeRootObject(_ rootObject: Any) { encode(rootObject) }
  public override func encodeBycopyObject(_ object: Any?) { encode(object) }
  public override func encodeByrefObject(_ object: Any?) { encode(object) }
  public override func encodeConditionalObject(_ object: Any?) {
    unkeyed { () throws(ArchiveError) in try self.conditionalReference(to: object) }
  }
  public override func encode(_ data: Data) { encode(data as Any?) }
  public override func encodePropertyList(_ propertyList: Any) { encode(propertyList as Any?) }
  public override func encodeBytes(_ bytes: UnsafeRawPointer?, length: Int) {
    guard length >= 0, unsafe bytes != nil || length == 0 else { return fail(Self.noBytes(here)) }
    unkeyed { unsafe self.builder.add(data: UnsafeRawBufferPointer(start: bytes, count: length)) }
  }
  public override func encodeValue(ofObjCType type: UnsafePointer<Int8>, at address: UnsafeRawPointer) {
    unkeyed { () throws(ArchiveError) in try unsafe self.number(ofType: type, at: address) }
  }
  public override func encodeArray(ofObjCType type: UnsafePointer<Int8>, count: Int, at array: UnsafeRawPointer) {
    fail(.unsupportedCall("encodeArray(ofObjCType:count:at:)", at: here))
  }

  private static func noBytes(_ path: ArchivePath) -> ArchiveError {
    .unsupportedCall("encodeBytes without bytes", at: path)
  }

  // What a coder that only writes has no answer for, and Foundation ends the process for.

  public override func containsValue(forKey key: String) -> Bool { false }
  public override func decodeObject() -> Any? { nil }
  public override func decodeObject(forKey key: String) -> Any? { nil }
  public override func decodeBool(forKey key: String) -> Bool { false }
  public override func decodeInteger(forKey key: String) -> Int { 0 }
  public override func decodeDouble(forKey key: String) -> Double { 0 }
  public override func version(forClassName className: String) -> Int { NSNotFound }

  private func integer(_ value: Int64, _ key: String) { field(key) { self.builder.add(integer: value) } }
}
