/// What is known about the names of Foundation's classes in archives, wherever objects are not built.
package enum FoundationClasses {
  /// Classes that an archive may hold without their being on a list: those of property lists, and three more that hold
  /// nothing but a text or some bytes.
  package static let alwaysKnown: Set<String> = [
    "NSArray", "NSMutableArray", "NSDictionary", "NSMutableDictionary", "NSString", "NSMutableString", "NSData",
    "NSMutableData", "NSNumber", "NSDate", "NSNull", "NSURL", "NSUUID",
  ]

  /// Further classes that the archived form of a class consists of: allowing it allows them.
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

  /// The class of the array that `NSValue` archives C arrays in.
  package static let rawArray = "_NSKeyedCoderOldStyleArray"

  /// What results of regular expressions are archived as.
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
