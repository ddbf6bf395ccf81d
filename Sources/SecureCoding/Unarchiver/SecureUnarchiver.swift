public import Foundation
@_exported public import KeyedArchives

/// Reads keyed archives that `NSKeyedArchiver` writes on Apple's systems and on Linux. It throws an error where
/// Foundation's own reader on Linux ends the process.
///
/// It is an `NSCoder`, so a class's `init?(coder:)` works unchanged if each of its calls names the classes that it
/// expects. An untyped `decodeObject(forKey:)` returns only objects of the classes of the enclosing call, unless
/// ``ClassMatching/asOnApple`` is chosen.
///
/// ```swift
/// let person = try SecureUnarchiver.unarchivedObject(of: Person.self, allowing: [Address.self], from: data)
/// ```
///
/// Before any class's code runs, the whole archive is read into an immutable table within limits, and each class in it
/// is checked against the closed list. Each decoding call then checks again which classes it may return. References to
/// the same object give one object. An object that refers back to itself is refused.
///
/// The first failure is recorded. From then on each decoding call returns nil or zero, and the outermost call throws
/// the failure. A class can still end the process in its own code by force-unwrapping a value that is nil after a
/// failure. Prefer `guard let … else { return nil }`, or ``require(_:forKey:)``, which throws.
public final class SecureUnarchiver: NSCoder {
  /// How classes are compared.
  public let matching: ClassMatching
  /// The limits that apply to the archive and to decoding.
  public let limits: ArchiveLimits

  let table: ArchiveTable
  private(set) var allowed: AllowedClasses
  /// Whether this only checks that an archive just written can be read: every class is accepted everywhere, and the
  /// fields of the caller's classes are decoded without running their code.
  let isRehearsal: Bool
  /// Whether nobody gets the objects that are built, only a Swift value that is made from them.
  var readsSwiftValue = false
  /// The first failure.
  var failure: ArchiveError?
  var path: [ArchivePath.Step] = []
  var frames: [Frame]
  var budget: Budget
  /// The built objects, by number.
  var built: [Any?]
  /// The longer strings that were built, by the place of their bytes, which equal ones may share.
  var strings: [Int: (node: Node, string: NSString)] = [:]
  /// What built objects hold that was checked against the classes of the call that built them.
  var inheritances: [Int: Inheritance] = [:]
  /// The built objects that calls with other classes accept, with all that they hold.
  var accepted: [[ObjectIdentifier]: Set<Int>] = [:]
  /// The cost of built objects that cost more than the number of their parts suggests.
  var costs: [Int: Cost] = [:]
  var isBeingBuilt: [Bool]
  /// What each class in the archive resolves to, once all are checked.
  var entries: [AllowedClasses.Entry?] = []
  var isChecked = false
  /// The containers whose elements are being decoded.
  var entered: [Int] = []
  /// Bytes that `decodeBytes(forKey:returnedLength:)` has lent.
  var lent: [LentBytes] = []

  /// Reads `data` as a keyed archive and builds nothing yet.
  ///
  /// - Parameters:
  ///   - data: a binary or XML keyed archive.
  ///   - allowed: every class of yours that the archive may hold.
  ///   - matching: how each decoding call compares classes.
  ///   - limits: how much the archive may demand.
  ///
  /// Throws ``ArchiveError`` if the bytes are not an archive, contradict themselves or exceed a limit.
  public convenience init(
    reading data: Data, allowing allowed: AllowedClasses, matching: ClassMatching = .exact,
    limits: ArchiveLimits = .standard
  ) throws(ArchiveError) {
    let table = try ArchiveTable([UInt8](data), limits: limits)
    try table.checkEnvelope()
    self.init(table, allowed, matching, limits, isRehearsal: false)
  }

  /// Reads an archive that was just written, and throws any error that a reader would get.
  static func rehearse(_ table: ArchiveTable, limits: ArchiveLimits, asSwiftValue: Bool) throws(ArchiveError) {
    let unarchiver = SecureUnarchiver(table, AllowedClasses(), .exact, limits, isRehearsal: true)
    unarchiver.readsSwiftValue = asSwiftValue
    unarchiver.buildFields()
    try unarchiver.finish()
  }

