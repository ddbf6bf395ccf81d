public import Foundation
public import Vault

extension Timestamp {
  /// The millisecond that is nearest to `date`; the first or the last one that there is, if the date lies outside.
  public init(_ date: Date) {
    let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
    self.init(milliseconds: milliseconds > 0 ? UInt64(exactly: milliseconds) ?? .max : 0)
  }
}

extension Date {
  /// The moment of a timestamp.
  public init(_ timestamp: Timestamp) { self.init(timeIntervalSince1970: Double(timestamp.milliseconds) / 1_000) }
}
