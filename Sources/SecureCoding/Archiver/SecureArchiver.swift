public import Foundation
public import KeyedArchives

/// Writes keyed archives that `NSKeyedUnarchiver` and ``SecureUnarchiver`` read. It throws an error where Foundation's
/// own writer on Linux ends the process.
///
/// It is an `NSCoder`, so a class's `encode(with:)` works unchanged:
///
/// ```swift
/// let data = try SecureArchiver.archivedData(withRootObject: person)
/// ```
///
/// The same value gives the same bytes in every process, because unordered elements are sorted. An object that occurs
/// twice is one object in the archive, as it is in memory. An object that refers back to itself is refused, because
/// ``SecureUnarchiver`` would refuse it.
///
/// The methods of `NSCoder` cannot throw. So the first failure is recorded, and the call that finishes the archive
/// throws it.
public final class SecureArchiver: NSCoder {
  /// Whether a class must declare secure coding to be archived.
  private let requiresSecure: Bool
  /// How deep objects may refer to each other.
  let limits: ArchiveLimits

  var builder = PropertyListBuilder()
  /// The node of each object. The first is `$null`.
  var objects: [UInt32]
  /// The number of each object in memory. The objects are retained so that no other object can get their addresses.
  var numbers: [ObjectIdentifier: Int] = [:]
  var kept: [AnyObject] = []
  var isBeingEncoded: Set<Int> = []
  /// The coder that an object gets when it is asked for its replacement: the call accepts only Foundation's archiver.
  lazy var standIn = NSKeyedArchiver(requiringSecureCoding: requiresSecure)
  var classNumbers: [String: Int] = [:]
  var classNames: [ObjectIdentifier: String]
  /// The class that each name means in this archive.
  var claimed: [String: ObjectIdentifier] = [:]
  /// Shared with the archivers that only create sort keys.
  var sortKeys = SortKeys()
  private(set) var isSorting = false
  /// How deep the element lies whose sort key this archiver creates; 0 for an archive of its own.
  private var outerDepth = 0
  /// How deep the current object lies.
  var depth: Int { outerDepth + frames.count }
  /// Whether the archive holds something that the reader might refuse, so that it must be read once before it is
  /// returned.
  var needsRehearsal = false
  /// Whether the archive holds a Swift value alone. Its reader compares none of Foundation's objects.
  var holdsSwiftValue = false
  /// The bytes of inline data in Foundation objects so far. The bitmap of a small character set can be large.
  var dataBytes = 0
  /// The bytes of all data objects so far. Equal ones are kept once in the archive, but read separately.
  var dataObjectBytes = 0
  /// References that are kept only if something else archives their object.
  var conditional: [(reference: UInt32, object: AnyObject)] = []
  var frames: [Frame] = [Frame()]
  var path: [ArchivePath.Step] = []
  /// The first failure.
  var failure: ArchiveError?
  private(set) var isFinished = false

  /// Starts an archive.
  ///
  /// - Parameters:
  ///   - requiringSecureCoding: whether classes that adopt only `NSCoding` are refused.
  ///   - names: the names of classes in the archive, where they differ from the classes' own: an Objective-C name, or
  ///     the name that an existing app expects.
  ///   - limits: the limits within which the archive must be readable.
  public init(
    requiringSecureCoding: Bool = true, names: [(type: AnyClass, name: String)] = [], limits: ArchiveLimits = .standard
  ) {
    requiresSecure = requiringSecureCoding
    classNames = [:]
    self.limits = limits
    objects = [builder.add(text: "$null")]
    super.init()
    BridgedTypes.keep()
    for mapping in names { setClassName(mapping.name, for: mapping.type) }
  }

  /// Archives objects of class `type`, but not of its subclasses, under `name`. Call this before the first of them is
  /// encoded.
  ///
  /// The archive fails if the name belongs to a Foundation class or to another class in the same archive.
  public func setClassName(_ name: String, for type: AnyClass) {
    guard !name.isEmpty, !name.hasPrefix("$"), name != "NSObject", ValueClass.named(name) == nil else {
      return fail(.unusableClass(name: name, reason: .nameTaken))
    }
    classNames[ObjectIdentifier(type)] = name
  }

  /// The bytes of an archive of `element` alone.
  func sortKey(of element: AnyObject) throws(ArchiveError) -> [UInt8] {
    let archiver = SecureArchiver(requiringSecureCoding: requiresSecure, limits: limits)
    archiver.classNames = classNames
    archiver.sortKeys = sortKeys
    archiver.standIn = standIn
    archiver.isSorting = true
    archiver.outerDepth = depth - 1
    archiver.encode(element, forKey: "root")
    return [UInt8](try archiver.finishEncoding())
  }

  /// Finishes the archive.
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

  /// Throws if the archive could not be read back: it exceeds a limit, a conditional reference closes a cycle, or the
  /// reader refuses a value.
  private func confirm(_ bytes: [UInt8]) throws(ArchiveError) {
    let table = try ArchiveTable(bytes, limits: limits)
    if let back = table.graph.backReferences.first { throw .cycle(at: table.path(toObject: back.to)) }
    guard table.graph.depth <= limits.effectiveDepth else {
      throw .overLimit(.depth, allowed: limits.effectiveDepth, at: ArchivePath())
    }
    guard table.graph.unfoldedTotal <= UInt64(clamping: limits.references) else {
      throw .overLimit(.references, allowed: limits.references, at: ArchivePath())
    }
    if needsRehearsal || !isLight(table.graph) {
      try SecureUnarchiver.rehearse(table, limits: limits, asSwiftValue: holdsSwiftValue)
    }
  }

