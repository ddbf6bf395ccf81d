import Foundation

/// A property list for tests, valid or not, that can be written in both formats.
package indirect enum PlistValue: Equatable, Sendable {
  case bool(Bool)
  case int(Int128)
  case real(Double)
  case single(Float)
  case date(Double)
  case string(String)
  case utf16([UInt16])
  case data([UInt8])
  case uid(UInt64)
  case array([PlistValue])
  case dict([(String, PlistValue)])

  package static func == (one: PlistValue, other: PlistValue) -> Bool { one.binary() == other.binary() }

  /// A keyed archive of `objects`, which follow `$null`. By default, `root` refers to object 1.
  package static func archive(_ objects: [PlistValue], top: [(String, PlistValue)] = [("root", .uid(1))]) -> PlistValue
  {
    .dict([
      ("$version", .int(100_000)), ("$archiver", .string("NSKeyedArchiver")), ("$top", .dict(top)),
      ("$objects", .array([.string("$null")] + objects)),
    ])
  }

  /// The description of a class.
  package static func describe(_ name: String, _ ancestors: String...) -> PlistValue {
    .dict([
      ("$classname", .string(name)), ("$classes", .array(([name] + ancestors + ["NSObject"]).map { .string($0) })),
    ])
  }
}

extension PlistValue {
  package func binary() -> [UInt8] {
    var writer = BinaryPlistWriter()
    return writer.write(self)
  }

  package func xml() -> [UInt8] {
    Array(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">\(element)</plist>

      """.utf8)
  }

  private var element: String {
    func escaped(_ text: String) -> String {
      text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
    return switch self {
    case .bool(let value): value ? "<true/>" : "<false/>"
    case .int(let value): "<integer>\(value)</integer>"
    case .real(let value): "<real>\(value)</real>"
    case .single(let value): "<real>\(Double(value))</real>"
    case .date: "<date>2001-01-01T00:00:00Z</date>"
    case .string(let text): "<string>\(escaped(text))</string>"
    case .utf16(let units): "<string>\(escaped(String(decoding: units, as: UTF16.self)))</string>"
    case .data(let bytes): "<data>\n\(Data(bytes).base64EncodedString())\n</data>"
    case .uid(let number): "<dict><key>CF$UID</key><integer>\(number)</integer></dict>"
    case .array(let elements): "<array>\(elements.map(\.element).joined())</array>"
    case .dict(let pairs):
      "<dict>\(pairs.map { "<key>\(escaped($0.0))</key>\($0.1.element)" }.joined())</dict>"
    }
  }
}

/// Writes binary property lists without recursion. Only equal strings are shared.
private struct BinaryPlistWriter {
  private var objects: [[UInt8]] = []
  private var strings: [[UInt16]: Int] = [:]

  mutating func write(_ value: PlistValue) -> [UInt8] {
    var pending: [(Int, PlistValue)] = []
    var containers: [(number: Int, marker: UInt8, count: Int, children: [Int])] = []
    let top = place(value, &pending)
    while let (number, value) = pending.popLast() {
      switch value {
      case .array(let elements):
        containers.append((number, 0xA0, elements.count, elements.map { place($0, &pending) }))
      case .dict(let pairs):
        let keys = pairs.map { place(.string($0.0), &pending) }
        containers.append((number, 0xD0, pairs.count, keys + pairs.map { place($0.1, &pending) }))
      default: break
      }
    }
    let referenceSize = Self.size(objects.count)
    for (number, marker, count, children) in containers {
      objects[number] = head(marker, count) + children.flatMap { Self.number(UInt64($0), referenceSize) }
    }
    var bytes = Array("bplist00".utf8)
    var offsets: [Int] = []
    for object in objects {
      offsets.append(bytes.count)
      bytes += object
    }
    let (table, offsetSize) = (bytes.count, Self.size(bytes.count))
    for offset in offsets { bytes += Self.number(UInt64(offset), offsetSize) }
    bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
    return bytes + [objects.count, top, table].flatMap { Self.number(UInt64($0), 8) }
  }

  private mutating func place(_ value: PlistValue, _ pending: inout [(Int, PlistValue)]) -> Int {
    switch value {
    case .array, .dict:
      pending.append((objects.count, value))
      return add([])
    case .bool(let flag): return add([flag ? 9 : 8])
    case .int(let number): return add(integer(number))
    case .real(let number): return add([0x23] + Self.number(number.bitPattern, 8))
    case .single(let number): return add([0x22] + Self.number(UInt64(number.bitPattern), 4))
    case .date(let number): return add([0x33] + Self.number(number.bitPattern, 8))
    case .data(let bytes): return add(head(0x40, bytes.count) + bytes)
    case .uid(let number):
      let size = number < 256 ? 1 : number < 65_536 ? 2 : number < 1 << 32 ? 4 : 8
      return add([0x80 + UInt8(size - 1)] + Self.number(number, size))
    case .string(let text): return addText(Array(text.utf16))
    case .utf16(let units): return addText(units)
    }
  }

  private mutating func add(_ bytes: [UInt8]) -> Int {
    objects.append(bytes)
    return objects.count - 1
  }

  private mutating func addText(_ units: [UInt16]) -> Int {
    if let present = strings[units] { return present }
    let isASCII = units.allSatisfy { $0 < 0x80 }
    let body = isASCII ? units.map { UInt8($0) } : units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    strings[units] = add(head(isASCII ? 0x50 : 0x60, units.count) + body)
    return objects.count - 1
  }

  private func head(_ marker: UInt8, _ count: Int) -> [UInt8] {
    count < 15 ? [marker | UInt8(count)] : [marker | 0x0F] + integer(Int128(count))
  }

  private func integer(_ value: Int128) -> [UInt8] {
    switch value {
    case 0..<256: [0x10, UInt8(value)]
    case 256..<65_536: [0x11] + Self.number(UInt64(value), 2)
    case 65_536..<(1 << 32): [0x12] + Self.number(UInt64(value), 4)
    case Int128(Int64.min)...Int128(Int64.max): [0x13] + Self.number(UInt64(bitPattern: Int64(value)), 8)
    default:
      [0x14] + Self.number(UInt64(truncatingIfNeeded: value >> 64), 8)
        + Self.number(UInt64(truncatingIfNeeded: value), 8)
    }
  }

  private static func size(_ count: Int) -> Int { count < 256 ? 1 : count < 65_536 ? 2 : count < 1 << 24 ? 3 : 4 }
  private static func number(_ value: UInt64, _ size: Int) -> [UInt8] {
    (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
  }
}
