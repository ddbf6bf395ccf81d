import Foundation
import KeyedArchives

/// A Swift value as Foundation's `PropertyListEncoder` represents it: dictionaries, arrays, texts, numbers, data and dates.
///
/// This is what `encodeEncodable(_:forKey:)` archives on Apple's systems, as objects of Foundation. Its encoder and decoder
/// are used as they are, with two exceptions: no error of theirs is passed on, because they repeat values; and a value
/// stands in an array meanwhile, because they want a container at the top.
enum EncodedValue {
  /// The objects that `value` is archived as.
  static func objects(of value: some Encodable, at path: ArchivePath) throws(ArchiveError) -> Any {
    func refused(_ reason: ArchiveError.NotArchivable) -> ArchiveError {
      .notArchivable(type: TypeNames.shown(type(of: value)), reason: reason, at: path)
    }
    do {
      let data = try encoder.encode([value])
      let list = try unsafe PropertyListSerialization.propertyList(from: data, format: nil)
      guard let array = list as? [Any], let first = array.first else { throw refused(.noForm) }
      return first
    } catch let error as ArchiveError {
      throw error
    } catch let error as EncodingError {
      guard case .invalidValue(_, let context) = error else { throw refused(.failed) }
      throw .notArchivable(
        type: TypeNames.shown(type(of: value)), reason: .noForm, at: path.appending(context.codingPath))
    } catch {
      throw refused(.failed)
    }
  }

  /// The value that `objects`, which hold nothing but what a property list may, stand for.
  static func value<Value: Decodable>(
    _ type: Value.Type, from objects: Any, at path: ArchivePath
  ) throws(ArchiveError) -> Value {
    do {
      let data = try PropertyListSerialization.data(fromPropertyList: [objects], format: .binary, options: 0)
      return try PropertyListDecoder().decode(One<Value>.self, from: data).value
    } catch let error as ArchiveError {
      throw error
    } catch let error as DecodingError {
      throw ArchiveError(error, at: path)
    } catch {
      throw .failedByClass(at: path)
    }
  }

  /// An array of one element; more, or none, is not what `objects(of:at:)` made.
  private struct One<Value: Decodable>: Decodable {
    let value: Value

    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      value = try container.decode(Value.self)
    }
  }

  private static var encoder: PropertyListEncoder {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    return encoder
  }
}

extension ArchiveError {
  /// What a decoder found, without what it says about it: that may hold values.
  fileprivate init(_ error: DecodingError, at path: ArchivePath) {
    switch error {
    case .keyNotFound(let key, let context):
      self = .missingValue(at: path.appending(context.codingPath).appending(.key(key.stringValue)))
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
  /// This path and the steps of a coder below its array of one.
  fileprivate func appending(_ steps: [any CodingKey]) -> ArchivePath {
    steps.dropFirst().reduce(self) { path, step in
      path.appending(step.intValue.map { .index($0) } ?? .key(step.stringValue))
    }
  }
}
