import Foundation

/// The types that Foundation converts to objects and back.
///
/// `as AnyObject`, and a cast from `Any`, look for a conversion while the program runs. With `--static-swift-stdlib`, the
/// linker leaves out each file of Foundation that nothing refers to, and with it the conversions in that file: an array
/// then could not be archived. This list refers to all of them.
enum BridgedTypes {
  private static let all: [any (_ObjectiveCBridgeable & SendableMetatype).Type] = [
    [Any].self, [AnyHashable: Any].self, Set<AnyHashable>.self, AnyHashable.self, String.self, Substring.self,
    Bool.self, Double.self, Float.self, Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self,
    UInt16.self, UInt32.self, UInt64.self, AffineTransform.self, Calendar.self, CharacterSet.self, CocoaError.self,
    Data.self, Date.self, DateComponents.self, DateInterval.self, Decimal.self, IndexPath.self, IndexSet.self,
    Locale.self, Measurement<Unit>.self, NSAttributedString.Key.self, Notification.self, PersonNameComponents.self,
    TimeZone.self, URL.self, URLComponents.self, URLQueryItem.self, UUID.self,
  ]

  /// Keeps the compiler from removing the list. Each coder calls this when it is created.
  static func keep() { withExtendedLifetime(all) {} }
}
