import Foundation
import KeyedArchives

/// Converts between a Swift value and property-list objects, which is what `encodeEncodable(_:forKey:)` archives on
/// Apple's systems.
enum EncodedValue {
  /// The objects that represent `value` in an archive.
  ///
  /// - Parameter depth: how deep the objects may refer to each other.
  static func objects(of value: some Encodable, at path: ArchivePath, depth: Int) throws(ArchiveError) -> AnyObject {
    func refused(_ reason: ArchiveError.NotArchivable, _ steps: [any CodingKey]) -> ArchiveError {
      .notArchivable(type: TypeNames.shown(type(of: value)), reason: reason, at: path.appending(steps))
    }
    do {
      return try ValueEncoder.object(value, [], depth: depth)
    } catch ValueEncoder.Failure.tooDeep(let steps) {
      throw .overLimit(.depth, allowed: depth, at: path.appending(steps))
    } catch ValueEncoder.Failure.noForm(let steps) {
      throw refused(.noForm, steps)
    } catch EncodingError.invalidValue(_, let context) {
      throw refused(.failed, context.codingPath)
    } catch {
      throw refused(.failed, [])
    }
  }

  /// The value that `object` represents. `object` contains only property-list objects.
  static func value<Value: Decodable>(
    _ type: Value.Type, from object: AnyObject, at path: ArchivePath
  ) throws(ArchiveError) -> Value {
    do {
      let decoder = ValueDecoder(object: object, base: path)
      return try decoder.singleValueContainer().decode(type)
    } catch let error as ArchiveError {
      throw error
    } catch let error as DecodingError {
      throw ArchiveError(error, at: path)
    } catch {
      throw .failedByClass(at: path)
    }
  }
}

extension ArchiveError {
  /// The error that a type's own code threw, without its text, because the text may contain values.
  fileprivate init(_ error: DecodingError, at path: ArchivePath) {
    switch error {
    case .keyNotFound(let key, let context):
      self = .missingValue(at: path.appending(context.codingPath + [key]))
    case .valueNotFound(_, let context): self = .missingValue(at: path.appending(context.codingPath))
    case .typeMismatch(let type, let context):
      self = .wrongType(
        expected: "a value of '\(TypeNames.shown(type))'", found: "something else",
        at: path.appending(context.codingPath))
    case .dataCorrupted(let context): self = .failedByClass(at: path.appending(context.codingPath))
    @unknown default: self = .failedByClass(at: path)
    }
  }
}

extension ArchivePath {
  /// This path followed by the keys of a coder.
  ///
  /// A dictionary's keys are values, so they are not shown. Names of properties are: they are cases of an enumeration.
  func appending(_ keys: [any CodingKey]) -> ArchivePath {
    ArchivePath(
      steps
        + keys.map { key in
          if let key = key as? PlainKey { return key.intValue.map { .index($0) } ?? .key(key.stringValue) }
          let mirror = Mirror(reflecting: key)
          return .key(mirror.displayStyle == .enum && mirror.children.isEmpty ? key.stringValue : "a key")
        })
  }
}
