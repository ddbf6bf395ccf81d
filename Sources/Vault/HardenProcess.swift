internal import CSystem
internal import Glibc

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
