import Foundation
import KeyedArchives

extension ValueWriter {
  /// Measurements and their units. Units with a converter that is not linear are Foundation's own and have no archived
  /// form.
  static let measurements =
    [
      ValueWriter(NSMeasurement.self, "NSMeasurement") { measurement, fields throws(ArchiveError) in
        fields.real("NS.value", measurement.doubleValue)
        fields.object("NS.unit", measurement.unit)
      },
      ValueWriter(Unit.self, "NSUnit") { unit, fields throws(ArchiveError) in
        // A dimension that is not listed below is the caller's own.
        guard Swift.type(of: unit) == Unit.self else { throw fields.refused(.notWritten) }
        fields.object("NS.symbol", unit.symbol)
      },
      ValueWriter(UnitConverterLinear.self, "NSUnitConverterLinear", "NSUnitConverter") {
        converter, fields throws(ArchiveError) in
        fields.real("NS.coefficient", converter.coefficient)
        fields.real("NS.constant", converter.constant)
      },
    ] + ValueClass.dimensions.map(dimension)

  private static func dimension<Unit: Dimension>(_ type: Unit.Type) -> ValueWriter {
    ValueWriter(type, "NS" + ClassNames.name(of: type), "NSDimension", "NSUnit") { unit, fields throws(ArchiveError) in
      guard unit.converter is UnitConverterLinear else { throw fields.refused(.notWritten) }
      fields.object("NS.symbol", unit.symbol)
      fields.object("NS.converter", unit.converter)
    }
  }
}