  private init(
    _ table: ArchiveTable, _ allowed: AllowedClasses, _ matching: ClassMatching, _ limits: ArchiveLimits,
    isRehearsal: Bool
  ) {
    self.table = table
    self.allowed = allowed
    self.matching = matching
    self.limits = limits
    self.isRehearsal = isRehearsal
    frames = [Frame(dictionary: table.top, site: ClassSite(classes: allowed.classes, matching: matching))]
    budget = Budget(limits, inputBytes: table.inputBytes)
    built = Array(repeating: nil, count: table.records.count)
    isBeingBuilt = Array(repeating: false, count: table.records.count)
    super.init()
    BridgedTypes.keep()
  }

  /// Reads `data`, which may hold `classes`.
  public convenience init(
    reading data: Data, allowing classes: [AnyClass], matching: ClassMatching = .exact,
    limits: ArchiveLimits = .standard
  ) throws(ArchiveError) {
    try self.init(reading: data, allowing: try AllowedClasses(classes), matching: matching, limits: limits)
  }

  /// Maps the class name `name` in the archive to `type`, as ``AllowedClasses/allow(_:named:)`` does. Several names may
  /// map to one class. Call this before anything is decoded.
  public func setClass(_ type: AnyClass, forClassName name: String) throws(ArchiveError) {
    try allowed.allow(type, named: name)
    frames[0] = Frame(dictionary: table.top, site: ClassSite(classes: allowed.classes, matching: matching))
    isChecked = false
  }

  /// The keys of the values at the archive's top, in their order; `root` if one object was archived. Values that were
  /// archived without keys, under `$0`, `$1`, …, are not included.
  public var topKeys: [String] { table.programsKeys(ofDictionary: table.top) }

  /// Throws the first failure of the calls so far, if there was one.
  public func finish() throws(ArchiveError) {
    if let failure { throw failure }
  }

  // Overrides of NSCoder. Their implementations are in the other files of this folder.

  public override var allowsKeyedCoding: Bool { true }
  public override var requiresSecureCoding: Bool { true }
  public override var decodingFailurePolicy: NSCoder.DecodingFailurePolicy { .setErrorAndReturn }
  public override var allowedClasses: [AnyClass]? { frames.last?.site.classes }
  /// The first failure, an ``ArchiveError``.
  public override var error: (any Error)? { failure }

  /// Records a failure that a class reports while decoding. The position is kept, but not the content of `error`, which
  /// may contain values.
  public override func failWithError(_ error: any Error) { fail(error as? ArchiveError ?? .failedByClass(at: here)) }

  /// Whether there is a value, even nil, under `key`.
  public override func containsValue(forKey key: String) -> Bool { failure == nil && node(forKey: key) != nil }

  /// Decodes the object under `key` if it is of class `cls`; nil if the key is absent or holds nil.
  public override func decodeObject<DecodedObjectType>(
    of cls: DecodedObjectType.Type, forKey key: String
  ) -> DecodedObjectType? where DecodedObjectType: NSObject, DecodedObjectType: NSCoding { typedObject(cls, key) }

  /// Decodes the object under `key` if it is of one of `classes`, which also apply to the elements of containers. If
  /// `classes` is nil, those of the enclosing decoding call apply.
  public override func decodeObject(of classes: [AnyClass]?, forKey key: String) -> Any? { anyObject(classes, key) }

  /// Decodes the object under `key` if it is of one of the classes of the enclosing decoding call.
  public override func decodeObject(forKey key: String) -> Any? { anyObject(nil, key) }

  /// Decodes a property list: arrays, dictionaries, strings, numbers, data and dates, at any depth.
  public override func decodePropertyList(forKey key: String) -> Any? { anyObject(ClassSite.propertyList, key) }

  public override func decodeBool(forKey key: String) -> Bool { number(key, false, Numbers.bool) }
  public override func decodeCInt(forKey key: String) -> Int32 { number(key, 0, Numbers.integer) }
  public override func decodeInt32(forKey key: String) -> Int32 { number(key, 0, Numbers.integer) }
  public override func decodeInt64(forKey key: String) -> Int64 { number(key, 0, Numbers.integer) }
  public override func decodeInteger(forKey key: String) -> Int { number(key, 0, Numbers.integer) }
  public override func decodeFloat(forKey key: String) -> Float { number(key, 0, Numbers.float) }
  public override func decodeDouble(forKey key: String) -> Double { number(key, 0, Numbers.double) }

