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
