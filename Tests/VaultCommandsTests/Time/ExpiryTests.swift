import Ground
import KeyedArchives
import Testing

@testable import VaultCommands

@Suite struct ExpiryTests {
  // 2026-08-01T00:00:00Z
  private let now: Int64 = 1_785_542_400_000

  @Test(arguments: [
    ("2027-01-31", "2027-01-31T00:00:00Z"), ("2027-01-31T12:00Z", "2027-01-31T12:00:00Z"),
    ("2027-01-31T12:34:56Z", "2027-01-31T12:34:56Z"), ("2028-02-29", "2028-02-29T00:00:00Z"),
    ("2027-01-31T12:00+02:00", "2027-01-31T10:00:00Z"), ("2027-01-31T12:00:00.9Z", "2027-01-31T12:00:00Z"),
    ("30d", "2026-08-31T00:00:00Z"), ("12h", "2026-08-01T12:00:00Z"), ("15m", "2026-08-01T00:15:00Z"),
    ("0m", "2026-08-01T00:00:00Z"), ("1970-01-01", "1970-01-01T00:00:00Z"), ("9999-12-31", "9999-12-31T00:00:00Z"),
  ])
  func `a time or a length of time is read`(text: String, meaning: String) throws {
    guard case .at(let instant) = Expiry(text, now: now) else { throw Failure.interrupted }
    #expect(UTCDate.text(instant) == meaning)
  }

  @Test func `never means no expiry`() { #expect(Expiry("never", now: now) == .never) }

  @Test(arguments: [
    "", "d", "30", "-1d", "+1d", "1.5h", "30D", "2027-02-29", "2027-13-01", "2027-1-1", "2027-01-31T", "2027-01-31T12Z",
    "2027-01-31T24:00Z", "2027-01-31T12:60Z", "2027-01-31T12:00", "2027-01-31T12:00+2:00", "2027-01-31 12:00Z",
    "1969-12-31", "10000-01-01", "99999999999999999999d", "9223372036854775807m", "3000000d", "tomorrow", "٣d",
  ])
  func `other text is refused`(text: String) { #expect(Expiry(text, now: now) == nil) }

  @Test func `every day of four centuries is read back`() throws {
    var instant: Int64 = 0
    while instant < 146_097 * UTCDate.millisecondsPerDay {
      let text = UTCDate.text(instant)
      #expect(Expiry(String(text.prefix(10)), now: now) == .at(instant))
      instant += 97 * UTCDate.millisecondsPerDay
    }
  }

}
