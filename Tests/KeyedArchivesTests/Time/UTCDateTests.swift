import KeyedArchives
import Testing

@Suite struct UTCDateTests {
  @Test func `times before 1970 are shown too`() { #expect(UTCDate.text(-1) == "1969-12-31T23:59:59Z") }

  @Test(arguments: [
    (0.0, "2001-01-01T00:00:00Z"), (-978_307_200, "1970-01-01T00:00:00Z"), (0.25, "2001-01-01T00:00:00.25Z"),
    (-0.5, "2000-12-31T23:59:59.5Z"), (1_210_536_312, "2039-05-12T20:05:12Z"), (-1e300, "-1e+300"),
    (Double.infinity, "inf"), (Double.nan, "nan"),
  ])
  func `seconds since 2001 are shown as a time`(seconds: Double, text: String) {
    #expect(UTCDate.text(secondsSince2001: seconds) == text)
  }
}
