/// Names of Foundation's classes in archives, for code that does not build objects.
package enum FoundationClasses {
  /// Classes that an archive may hold without being on the list of allowed classes: the property-list classes, and
  /// three more that hold only a string or a few bytes.
  package static let alwaysKnown: Set<String> = [
    "NSArray", "NSMutableArray", "NSDictionary", "NSMutableDictionary", "NSString", "NSMutableString", "NSData",
    "NSMutableData", "NSNumber", "NSDate", "NSNull", "NSURL", "NSUUID",
  ]

  /// Other classes that appear in the archived form of a class. Allowing the class allows them too.
  package static func parts(of name: String) -> [String] {
    switch name {
    case "NSCalendar": ["NSTimeZone", "NSLocale"]
    case "NSDateComponents": ["NSCalendar", "NSTimeZone", "NSLocale"]
    case "NSMeasurement": dimensions + ["NSUnitConverterLinear", "NSUnit"]
    case "NSValue": [rawArray]
    case _ where checkingResults.contains(name): ["NSRegularExpression", "NSValue"]
    case _ where dimensions.contains(name): ["NSUnitConverterLinear"]
    default: []
    }
  }

  /// The class of the array in which `NSValue` archives C arrays.
  package static let rawArray = "_NSKeyedCoderOldStyleArray"

  /// The classes in which results of regular expressions are archived.
  package static let checkingResults = [
    "NSTextCheckingResult", "NSSimpleRegularExpressionCheckingResult", "NSExtendedRegularExpressionCheckingResult",
    "NSComplexRegularExpressionCheckingResult",
  ]

  private static let dimensions = [
    "Acceleration", "Angle", "Area", "ConcentrationMass", "Dispersion", "Duration", "ElectricCharge",
    "ElectricCurrent", "ElectricPotentialDifference", "ElectricResistance", "Energy", "Frequency", "Illuminance",
    "InformationStorage", "Length", "Mass", "Power", "Pressure", "Speed", "Temperature", "Volume",
  ].map { "NSUnit" + $0 }
}
