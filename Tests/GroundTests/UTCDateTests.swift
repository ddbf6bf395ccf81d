import Ground
import Testing

@Suite struct UTCDateTests {
  @Test func `times before 1970 are shown`() { #expect(UTCDate.text(-1) == "1969-12-31T23:59:59Z") }

  @Test(arguments: [
    (0.0, "2001-01-01T00:00:00Z"), (-978_307_200, "1970-01-01T00:00:00Z"), (0.25, "2001-01-01T00:00:00.25Z"),
    (-0.5, "2000-12-31T23:59:59.5Z"), (1_210_536_312, "2039-05-12T20:05:12Z"), (-1e300, "-1e+300"),
    (Double.infinity, "inf"), (Double.nan, "nan"),
  ])
  func `seconds since 2001 are shown as a time`(seconds: Double, text: String) {
    #expect(UTCDate.text(secondsSince2001: seconds) == text)
  }

  @Test func `the text of a date reads back as exactly the same number`() {
    var random = SystemRandomNumberGenerator()
    var numbers = [
      0, -0.1, 0.1, 1e-9, -1e-9, -1e-300, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, 1.5e11, -63_113_904_000.1,
    ]
    for _ in 0..<2_000 {
      numbers.append(Double.random(in: -2e10...2e10, using: &random))
      numbers.append(Double.random(in: -2...2, using: &random))
    }
    for number in numbers {
      let text = UTCDate.text(secondsSince2001: number)
      #expect(UTCDate.moment(text)?.secondsSince2001 == number, "\(number) as \(text)")
    }
  }

  @Test(arguments: [
    "", "2027-01-31T", "2027-01-31T12Z", "2027-01-31T12:00", "2027-01-31T12:00:00.Z", "2027-01-31T12:00.5Z",
    "2027-01-31T12:00:00.5x", "2027-02-29", "2027-01-31T12:00+24:00", "+027-01-31", "2027-01-31T12:00:00.٣Z",
  ])
  func `text that is not a date is refused`(text: String) { #expect(UTCDate.moment(text) == nil) }
}
