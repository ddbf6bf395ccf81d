import Foundation
import KeyedArchives

extension ValueClass {
  /// Measurements with a unit of any Foundation dimension.
  static let measurements =
    [
      ValueClass("NSMeasurement", NSMeasurement.self) { fields throws(ArchiveError) in
        let value = try fields.real("NS.value")
        guard let unit = try fields.objectIfPresent("NS.unit", of: [Unit.self] + dimensions) as? Unit else {
          throw fields.missing("NS.unit")
        }
        return NSMeasurement(doubleValue: value, unit: unit)
      },
      ValueClass("NSUnit", Unit.self) { fields throws(ArchiveError) in Unit(symbol: try fields.text("NS.symbol")) },
      ValueClass("NSUnitConverterLinear", UnitConverterLinear.self) { fields throws(ArchiveError) in
        UnitConverterLinear(
          coefficient: try fields.real("NS.coefficient"), constant: try fields.realIfPresent("NS.constant") ?? 0)
      },
    ] + dimensions.map(unit)

  private static func unit(_ type: Dimension.Type) -> ValueClass {
    ValueClass("NS" + ClassNames.name(of: type), type) {
      fields throws(ArchiveError) in
      let symbol = try fields.text("NS.symbol")
      // Only linear converters have an archived form. Units with other converters are defined by Foundation alone.
      let converter = try fields.object("NS.converter", of: UnitConverterLinear.self)
      return type.init(symbol: symbol, converter: converter)
    }
  }

  static let dimensions: [Dimension.Type] = [
    UnitAcceleration.self, UnitAngle.self, UnitArea.self, UnitConcentrationMass.self, UnitDispersion.self,
    UnitDuration.self, UnitElectricCharge.self, UnitElectricCurrent.self, UnitElectricPotentialDifference.self,
    UnitElectricResistance.self, UnitEnergy.self, UnitFrequency.self, UnitIlluminance.self,
    UnitInformationStorage.self, UnitLength.self, UnitMass.self, UnitPower.self, UnitPressure.self, UnitSpeed.self,
    UnitTemperature.self, UnitVolume.self,
  ]
}

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
      // Without this, Apple's formatters take the unit for the first in the table of ICU, a multiple of gravity.
      fields.integer("NS.specifier", UnitNumbers.number(of: unit))
    }
  }
}
