import Foundation
import KeyedArchives
import Testing

@testable import SecureCoding

@Suite struct VectorTests {
  @Test func `every group and every limit has a vector`() {
    #expect(Vector.all.count >= 200)
    #expect(Set(Vector.all.map(\.group)) == ["bytes", "xml", "envelope", "class", "cycle", "limit", "value", "number"])
    // The output limit applies only to inspection, so decoding never reaches it.
    for limit in ArchiveError.Limit.allCases where limit != .output {
      #expect(Vector.all.contains { $0.error == "overLimit.\(limit.rawValue)" }, "\(limit)")
    }
  }

  @Test(arguments: Vector.all) func `each vector gives its expected value or error`(vector: Vector) throws {
    for data in vector.forms {
      let outcome = Self.decode(vector, data)
      switch outcome {
      case .success(let value):
        #expect(vector.error == nil && value == vector.value, "\(value)")
      case .failure(let error):
        #expect(error.code == vector.error, "\(error)")
        if let path = vector.path { #expect(error.path == path) }
        #expect(error.message.utf8.count < 2_000)
      }
    }
  }

  private static func decode(_ vector: Vector, _ data: Data) -> Result<String, ArchiveError> {
    do throws(ArchiveError) {
      let ask = vector.ask.compactMap(VectorClasses.named)
      let allowed = try AllowedClasses(vector.allow.compactMap(VectorClasses.named))
      let unarchiver = try SecureUnarchiver(reading: data, allowing: allowed, limits: vector.archiveLimits)
      if let number = try number(vector, unarchiver) { return .success(number) }
      let value = try object(unarchiver, ask)
      return .success(value)
    } catch {
      return .failure(error)
    }
  }

  private static func number(_ vector: Vector, _ unarchiver: SecureUnarchiver) throws(ArchiveError) -> String? {
    let text: String
    switch vector.call {
    case "int32": text = "\(unarchiver.decodeInt32(forKey: "n"))"
    case "int64": text = "\(unarchiver.decodeInt64(forKey: "n"))"
    case "integer": text = "\(unarchiver.decodeInteger(forKey: "n"))"
    case "bool": text = "\(unarchiver.decodeBool(forKey: "n"))"
    case "float": text = "\(unarchiver.decodeFloat(forKey: "n"))"
    case "double": text = "\(unarchiver.decodeDouble(forKey: "n"))"
    default: return nil
    }
    try unarchiver.finish()
    return text
  }

  private static func object(_ unarchiver: SecureUnarchiver, _ classes: [AnyClass]) throws(ArchiveError) -> String {
    guard unarchiver.containsValue(forKey: "root") else { throw .missingValue(at: ArchivePath([.key("root")])) }
    return words(try unarchiver.decode(classes, forKey: "root"))
  }

  /// A value in the notation of the vectors.
  private static func words(_ value: Any?) -> String {
    switch value {
    case nil: "nil"
    case let value as NSString: "\"\(value)\""
    case let value as NSDecimalNumber: value.description
    case let value as NSNumber: "\(value)"
    case let value as NSData:
      "<\(Data(referencing: value).map { String(Int($0) + 0x100, radix: 16).dropFirst() }.joined())>"
    case let value as NSArray: "[\(value.map { words($0) }.joined(separator: ", "))]"
    case let value as NSIndexSet where value.count >= 100:
      "ranges \((value as IndexSet).rangeView.map { "\($0.lowerBound) \($0.count)" }.joined(separator: " "))"
    case let value as NSIndexSet: "{\(value.map(String.init).joined(separator: " "))}"
    case let value as NSIndexPath:
      "path \((0..<value.length).map { "\(value.index(atPosition: $0))" }.joined(separator: " "))"
    case let value as NSError: "error \(value.domain) \(value.code)"
    case let value as NSCharacterSet:
      "characters \("abc".filter { value.characterIsMember($0.utf16.first ?? 0) }.map(String.init).joined(separator: " "))"
    case let value as NSDateInterval: "interval \(value.startDate.timeIntervalSinceReferenceDate) \(value.duration)"
    case let value as NSAttributedString: "text \(value.string)"
    case let value as NSDateComponents: "components \(value.year)"
    case let value as NSValue
    where unsafe String(cString: value.objCType) == String(cString: NSValue(range: NSRange()).objCType):
      "range \(value.rangeValue.location) \(value.rangeValue.length)"
    case let value as NSValue: "point \(value.pointValue.x) \(value.pointValue.y)"
    default: "something else"
    }
  }
}

extension ArchiveError {
  /// The error's name in the vectors.
  var code: String {
    switch self {
    case .notAPropertyList: "notAPropertyList"
    case .brokenPropertyList(let defect, _): "brokenPropertyList.\(defect)"
    case .brokenArchive(let defect, _): "brokenArchive.\(defect)"
    case .wrongType: "wrongType"
    case .numberDoesNotFit: "numberDoesNotFit"
    case .missingValue: "missingValue"
    case .invalidValue: "invalidValue"
    case .cycle: "cycle"
    case .classRefused: "classRefused"
    case .unusableClass(_, let reason): "unusableClass.\(reason)"
    case .refusedByClass: "refusedByClass"
    case .failedByClass: "failedByClass"
    case .unsupportedCall: "unsupportedCall"
    case .overLimit(let limit, _, _): "overLimit.\(limit)"
    case .notArchivable(_, let reason, _): "notArchivable.\(reason)"
    case .noStableName: "noStableName"
    case .otherType: "otherType"
    case .notInXML: "notInXML"
    case .brokenStructArchive(let defect, _): "brokenStructArchive.\(defect)"
    }
  }

  var path: String? {
    switch self {
    case .brokenArchive(_, let path), .wrongType(_, _, let path), .numberDoesNotFit(_, let path),
      .missingValue(let path), .invalidValue(_, _, let path), .cycle(let path), .classRefused(_, _, let path),
      .refusedByClass(_, let path), .failedByClass(let path), .unsupportedCall(_, let path),
      .overLimit(_, _, let path), .notArchivable(_, _, let path):
      path.description
    default: nil
    }
  }
}
