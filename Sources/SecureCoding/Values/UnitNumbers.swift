import Foundation

/// The numbers by which Apple's formatters know a unit: those of `UAMeasureUnit` in ICU, which every system with
/// measurements has.
enum UnitNumbers {
  /// The number of one of Foundation's units; -1 for all others, which are formatted with their own symbol.
  static func number(of unit: Dimension) -> Int {
    guard let known = numbers[Key(unit)], known.unit == unit else { return -1 }
    return known.number
  }

  private struct Key: Hashable {
    let type: ObjectIdentifier
    let symbol: String

    init(_ unit: Dimension) { (type, symbol) = (ObjectIdentifier(Swift.type(of: unit)), unit.symbol) }
  }

  private static let numbers: [Key: (unit: Dimension, number: Int)] = {
    var numbers: [Key: (unit: Dimension, number: Int)] = [:]
    for (kind, units) in kinds {
      for (index, unit) in units.enumerated() {
        if let unit { numbers[Key(unit)] = (unit, kind << 8 + index) }
      }
    }
    return numbers
  }()

  /// For each kind, its units by their places in the kind; nil is one that Foundation lacks.
  private static let kinds: [(Int, [Dimension?])] = [
    (0, [UnitAcceleration.gravity, UnitAcceleration.metersPerSecondSquared]),
    (
      1,
      [
        UnitAngle.degrees, UnitAngle.arcMinutes, UnitAngle.arcSeconds, UnitAngle.radians, UnitAngle.revolutions,
      ]
    ),
    (
      2,
      [
        UnitArea.squareMeters, UnitArea.squareKilometers, UnitArea.squareFeet, UnitArea.squareMiles, UnitArea.acres,
        UnitArea.hectares, UnitArea.squareCentimeters, UnitArea.squareInches, UnitArea.squareYards,
      ]
    ),
    (
      4,
      [
        nil, nil, nil, nil, UnitDuration.hours, UnitDuration.minutes, UnitDuration.seconds, UnitDuration.milliseconds,
        UnitDuration.microseconds, UnitDuration.nanoseconds,
      ]
    ),
    (
      5,
      [
        UnitLength.meters, UnitLength.centimeters, UnitLength.kilometers, UnitLength.millimeters,
        UnitLength.picometers, UnitLength.feet, UnitLength.inches, UnitLength.miles, UnitLength.yards,
        UnitLength.lightyears, UnitLength.decimeters, UnitLength.micrometers, UnitLength.nanometers,
        UnitLength.nauticalMiles, UnitLength.fathoms, UnitLength.furlongs, UnitLength.astronomicalUnits,
        UnitLength.parsecs, UnitLength.scandinavianMiles,
      ]
    ),
    (
      6,
      [
        UnitMass.grams, UnitMass.kilograms, UnitMass.ounces, UnitMass.pounds, UnitMass.stones, UnitMass.micrograms,
        UnitMass.milligrams, UnitMass.metricTons, UnitMass.shortTons, UnitMass.carats, UnitMass.ouncesTroy,
      ]
    ),
    (
      7,
      [
        UnitPower.watts, UnitPower.kilowatts, UnitPower.horsepower, UnitPower.milliwatts, UnitPower.megawatts,
        UnitPower.gigawatts,
      ]
    ),
    (
      8,
      [
        UnitPressure.hectopascals, UnitPressure.inchesOfMercury, UnitPressure.millibars,
        UnitPressure.millimetersOfMercury, UnitPressure.poundsForcePerSquareInch,
      ]
    ),
    (
      9,
      [UnitSpeed.metersPerSecond, UnitSpeed.kilometersPerHour, UnitSpeed.milesPerHour, UnitSpeed.knots]
    ),
    (10, [UnitTemperature.celsius, UnitTemperature.fahrenheit, UnitTemperature.kelvin]),
    (
      11,
      [
        UnitVolume.liters, UnitVolume.cubicKilometers, UnitVolume.cubicMiles, UnitVolume.milliliters,
        UnitVolume.centiliters, UnitVolume.deciliters, nil, UnitVolume.megaliters, UnitVolume.cubicCentimeters,
        UnitVolume.cubicMeters, UnitVolume.cubicInches, UnitVolume.cubicFeet, UnitVolume.cubicYards,
        UnitVolume.acreFeet, UnitVolume.bushels, UnitVolume.teaspoons, UnitVolume.tablespoons, UnitVolume.fluidOunces,
        UnitVolume.cups, UnitVolume.pints, UnitVolume.quarts, UnitVolume.gallons, UnitVolume.metricCups,
      ]
    ),
    (
      12,
      [
        UnitEnergy.calories, nil, UnitEnergy.joules, UnitEnergy.kilocalories, UnitEnergy.kilojoules,
        UnitEnergy.kilowattHours,
      ]
    ),
    (
      15,
      [
        UnitElectricCurrent.amperes, UnitElectricCurrent.milliamperes, UnitElectricResistance.ohms,
        UnitElectricPotentialDifference.volts,
      ]
    ),
    (
      16,
      [UnitFrequency.hertz, UnitFrequency.kilohertz, UnitFrequency.megahertz, UnitFrequency.gigahertz]
    ),
    (17, [UnitIlluminance.lux]),
  ]
}
