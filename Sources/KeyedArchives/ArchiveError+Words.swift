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
    case .classRefused: "allow the class by name if you trust it, or map its name to one of yours"
    case .overLimit(let limit, _, _): "if you trust its origin, raise 'ArchiveLimits.\(limit.rawValue)'"
    case .cycle: "such archives can be inspected, but not built"
    case .unusableClass(_, let reason): reason.hint
    case .wrongType(_, let found, _) where found == "a reference": "it was archived as an object: decode it as one"
    case .refusedByClass: "its init(coder:) returned nil"
    case .notArchivable(_, .notCoding, _): "adopt NSSecureCoding, or Encodable for a Swift type"
    case .noStableName: "choose a name for it and pass it as 'named:'"
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
    case .failed: "its own code reported a failure"
    case .swiftValue: "objects can hold only strings, numbers, data, dates and objects; use Codable for the whole value"
    case .unusableElement: "arrays and dictionaries cannot be elements of a set, or keys, on Linux"
    case .noForm: "it holds something that archives cannot represent"
    }
  }
}
