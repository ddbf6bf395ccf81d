import CSystem
import Exchange
import ForeignStores
import Glibc

// Reads what other programs' stores export, for `vault import`:
//
//   vault-exchange read FORMAT [--passphrase FD] [--key-file FD]   < FILE   > lines of JSON (EntryLine)
//
// It is a program of its own so that hostile files are read where no store is open, and so that `vault` is not linked
// with what only they need. Secrets come and go through descriptors alone.

harden()
exit(run(Array(CommandLine.arguments.dropFirst())))

/// Keeps this process's memory out of core dumps and crash reports, and bounds it.
func harden() {
  _ = csystem_set_dumpable(0)
  var none = rlimit(rlim_cur: 0, rlim_max: 0)
  _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
  // Argon2 may take 1 GiB; four times as much is more than any file within the limits needs.
  var memory = rlimit(rlim_cur: 4 << 30, rlim_max: 4 << 30)
  _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &memory)
  for signal in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS] {
    csystem_take_default_action(signal)
  }
}

func run(_ arguments: [String]) -> Int32 {
  guard arguments.count >= 2, arguments[0] == "read", let format = ForeignFile.Format(rawValue: arguments[1]),
    let descriptors = descriptors(arguments.dropFirst(2))
  else { return 64 }
  do throws(ImportFault) {
    let limit = 64 << 20
    guard let bytes = contents(of: STDIN_FILENO, limit: limit) else {
      throw ImportFault("it cannot be read, or is longer than \(limit >> 20) MiB", .overLimit)
    }
    let file = ForeignFile(
      bytes, passphrase: descriptors.passphrase.flatMap { contents(of: $0, limit: 4_096) },
      keyFile: descriptors.keyFile.flatMap { contents(of: $0, limit: 1 << 20) })
    try file.read(as: format) { (line) throws(ImportFault) in write(line) }
    write(.end)
    return 0
  } catch {
    write(.fault(error))
    return 1
  }
}

/// - Returns: nil for anything but options with descriptors.
func descriptors(_ options: ArraySlice<String>) -> (passphrase: Int32?, keyFile: Int32?)? {
  var found: (passphrase: Int32?, keyFile: Int32?)
  var rest = options
  while let option = rest.popFirst() {
    guard let number = rest.popFirst().flatMap({ Int32($0) }), number > 2 else { return nil }
    switch option {
    case "--passphrase": found.passphrase = number
    case "--key-file": found.keyFile = number
    default: return nil
    }
  }
  return found
}

/// - Returns: nil if the descriptor cannot be read, or holds more than `limit` bytes.
func contents(of descriptor: Int32, limit: Int) -> [UInt8]? {
  var bytes: [UInt8] = []
  while true {
    var part = [UInt8](repeating: 0, count: 1 << 16)
    let count = unsafe read(descriptor, &part, part.count)
    if count < 0, errno == EINTR { continue }
    guard count >= 0 else { return nil }
    if count == 0 { return bytes }
    bytes += part[..<count]
    guard bytes.count <= limit else { return nil }
  }
}

/// Writes a line; a reader who has gone ends the process.
func write(_ line: EntryLine) {
  var rest = (line.json + [0x0A])[...]
  while !rest.isEmpty {
    let count = unsafe rest.withUnsafeBytes { unsafe write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    if count < 0, errno == EINTR { continue }
    guard count > 0 else { exit(1) }
    rest = rest.dropFirst(count)
  }
}
