internal import CSystem
internal import Glibc
internal import GroupFile
internal import Sealing

/// Keeps this process's memory out of core dumps and crash reports; a service that opens a store calls it first thing.
///
/// Core dumps are turned off, other processes of the same user may not read the memory, and the signals of a crash get their
/// default action: Swift's own crash handler would print what the registers point at. For the whole process, for good.
public func hardenProcess() {
  _ = csystem_set_dumpable(0)
  var none = rlimit(rlim_cur: 0, rlim_max: 0)
  _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
  for signal in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS] {
    csystem_take_default_action(signal)
  }
}

/// The system's clock, which may be set back: dates inform, they decide nothing.
enum SystemClock {
  /// Milliseconds since 1970-01-01 UTC; 0 before that.
  static func milliseconds() -> UInt64 {
    var time = timespec()
    guard unsafe clock_gettime(CLOCK_REALTIME, &time) == 0, time.tv_sec >= 0 else { return 0 }
    return UInt64(time.tv_sec) * 1_000 + UInt64(time.tv_nsec) / 1_000_000
  }
}

/// What this build reads and writes, and the system libraries that it runs on: a static executable carries its own.
public enum BuildVersions {
  /// The version of the format.
  public static var format: Int { Int(FormatVersion.known.write) }

  /// libsodium's version.
  public static var sodium: String { LibraryVersions.sodium }

  /// SQLite's version.
  public static var sqlite: String { ContainerLibrary.version }
}
