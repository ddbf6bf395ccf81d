import Foundation
import SecureCoding

/// Fuzzes the unarchiver with every Foundation class that it builds. Each built object is archived, read and archived
/// again.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  let data = Data(UnsafeBufferPointer(start: start, count: size))
  guard let unarchiver = try? SecureUnarchiver(reading: data, allowing: allowed) else { return 0 }
  for key in unarchiver.topKeys {
    let object = unarchiver.decodeObject(of: classes, forKey: key)
    // Built objects must be usable. Comparing one touches everything inside it.
    if let object = object as? NSObject, !(object is NSError) { _ = object.isEqual(object) }
    if let object { checkWriting(object) }
  }
  return 0
}

/// An object is either refused, or its archive can be read back and gives the same bytes again.
private func checkWriting(_ object: Any) {
  guard let first = try? SecureArchiver.archivedData(withRootObject: object) else { return }
  do {
    guard let read = try SecureUnarchiver.unarchivedObject(ofClasses: classes, from: first) else { return }
    let second = try SecureArchiver.archivedData(withRootObject: read)
    guard first == second else {
      fatalError("other bytes: \(first.base64EncodedString()) \(second.base64EncodedString())")
    }
  } catch {
    fatalError("written and not readable: \(error) \(first.base64EncodedString())")
  }
}

/// Created once, because adding all these classes takes longer than decoding most archives.
private let allowed = (try? AllowedClasses(classes)) ?? AllowedClasses()

private let classes: [AnyClass] = [
  NSString.self, NSNumber.self, NSData.self, NSDate.self, NSArray.self, NSDictionary.self, NSSet.self,
  NSCountedSet.self, NSOrderedSet.self, NSNull.self, NSURL.self, NSUUID.self, NSValue.self, NSDecimalNumber.self,
  NSError.self, NSLocale.self, NSTimeZone.self, NSCalendar.self, NSDateComponents.self, NSDateInterval.self,
  NSIndexSet.self, NSIndexPath.self, NSAttributedString.self, NSCharacterSet.self, NSRegularExpression.self,
  NSTextCheckingResult.self, NSMeasurement.self, NSPersonNameComponents.self, NSNotification.self, Unit.self,
  UnitLength.self,
]
