/// Why an archive was refused. Cases may be added: switch over it with a `default`.
///
/// No case holds a value of the archive: payloads are names of classes and keys, positions and counts, so an error may
/// end up in a log.
@nonexhaustive
public enum ArchiveError: Error, Sendable, Equatable {
  /// The bytes are neither a binary nor an XML property list.
  case notAPropertyList
  /// The property list is broken, at `offset` bytes from its beginning.
  case brokenPropertyList(PropertyListDefect, offset: Int)
  /// The property list is not a keyed archive, or it contradicts itself.
  case brokenArchive(ArchiveDefect, at: ArchivePath)
  /// A value does not have the type that is expected where it was found.
  case wrongType(expected: String, found: String, at: ArchivePath)
  /// A number does not fit the type that was asked for.
  case numberDoesNotFit(type: String, at: ArchivePath)
  /// A required value is missing.
  case missingValue(at: ArchivePath)
  /// A Foundation object's fields contradict each other, or describe something that cannot be built.
  case invalidValue(ofClass: String, reason: String, at: ArchivePath)
  /// An object refers to itself, directly or through others.
  case cycle(at: ArchivePath)
  /// A class is not on the list of allowed classes.
  case classRefused(name: String, allowed: [String], at: ArchivePath)
  /// A class cannot be put on a list of allowed classes.
  case unusableClass(name: String, reason: UnusableClass)
  /// The initializer of a class returned nil, without any decoding call having failed.
  case refusedByClass(name: String, at: ArchivePath)
  /// The caller's own code reported a failure through `failWithError(_:)`. Its text is not repeated here.
  case failedByClass(at: ArchivePath)
  /// A call that keyed archives do not support.
  case unsupportedCall(String, at: ArchivePath)
  /// The archive exceeds a limit.
  case overLimit(Limit, allowed: Int, at: ArchivePath)
  /// A value cannot be archived in a form that could be read back.
  case notArchivable(type: String, reason: NotArchivable, at: ArchivePath)
  /// The type has no name that means the same in another program: it is private, local or generic.
  case noStableName(type: String)
  /// An archive holds a value of a type other than the requested one.
  case otherType(found: String, expected: String)
  /// The XML format cannot represent a value.
  case notInXML(String)
  /// The bytes are not an archive of the StructArchiver library.
  case brokenStructArchive(StructArchiveDefect, offset: Int)

  /// The limits of ``ArchiveLimits``, by name.
  @nonexhaustive
  public enum Limit: String, Sendable, CaseIterable {
    case inputBytes, values, nesting, objects, depth, references, elements, stringBytes, dataBytes, expansion
    case comparisons, classNameBytes, output
  }

  /// Why a class cannot be put on a list of allowed classes.
  @nonexhaustive
  public enum UnusableClass: String, Sendable {
    /// It would allow every class.
    case everyClass
    /// It does not adopt `NSCoding`.
    case notCoding
    /// It adopts `NSCoding` but does not declare secure coding.
    case notSecure
    /// Its superclass's `init(coder:)` ends the process with any coder but Foundation's own.
    case foundationSubclass
    /// It is a class of Foundation that this module does not build.
    case notBuilt
    /// Another class has this name.
    case nameTaken
  }

  /// Why a value cannot be archived.
  @nonexhaustive
  public enum NotArchivable: String, Sendable {
    /// It is neither a class that adopts `NSCoding`, nor a property-list value, nor `Encodable`.
    case notCoding
    /// Its class adopts `NSCoding` but does not declare secure coding.
    case notSecure
    /// It is a class of Foundation that this module does not write, or a subclass of one.
    case notWritten
    /// The value's own encoding code threw or reported a failure.
    case failed
    /// It is a Swift value inside an object graph.
    case swiftValue
    /// A set or dictionary has an array or dictionary as an element or key, which Foundation on Linux cannot compare.
    case unusableElement
    /// It holds numbers or text that the format cannot represent.
    case noForm
  }

  /// The kind of failure, for callers that need no finer distinction.
  public enum Category: Sendable {
    /// The bytes are at fault.
    case broken
    /// A limit was reached.
    case overLimit
    /// A class is not allowed.
    case classRefused
  }

  /// The kind of failure.
  public var category: Category {
    switch self {
    case .overLimit: .overLimit
    case .classRefused, .unusableClass: .classRefused
    default: .broken
    }
  }

  /// The kind of failure as the exit status that `vault` gives it: 13 broken, 20 over a limit, 19 class refused.
  public var status: Int32 {
    switch category {
    case .broken: 13
    case .overLimit: 20
    case .classRefused: 19
    }
  }
}
