internal import Ground

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
    /// Its `classForKeyedArchiver`, which is usually its `classForCoder`, is a class of Foundation, or one that does not
    /// adopt `NSCoding`.
    case classForCoder
    /// The value's own encoding code threw or reported a failure.
    case failed
    /// It is a Swift value inside an object graph.
    case swiftValue
    /// A set or dictionary has an element or key that Foundation on Linux cannot compare or hash: an array, dictionary,
    /// decimal number or error, or a measurement beyond `Int`.
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

extension ArchiveError: CustomStringConvertible {
  /// What happened: lower case, no full stop, never a value of the archive.
  public var message: String {
    switch self {
    case .notAPropertyList: "this is neither a binary nor an XML property list"
    case .brokenPropertyList(let defect, let offset): "broken property list at byte \(offset): \(defect.rawValue)"
    case .brokenArchive(let defect, let path): "broken archive at \(path): \(defect.rawValue)"
    case .wrongType(let expected, let found, let path): "\(path) is \(found), not \(expected)"
    case .numberDoesNotFit(let type, let path): "the number at \(path) does not fit \(type)"
    case .missingValue(let path): "there is no value at \(path)"
    case .invalidValue(let name, let reason, let path): "the \(Printable.name(name)) at \(path) is not valid: \(reason)"
    case .cycle(let path): "the object at \(path) refers back to itself"
    case .classRefused(let name, let allowed, let path):
      "class '\(Printable.name(name))' is not allowed at \(path); allowed: \(Self.list(allowed))"
    case .unusableClass(let name, let reason): "class '\(Printable.name(name))' cannot be allowed: \(reason.words)"
    case .refusedByClass(let name, let path): "class '\(Printable.name(name))' refused the object at \(path)"
    case .failedByClass(let path): "the class's own code reported a failure at \(path)"
    case .unsupportedCall(let call, let path): "'\(call)' has no meaning for a keyed archive, at \(path)"
    case .overLimit(let limit, let allowed, let path): "\(limit.words(allowed)), at \(path)"
    case .notArchivable(let type, let reason, let path):
      "a value of '\(Printable.name(type))' cannot be archived at \(path): \(reason.words)"
    case .noStableName(let type): "type '\(Printable.name(type))' has no name that means the same in other programs"
    case .otherType(let found, let expected):
      "the archive holds a '\(Printable.name(found))', not a '\(Printable.name(expected))'"
    case .notInXML(let what): "the XML format has no form for \(what)"
    case .brokenStructArchive(let defect, let offset): "broken struct archive at byte \(offset): \(defect.rawValue)"
    }
  }

  /// What the caller can do about it, if anything.
  public var hint: String? {
    switch self {
    case .notAPropertyList: "is it an archive of the StructArchiver library, or encrypted?"
    case .classRefused:
      "allow the class by name if you trust it, or map its name to one of yours; "
        + "if it is allowed, the call that decodes it must name it, too, or use '.asOnApple'"
    case .overLimit(let limit, _, _):
      "if you trust its origin, raise 'ArchiveLimits.\(limit.rawValue)' of a SecureUnarchiver or SecureArchiver; "
        + "the calls of a group have the standard limits"
    case .cycle:
      "leave the back reference out of the archive and set it after decoding; an archive with one can only be inspected"
    case .unusableClass(_, let reason): reason.hint
    case .wrongType(_, let found, _) where found == "a reference": "it was archived as an object: decode it as one"
    case .refusedByClass: "its init(coder:) returned nil"
    case .notArchivable(_, .notCoding, _): "adopt NSSecureCoding, or Encodable for a Swift type"
    case .notArchivable(_, .notSecure, _):
      "adopt NSSecureCoding, or archive with 'requiringSecureCoding: false', and read with 'allowInsecurely'"
    case .noStableName:
      "name it: a Codable value with 'named:', a class with 'names:' of SecureArchiver, whose archive a group takes "
        + "with 'kind: .archive'"
    case .otherType: "decode the type that was found, or pass the name that yours was archived under"
    case .notInXML: "write the binary format"
    default: nil
    }
  }

  /// The message.
  public var description: String { message }

  private static func list(_ names: [String]) -> String {
    guard !names.isEmpty else { return "nothing" }
    let shown = names.prefix(12).map(Printable.name).joined(separator: ", ")
    return names.count > 12 ? "\(shown) and \(names.count - 12) more" : shown
  }
}