  /// Whether arrays, dictionaries and data cannot exceed a limit: each level of containers costs at most 32 steps for each
  /// object.
  private func isLight(_ graph: ReferenceGraph) -> Bool {
    let steps = Int(clamping: graph.unfoldedTotal).saturatingProduct(32 * (graph.depth + 1))
    return limits == .standard && dataObjectBytes <= Budget.free
      && steps.saturatingSum(dataObjectBytes) <= limits.comparisons
  }

  // Overrides of NSCoder. Their implementations are in the other files of this folder.

  public override var allowsKeyedCoding: Bool { true }
  public override var requiresSecureCoding: Bool { requiresSecure }
  /// The first failure, an ``ArchiveError``.
  public override var error: (any Error)? { failure }

  /// Records a failure that a class reports while encoding. The content of `error` is not kept, because it may contain
  /// values.
  public override func failWithError(_ error: any Error) {
    fail(error as? ArchiveError ?? .notArchivable(type: "", reason: .failed, at: here))
  }

  public override func encode(_ object: Any?, forKey key: String) {
    field(key) { () throws(ArchiveError) in try self.reference(to: object) }
  }

  /// Archives a reference to `object` under `key` if something else in the archive, before or after, archives it; nil
  /// otherwise.
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

  // The calls of a reader, all of which record a failure. Foundation's versions end the process.

  public override func containsValue(forKey key: String) -> Bool { refused("containsValue(forKey:)", false) }
  public override func decodeObject() -> Any? { refused("decodeObject()", nil) }
  public override func decodeObject(forKey key: String) -> Any? { refused("decodeObject(forKey:)", nil) }
  public override func decodeObject<DecodedObjectType>(
    of cls: DecodedObjectType.Type, forKey key: String
  ) -> DecodedObjectType? where DecodedObjectType: NSObject, DecodedObjectType: NSCoding {
    refused("decodeObject(of:forKey:)", nil)
  }
  public override func decodeObject(of classes: [AnyClass]?, forKey key: String) -> Any? {
    refused("decodeObject(of:forKey:)", nil)
  }
  public override func decodePropertyList() -> Any? { refused("decodePropertyList()", nil) }
  public override func decodePropertyList(forKey key: String) -> Any? { refused("decodePropertyList(forKey:)", nil) }
  public override func decodeData() -> Data? { refused("decodeData()", nil) }
  public override func decodeBool(forKey key: String) -> Bool { refused("decodeBool(forKey:)", false) }
  public override func decodeCInt(forKey key: String) -> Int32 { refused("decodeCInt(forKey:)", 0) }
  public override func decodeInt32(forKey key: String) -> Int32 { refused("decodeInt32(forKey:)", 0) }
  public override func decodeInt64(forKey key: String) -> Int64 { refused("decodeInt64(forKey:)", 0) }
  public override func decodeInteger(forKey key: String) -> Int { refused("decodeInteger(forKey:)", 0) }
  public override func decodeFloat(forKey key: String) -> Float { refused("decodeFloat(forKey:)", 0) }
  public override func decodeDouble(forKey key: String) -> Double { refused("decodeDouble(forKey:)", 0) }
  public override func withDecodedUnsafeBytes<ResultType>(
    forKey key: String, body: (UnsafeRawBufferPointer?) throws -> ResultType
  ) rethrows -> ResultType { unsafe try body(refused("withDecodedUnsafeBytes(forKey:body:)", nil)) }
  public override func withDecodedUnsafeBufferPointer<ResultType>(
    forKey key: String, body: (UnsafeBufferPointer<UInt8>?) throws -> ResultType
  ) rethrows -> ResultType { unsafe try body(refused("withDecodedUnsafeBufferPointer(forKey:body:)", nil)) }
  public override func decodeValue(ofObjCType type: UnsafePointer<Int8>, at data: UnsafeMutableRawPointer) {
    refused("decodeValue(ofObjCType:at:)", ())
  }
  public override func decodeArray(
    ofObjCType itemType: UnsafePointer<Int8>, count: Int, at array: UnsafeMutableRawPointer
  ) { refused("decodeArray(ofObjCType:count:at:)", ()) }
  public override func version(forClassName className: String) -> Int { NSNotFound }
  public override var allowedClasses: [AnyClass]? { [] }

  private func refused<Value>(_ call: String, _ value: Value) -> Value {
    fail(.unsupportedCall(call, at: here))
    return value
  }

  private func integer(_ value: Int64, _ key: String) { field(key) { self.builder.add(integer: value) } }
}

extension SecureArchiver {
  /// Archives `object` under `root`.
  ///
  /// - Parameters:
  ///   - object: an object whose class adopts `NSSecureCoding`, one of Foundation's values, or an array or dictionary
  ///     of these. Any other value throws.
  ///   - format: binary, or XML.
  ///   - requiringSecureCoding: whether classes that adopt only `NSCoding` are refused.
  ///   - names: the names of classes in the archive, where they differ from the classes' own.
  /// - Returns: the archive's bytes, the same for the same value.
  /// - Throws: ``ArchiveError``.
  public static func archivedData(
    withRootObject object: Any, format: ArchiveFormat = .binary, requiringSecureCoding: Bool = true,
    names: [(type: AnyClass, name: String)] = []
  ) throws(ArchiveError) -> Data {
    let archiver = SecureArchiver(requiringSecureCoding: requiringSecureCoding, names: names)
    archiver.encode(object, forKey: "root")
    return try archiver.finishEncoding(format)
  }
}
