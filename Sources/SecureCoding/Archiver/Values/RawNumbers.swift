import Foundation
import KeyedArchives

/// An NSValue that holds a C number or an array of C numbers: its type under `$0`, its numbers under `$1`.
struct RawNumbers {
  private let type: String
  private let value: NSValue
  private let fields: FieldsWriter

  init(_ type: String, _ value: NSValue, _ fields: FieldsWriter) {
    self.type = type
    self.value = value
    self.fields = fields
  }

  func write() throws(ArchiveError) {
    guard let (code, count) = RawValue.parse(type), let size = RawValue.sizes[code] else {
      throw fields.refused(.notWritten)
    }
    var bytes = [UInt8](repeating: 0, count: size * (count ?? 1))
    unsafe bytes.withUnsafeMutableBytes { buffer in
      // The buffer is never empty: no count is zero, and each number has at least one byte.
      if let start = buffer.baseAddress { unsafe value.getValue(start) }
    }
    fields.object("$0", type)
    guard count != nil else {
      return fields.archiver.set("$1") { () throws(ArchiveError) in
        try fields.archiver.number(ofCode: code, bytes[...])
      }
    }
    fields.object("$1", OldStyleArray(code: code, size: size, bytes: bytes))
  }
}

/// The object in which `NSValue` archives an array of numbers.
final class OldStyleArray: NSObject {
  let code: Character
  let size: Int
  let bytes: [UInt8]

  init(code: Character, size: Int, bytes: [UInt8]) {
    self.code = code
    self.size = size
    self.bytes = bytes
  }

  func write(_ fields: FieldsWriter) {
    fields.integer("NS.count", bytes.count / size)
    fields.integer("NS.size", size)
    fields.integer("NS.type", Int(code.asciiValue ?? 0))
    for index in 0..<bytes.count / size {
      fields.archiver.set("$\(index)") { () throws(ArchiveError) in
        try fields.archiver.number(ofCode: code, bytes[(index * size)...])
      }
    }
  }
}

extension SecureArchiver {
  /// Adds the C number at an address.
  func number(ofType type: UnsafePointer<Int8>, at address: UnsafeRawPointer) throws(ArchiveError) -> UInt32 {
    let text = unsafe String(cString: type)
    if text == "B" { return builder.add(bool: unsafe address.load(as: Bool.self)) }
    guard let (code, count) = RawValue.parse(text), count == nil, let size = RawValue.sizes[code] else {
      throw .unsupportedCall("encodeValue(ofObjCType:at:) of this type", at: here)
    }
    return try number(ofCode: code, unsafe Array(UnsafeRawBufferPointer(start: address, count: size))[...])
  }

  /// Adds a C number from its little-endian bytes.
  func number(ofCode code: Character, _ bytes: ArraySlice<UInt8>) throws(ArchiveError) -> UInt32 {
    func take<T: FixedWidthInteger>(_: T.Type) -> T {
      bytes.prefix(T.bitWidth / 8).reversed().reduce(0) { $0 << 8 | T($1) }
    }
    return switch code {
    case "c": builder.add(integer: Int64(Int8(bitPattern: take(UInt8.self))))
    case "C": builder.add(integer: Int64(take(UInt8.self)))
    case "s": builder.add(integer: Int64(Int16(bitPattern: take(UInt16.self))))
    case "S": builder.add(integer: Int64(take(UInt16.self)))
    case "i": builder.add(integer: Int64(Int32(bitPattern: take(UInt32.self))))
    case "I": builder.add(integer: Int64(take(UInt32.self)))
    case "q": builder.add(integer: Int64(bitPattern: take(UInt64.self)))
    case "Q": builder.add(unsigned: take(UInt64.self))
    case "f": builder.add(real: Float(bitPattern: take(UInt32.self)))
    default: builder.add(real: Double(bitPattern: take(UInt64.self)))
    }
  }
}