extension ArchiveError.Limit {
  /// A message that says which limit was exceeded; `allowed` is its value.
  func words(_ allowed: Int) -> String {
    switch self {
    case .inputBytes: "the archive has more than \(allowed) bytes"
    case .values: "the property list has more than \(allowed) values, counting each use of a shared one"
    case .nesting: "containers are nested more than \(allowed) deep"
    case .objects: "the archive has more than \(allowed) objects"
    case .depth: "objects refer to each other more than \(allowed) deep"
    case .references: "shared references expand to more than \(allowed) objects"
    case .elements: "a container has more than \(allowed) elements"
    case .stringBytes: "a string has more than \(allowed) bytes"
    case .dataBytes: "a data value has more than \(allowed) bytes"
    case .expansion: "strings and data would take more than \(allowed) bytes for each byte of the archive"
    case .classNameBytes: "the name of a class has more than \(allowed) bytes"
    case .output: "the output would take more than \(allowed) bytes for each byte of the archive"
    case .comparisons: "comparing its contents would take more than \(allowed) steps"
    }
  }
}

extension ArchiveError.UnusableClass {
  var words: String {
    switch self {
    case .everyClass: "every class inherits from it"
    case .notCoding: "it does not adopt NSSecureCoding"
    case .notSecure: "it does not declare secure coding"
    case .foundationSubclass: "the init(coder:) that it inherits from Foundation works with Foundation's own coder only"
    case .notBuilt: "this class of Foundation can be inspected, but not built"
    case .nameTaken: "another class on the list has this name"
    }
  }

  var hint: String? {
    switch self {
    case .everyClass: "name the classes that you expect"
    case .notCoding, .notSecure:
      "adopt NSSecureCoding, or use 'allowInsecurely' if you trust every archive that arrives"
    case .foundationSubclass: "hold the container in a property of a class of your own"
    case .notBuilt: nil
    case .nameTaken: "map one of them to another name"
    }
  }
}

extension ArchiveError.NotArchivable {
  var words: String {
    switch self {
    case .notCoding: "it adopts neither NSSecureCoding nor Encodable"
    case .notSecure: "its class does not declare secure coding"
    case .notWritten: "writing its class, or the Foundation class that it inherits from, is not supported"
    case .classForCoder: "its 'classForKeyedArchiver' or 'classForCoder' is a class that could not be read back"
    case .failed: "its own code reported a failure"
    case .swiftValue: "objects can hold only strings, numbers, data, dates and objects; use Codable for the whole value"
    case .unusableElement:
      "arrays, dictionaries, decimal numbers, errors and very large measurements cannot be elements of a set, or keys, on Linux"
    case .noForm: "it holds something that archives cannot represent"
    }
  }
}

/// What is wrong with a property list.
@nonexhaustive
public enum PropertyListDefect: String, Sendable {
  case truncated = "it ends too early"
  case trailer = "its trailer contradicts its size"
  case offset = "an offset points outside the objects"
  case overlap = "its objects overlap"
  case marker = "a byte is not the marker of any kind of value that archives hold"
  case reference = "a reference points outside the table"
  case size = "a size exceeds the bytes that are left"
  case containsItself = "a container contains itself"
  case keyNotAString = "a key is not a string"
  case keyTwice = "a dictionary has the same key twice"
  case text = "a string is not valid in its encoding"
  case encoding = "its encoding is not UTF-8"
  case markup = "its markup is not well formed"
  case entity = "it declares or uses an entity of its own"
  case element = "an element does not belong in a property list"
  case mismatch = "an end tag does not match"
  case number = "a number cannot be read"
  case date = "a date cannot be read"
  case base64 = "data is not valid base64"
  case trailing = "something follows the end"
  case json = "it is not the JSON of an archive"
}

/// What is wrong with the structure of a keyed archive.
@nonexhaustive
public enum ArchiveDefect: String, Sendable {
  case topIsNotADictionary = "the property list is not a dictionary"
  case noArchiver = "'$archiver' is missing or not a string"
  case noVersion = "'$version' is missing or not an integer"
  case otherVersion = "'$version' is not 100000"
  case noObjects = "'$objects' is missing or not an array"
  case noNull = "the first object is not '$null'"
  case noTop = "'$top' is missing or not a dictionary"
  case referenceOutOfRange = "a reference points outside the table of objects"
  case referenceToClass = "a reference points to the description of a class"
  case containerInTable = "the table of objects holds an array"
  case noClass = "an object has no '$class'"
  case classIsNotAReference = "an object's '$class' is not a reference"
  case classIsNotAClass = "an object's '$class' does not lead to the description of a class"
  case noClassName = "the description of a class has no '$classname'"
  case classNameNotAString = "'$classname' is not a string"
  case classesNotStrings = "'$classes' is not an array of strings"
  case hintsNotStrings = "'$classhints' is not an array of strings"
}

/// What is wrong with an archive of the StructArchiver library.
@nonexhaustive
public enum StructArchiveDefect: String, Sendable {
  case truncated = "it ends too early"
  case identifier = "the name of a type is not valid"
  case length = "a length does not match the bytes that are left"
  case text = "a string is not valid UTF-8"
  case trailing = "something follows the end"
  case key = "a key is not a string"
}