  /// Lends the bytes under `key` to `body` for the duration of the call; nil if there are none.
  public override func withDecodedUnsafeBytes<ResultType>(
    forKey key: String, body: (UnsafeRawBufferPointer?) throws -> ResultType
  ) rethrows -> ResultType {
    guard let bytes = inlineBytes(key) else { return try body(nil) }
    return try unsafe bytes.withUnsafeBytes { try unsafe body($0) }
  }

  /// Lends the bytes under `key` to `body` for the duration of the call; nil if there are none.
  public override func withDecodedUnsafeBufferPointer<ResultType>(
    forKey key: String, body: (UnsafeBufferPointer<UInt8>?) throws -> ResultType
  ) rethrows -> ResultType {
    guard let bytes = inlineBytes(key) else { return try body(nil) }
    return try unsafe bytes.withUnsafeBufferPointer { try unsafe body($0) }
  }

  // Values without keys are archived under `$0`, `$1`, … of their object.

  public override func decodeObject() -> Any? { nextObject(nil) }
  public override func decodePropertyList() -> Any? { nextObject(ClassSite.propertyList) }
  public override func decodeData() -> Data? { nextData() }
  public override func decodeValue(ofObjCType type: UnsafePointer<Int8>, at data: UnsafeMutableRawPointer) {
    unsafe nextValue(type, into: data)
  }
  public override func decodeArray(
    ofObjCType itemType: UnsafePointer<Int8>, count: Int, at array: UnsafeMutableRawPointer
  ) {
    fail(.unsupportedCall("decodeArray(ofObjCType:count:at:)", at: here))
  }
  /// Keyed archives hold no class versions.
  public override func version(forClassName className: String) -> Int { NSNotFound }

  // The calls of a writer, all of which record a failure. Foundation's versions end the process.

  public override func encode(_ object: Any?) { refuse("encode(_:)") }
  public override func encode(_ data: Data) { refuse("encode(_:)") }
  public override func encodePropertyList(_ propertyList: Any) { refuse("encodePropertyList(_:)") }
  public override func encodeBytes(_ bytes: UnsafeRawPointer?, length: Int) { refuse("encodeBytes(_:length:)") }
  public override func encodeValue(ofObjCType type: UnsafePointer<Int8>, at address: UnsafeRawPointer) {
    refuse("encodeValue(ofObjCType:at:)")
  }
  public override func encodeArray(ofObjCType type: UnsafePointer<Int8>, count: Int, at array: UnsafeRawPointer) {
    refuse("encodeArray(ofObjCType:count:at:)")
  }
  public override func encode(_ object: Any?, forKey key: String) { refuse("encode(_:forKey:)") }
  public override func encodeConditionalObject(_ object: Any?, forKey key: String) {
    refuse("encodeConditionalObject(_:forKey:)")
  }
  public override func encode(_ value: Bool, forKey key: String) { refuse("encode(_:forKey:)") }
  public override func encode(_ value: Int32, forKey key: String) { refuse("encode(_:forKey:)") }
  public override func encode(_ value: Int64, forKey key: String) { refuse("encode(_:forKey:)") }
  public override func encode(_ value: Int, forKey key: String) { refuse("encode(_:forKey:)") }
  public override func encode(_ value: Float, forKey key: String) { refuse("encode(_:forKey:)") }
  public override func encode(_ value: Double, forKey key: String) { refuse("encode(_:forKey:)") }
  public override func encodeBytes(_ bytes: UnsafePointer<UInt8>?, length: Int, forKey key: String) {
    refuse("encodeBytes(_:length:forKey:)")
  }

  private func refuse(_ call: String) { fail(.unsupportedCall(call, at: here)) }
}

extension SecureUnarchiver {
  /// Reads any keyed archive as a tree, without building anything.
  ///
  /// Throws ``ArchiveError`` if `data` is not a keyed archive, contradicts itself or exceeds a limit. Another
  /// archiver's name, another version, cycles and unknown classes are not errors here.
  public static func inspect(
    _ data: Data, limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> ArchiveInspection {
    try ArchiveInspection([UInt8](data), limits: limits)
  }
}

/// Foundation's `localizedDescription` then says what ``ArchiveError/message`` says.
extension ArchiveError: LocalizedError {
  public var errorDescription: String? { message }
  public var recoverySuggestion: String? { hint }
}
