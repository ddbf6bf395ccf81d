import Foundation
import KeyedArchives
import TestSupport
import Testing

@testable import SecureCoding

/// One vector of `Vectors/archives.json`. `generate.py` in the same folder explains the fields.
struct Vector: Decodable, Sendable, CustomTestStringConvertible {
  let group: String
  let name: String
  let ask: [String]
  let allow: [String]
  let archive: RawValueTree?
  let bytes: String?
  let generator: String?
  let count: Int?
  let error: String?
  let path: String?
  let value: String?
  let call: String?
  let limits: [String: Int]?

  var testDescription: String { "\(group): \(name)" }

  static let all: [Vector] = {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "Vectors/archives.json")
    guard let data = try? Data(contentsOf: file) else { return [] }
    return (try? JSONDecoder().decode([Vector].self, from: data)) ?? []
  }()

  /// The archive in each format that can represent it.
  var forms: [Data] {
    if let bytes { return [Data(base64Encoded: bytes) ?? Data()] }
    if let generator { return [Data(Generators.archive(generator, count ?? 0))] }
    guard let archive else { return [] }
    // XML cannot represent lone surrogates or single precision.
    return archive.hasCodeUnits
      ? [Data(archive.plist.binary())] : [Data(archive.plist.binary()), Data(archive.plist.xml())]
  }

  var archiveLimits: ArchiveLimits {
    var changed = ArchiveLimits()
    for (name, value) in limits ?? [:] {
      switch name {
      case "inputBytes": changed.inputBytes = value
      case "stringBytes": changed.stringBytes = value
      case "dataBytes": changed.dataBytes = value
      case "elements": changed.elements = value
      case "objects": changed.objects = value
      case "values": changed.values = value
      case "references": changed.references = value
      default: changed.inputBytes = 0
      }
    }
    return changed
  }
}

/// JSON in the lossless form of inspection.
indirect enum RawValueTree: Decodable, Sendable {
  case plain(PlistValue)
  case array([RawValueTree])
  case object([String: RawValueTree])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let value = try? container.decode(Bool.self) {
      self = .plain(.bool(value))
    } else if let value = try? container.decode(Int64.self) {
      self = .plain(.int(Int128(value)))
    } else if let value = try? container.decode(String.self) {
      self = .plain(.string(value))
    } else if let value = try? container.decode([RawValueTree].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: RawValueTree].self))
    }
  }

  var plist: PlistValue {
    switch self {
    case .plain(let value): return value
    case .array(let elements): return .array(elements.map(\.plist))
    case .object(let fields):
      if fields.count == 1, let (key, value) = fields.first, let tagged = Self.tagged(key, value) { return tagged }
      return .dict(fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value.plist) })
    }
  }

  private static func tagged(_ key: String, _ value: RawValueTree) -> PlistValue? {
    switch (key, value) {
    case ("$uid", .plain(.int(let number))): .uid(UInt64(number))
    case ("$int", .plain(.string(let text))): Int128(text).map { .int($0) }
    case ("$real", .plain(.string(let text))): Double(text).map { .real($0) }
    case ("$data", .plain(.string(let text))): Data(base64Encoded: text).map { .data(Array($0)) }
    case ("$utf16", .array(let units)):
      .utf16(units.compactMap { if case .plain(.int(let unit)) = $0 { UInt16(unit) } else { nil } })
    default: nil
    }
  }

  var hasCodeUnits: Bool {
    switch self {
    case .plain: false
    case .array(let elements): elements.contains(where: \.hasCodeUnits)
    case .object(let fields): fields.keys.contains("$utf16") || fields.values.contains(where: \.hasCodeUnits)
    }
  }
}
