import Foundation
import KeyedArchives

extension SecureUnarchiver {
  /// The next object without a key.
  func nextObject(_ classes: [AnyClass]?) -> Any? {
    attempt(nil) { () throws(ArchiveError) -> Any? in
      let site = try site(of: classes)
      guard let (position, step) = nextNode() else { return nil }
      path.append(step)
      let object = try value(position, at: site)
      path.removeLast()
      return object
    }
  }

  /// The next data without a key, inline or as an object.
  func nextData() -> Data? {
    (nextObject([NSData.self]) as? NSData).map { Data(referencing: $0) }
  }

  /// Writes the next number without a key to `target`, in the width of `type`. For other types, and after a failure,
  /// nothing is written.
  func nextValue(_ type: UnsafePointer<Int8>, into target: UnsafeMutableRawPointer) {
    let code = unsafe UInt8(bitPattern: type[0])
    guard unsafe code != 0 && type[1] == 0 else {
      return fail(.unsupportedCall("decodeValue(ofObjCType:at:) of more than one value", at: here))
    }
    switch code {
    case UInt8(ascii: "c"): unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: Int8.self))
    case UInt8(ascii: "C"): unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: UInt8.self))
    case UInt8(ascii: "s"): unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: Int16.self))
    case UInt8(ascii: "S"): unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: UInt16.self))
    case UInt8(ascii: "i"), UInt8(ascii: "l"):
      unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: Int32.self))
    case UInt8(ascii: "I"), UInt8(ascii: "L"):
      unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: UInt32.self))
    case UInt8(ascii: "q"): unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: Int64.self))
    case UInt8(ascii: "Q"): unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: UInt64.self))
    case UInt8(ascii: "f"): unsafe next(Numbers.float, into: target.assumingMemoryBound(to: Float.self))
    case UInt8(ascii: "d"): unsafe next(Numbers.double, into: target.assumingMemoryBound(to: Double.self))
    case UInt8(ascii: "B"): unsafe next(Numbers.bool, into: target.assumingMemoryBound(to: Bool.self))
    default: fail(.unsupportedCall("decodeValue(ofObjCType:at:) of this type", at: here))
    }
  }

  private func next<T>(
    _ read: (Node, PropertyList) throws(Numbers.Mismatch) -> T, into target: UnsafeMutablePointer<T>
  ) {
    let value = attempt(nil) { () throws(ArchiveError) -> T? in
      guard let (position, step) = nextNode() else { return nil }
      return try number(position, step, read)
    }
    if let value { unsafe target.pointee = value }
  }

  /// The position of the next value without a key; nil if there are no more.
  private func nextNode() -> (position: Int, step: ArchivePath.Step)? {
    let last = frames.count - 1
    let key = "$\(frames[last].unkeyed)"
    guard let position = node(forRawKey: key) else { return nil }
    frames[last].unkeyed += 1
    return (position, .key(key))
  }
}
