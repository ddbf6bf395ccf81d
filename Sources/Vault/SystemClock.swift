internal import Glibc

/// The system's clock, which may be set back: dates inform, they decide nothing.
enum SystemClock {
  /// Milliseconds since 1970-01-01 UTC; 0 before that.
  static func milliseconds() -> UInt64 {
    var time = timespec()
    guard unsafe clock_gettime(CLOCK_REALTIME, &time) == 0, time.tv_sec >= 0 else { return 0 }
    return UInt64(time.tv_sec) * 1_000 + UInt64(time.tv_nsec) / 1_000_000
  }
}
