import Foundation
import SecureCoding

/// Fuzzes the unarchiver with a caller's classes, which use every method of a coder.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  let data = Data(UnsafeBufferPointer(start: start, count: size))
  guard let unarchiver = try? SecureUnarchiver(reading: data, allowing: allowed) else { return 0 }
  for key in unarchiver.topKeys {
    _ = unarchiver.decodeObject(of: [Everything.self, Other.self, NSArray.self, NSString.self], forKey: key)
  }
  _ = unarchiver.error
  return 0
}

private let allowed: AllowedClasses = {
  var allowed = (try? AllowedClasses([NSSet.self])) ?? AllowedClasses()
  try? allowed.allow(Everything.self, named: "TestDummy", "Person", "Box")
  try? allowed.allow(Other.self, named: "Address", "TestDummyExtended")
  return allowed
}()

private final class Other: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  required init?(coder: NSCoder) {
    guard coder.decodeObject(of: NSString.self, forKey: "city") != nil else { return nil }
  }
  func encode(with coder: NSCoder) {}
}

private final class Everything: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  required init?(coder: NSCoder) {
    for key in ["name", "age", "address", "foo", "a", "b", "list", "next", "data", "typeInt", "url"] {
      guard coder.containsValue(forKey: key) else { continue }
      switch key {
      case "age": _ = coder.decodeInteger(forKey: key)
      case "address": _ = coder.decodeObject(of: Other.self, forKey: key)
      case "next": _ = coder.decodeObject(of: Everything.self, forKey: key)
      case "list":
        _ = coder.decodeArrayOfObjects(ofClass: NSString.self, forKey: key)
        _ = coder.decodeDictionary(withKeyClass: NSString.self, objectClass: NSNumber.self, forKey: key)
      case "data":
        var count = 0
        let bytes = coder.decodeBytes(forKey: key, returnedLength: &count)
        if let bytes, count > 0 { _ = bytes[count - 1] }
      case "url": _ = coder.decodeObject(of: NSURL.self, forKey: key)
      case "a": _ = coder.decodeRect(forKey: key)
      case "b": _ = coder.decodePropertyList(forKey: key)
      default: _ = coder.decodeObject(forKey: key)
      }
    }
    _ = coder.decodeObject()
    var number: Int32 = 0
    coder.decodeValue(ofObjCType: "i", at: &number)
    _ = (coder.decodeBool(forKey: "flag"), coder.decodeFloat(forKey: "f"), coder.decodeDouble(forKey: "d"))
  }
  func encode(with coder: NSCoder) {}
}
