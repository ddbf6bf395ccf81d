/// A calendar month, in UTC.
struct AuditMonth: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Months since January of the year 0.
  let number: Int

  /// December 9999: the names of batches have four digits for the year.
  static let limit = 9_999 * 12 + 11

  init(number: Int) { self.number = number }

  init(_ time: Timestamp) {
    let text = UTCDate.text(Int64(clamping: min(time.milliseconds, 253_402_300_799_000)))
    self = AuditMonth(parsing: text.prefix(7)) ?? AuditMonth(number: AuditMonth.limit)
  }

  /// Reads `YYYY-MM`; `nil` for anything else.
  init?(parsing text: Substring) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.utf8.count) == [4, 2], let year = Int(digits: parts[0]), let month = Int(digits: parts[1]),
      (1...12).contains(month)
    else { return nil }
    self.init(number: year * 12 + month - 1)
  }

  var description: String {
    AuditNames.digits(UInt64(number / 12), 4) + "-" + AuditNames.digits(UInt64(number % 12 + 1), 2)
  }

  func earlier(by count: Int) -> AuditMonth { AuditMonth(number: max(0, number - min(count, number))) }

  static func < (left: AuditMonth, right: AuditMonth) -> Bool { left.number < right.number }
}

struct AuditNames {
  struct Batch: Sendable, Hashable {
    let month: AuditMonth
    let sequence: UInt64

    var name: String { "\(month)/\(AuditNames.digits(sequence, 12))" }
  }

  /// Sorted by number, then by month.
  private(set) var batches: [Batch] = []
  /// The number of items that do not belong to the record.
  private(set) var strangeCount = 0

  /// Reads the names in `list`; no value is opened.
  init(_ list: ItemList, unless isLeftOut: (Batch) -> Bool = { _ in false }) throws(VaultError) {
    while let item = try list.nextItem() {
      let name = item.name.description
      if let batch = AuditNames.batch(name) {
        if !isLeftOut(batch) { batches.append(batch) }
      } else if name != AuditHead.name, name != AuditHead.anchorName {
        strangeCount += 1
      }
    }
    strangeCount += list.strangeRows.count
    batches.sort { ($0.sequence, $0.month) < ($1.sequence, $1.month) }
  }

  /// Reads `YYYY-MM/NNNNNNNNNNNN`; `nil` for anything else.
  static func batch(_ name: String) -> Batch? {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.map(\.utf8.count) == [7, 12], let month = AuditMonth(parsing: parts[0]),
      let sequence = UInt64(digits: parts[1]), sequence > 0
    else { return nil }
    return Batch(month: month, sequence: sequence)
  }

  static func digits(_ number: UInt64, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
  }
}
