import Foundation
import SecureCoding

/// The classes that the vectors name.
enum VectorClasses {
  static func named(_ name: String) -> AnyClass? { byName[name] }

  private static let byName: [String: AnyClass] = [
    "NSObject": NSObject.self, "NSString": NSString.self, "NSNumber": NSNumber.self, "NSData": NSData.self,
    "NSDate": NSDate.self, "NSArray": NSArray.self, "NSMutableArray": NSMutableArray.self,
    "NSDictionary": NSDictionary.self, "NSSet": NSSet.self, "NSCountedSet": NSCountedSet.self,
    "NSOrderedSet": NSOrderedSet.self, "NSURL": NSURL.self, "NSUUID": NSUUID.self, "NSError": NSError.self,
    "NSValue": NSValue.self, "NSDecimalNumber": NSDecimalNumber.self, "NSIndexSet": NSIndexSet.self,
    "NSIndexPath": NSIndexPath.self, "NSRegularExpression": NSRegularExpression.self,
    "NSCharacterSet": NSCharacterSet.self, "NSTextCheckingResult": NSTextCheckingResult.self,
    "NSDateInterval": NSDateInterval.self, "NSAttributedString": NSAttributedString.self,
    "NSDateComponents": NSDateComponents.self, "NSTimeZone": NSTimeZone.self, "NSCalendar": NSCalendar.self,
    "NSNotification": NSNotification.self, "NSMeasurement": NSMeasurement.self, "NSUnitLength": UnitLength.self,
    "NSLocale": NSLocale.self, "NSNull": NSNull.self, "NSPersonNameComponents": NSPersonNameComponents.self,
    "NSUnitConverterLinear": UnitConverterLinear.self, "NSMutableSet": NSMutableSet.self,
    "NSMutableOrderedSet": NSMutableOrderedSet.self,
    "Box": Box.self, "Evil": Evil.self, "ListBox": ListBox.self, "AnyBox": AnyBox.self, "Insecure": Insecure.self,
    "Declined": Declined.self, "Subset": Subset.self, "Plain": Plain.self, "Address": Address.self,
    "Chain": Chain.self,
  ]
}

/// A class whose first field may be an `Evil`, and whose second field must be a string.
final class Box: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  required init?(coder: NSCoder) {
    _ = coder.decodeObject(of: [Evil.self], forKey: "a")
    _ = coder.decodeObject(of: [NSString.self], forKey: "b")
  }
  func encode(with coder: NSCoder) {}
}

final class Evil: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  required init?(coder: NSCoder) {}
  func encode(with coder: NSCoder) {}
}

/// A class whose field may be of any class that the enclosing call allows.
final class Heir: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let any: Any?
  required init?(coder: NSCoder) { any = coder.decodeObject(forKey: "any") }
  func encode(with coder: NSCoder) {}
}

final class ListBox: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  required init?(coder: NSCoder) {
    guard coder.decodeArrayOfObjects(ofClass: NSString.self, forKey: "list") != nil else { return nil }
  }
  func encode(with coder: NSCoder) {}
}

final class AnyBox: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  required init?(coder: NSCoder) { _ = coder.decodeObject(of: [NSObject.self], forKey: "any") }
  func encode(with coder: NSCoder) {}
}

/// A class that refers to another object of the same class.
final class Chain: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let next: Chain?
  required init?(coder: NSCoder) { next = coder.decodeObject(of: Chain.self, forKey: "next") }
  func encode(with coder: NSCoder) {}
}

final class Insecure: NSObject, NSCoding {
  let text: String?
  required init?(coder: NSCoder) { text = coder.decodeObject(forKey: "text") as? String }
  func encode(with coder: NSCoder) {}
}

final class Declined: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { false }
  required init?(coder: NSCoder) {}
  func encode(with coder: NSCoder) {}
}

final class Subset: NSMutableArray {}

final class Plain: NSObject {}
