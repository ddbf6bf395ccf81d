internal import CVaultSystem
internal import Glibc
internal import GroupFile
internal import Sealing

/// Keeps this process's memory out of core dumps and crash reports. A service that opens a store should call it first.
///
/// Turns off core dumps, keeps other processes of the same user from reading the memory, and gives the crash signals
/// their default action, because Swift's own crash handler prints memory that the registers point at. Cannot be undone.
public func hardenProcess() {
  _ = csystem_set_dumpable(0)
  var none = rlimit(rlim_cur: 0, rlim_max: 0)
  _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
  for signal in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS] {
    csystem_take_default_action(signal)
  }
}

/// The system's clocks.
package enum SystemClock {
  /// Milliseconds since 1970-01-01 UTC; 0 before that. This clock may be set back, so its times are only informative and
  /// decide nothing.
  static func milliseconds() -> UInt64 {
    var time = timespec()
    guard unsafe clock_gettime(CLOCK_REALTIME, &time) == 0, time.tv_sec >= 0 else { return 0 }
    return UInt64(time.tv_sec) * 1_000 + UInt64(time.tv_nsec) / 1_000_000
  }

  /// The time since some moment, by a clock that nobody can set.
  package static func monotonic() -> Duration {
    var time = timespec()
    guard unsafe clock_gettime(CLOCK_MONOTONIC, &time) == 0 else { return .zero }
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}

/// The format version of this build, and the versions of its libraries; a static executable contains its own.
public enum BuildVersions {
  /// The version of the commands and of the daemon.
  public static let vault = "0.1.0"

  /// The format version that is written.
  public static var format: Int { Int(FormatVersion.known.read) }

  /// libsodium's version.
  public static var sodium: String { LibraryVersions.sodium }

  /// SQLite's version.
  public static var sqlite: String { ContainerLibrary.version }
}
