import CVaultStart
import CVaultSystem
import Exchange
import ForeignStores
import Glibc

// Reads and writes other programs' stores, for `vault import` and `vault export`:
//
//   vault-exchange read FORMAT [--passphrase FD] [--key-file FD]   < FILE   > lines of JSON (EntryLine)
//   vault-exchange write kdbx --passphrase FD                      < lines of JSON   > FILE
//
// It exits with 0; with 2 if it wrote a file that is too large for `read`; otherwise with 1 or 64.
//
// It is a separate program so that hostile files are read in a process without an open store, and so that `vault` is
// not linked with libraries that only they need. Secrets are passed only through descriptors.

cstart_restore_environment()
harden()
exit(run(Array(CommandLine.arguments.dropFirst())))

/// Keeps this process's memory out of core dumps and crash reports, and limits its size.
func harden() {
  _ = csystem_control_process(PR_SET_DUMPABLE, 0)
  // Nobody else waits for what it makes.
  _ = csystem_control_process(PR_SET_PDEATHSIG, UInt(SIGKILL))
  var none = rlimit(rlim_cur: 0, rlim_max: 0)
  _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
  // Argon2 may need 1 GiB. Four times as much is more than any file within the limits needs.
  var memory = rlimit(rlim_cur: 4 << 30, rlim_max: 4 << 30)
  _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &memory)
  for signal in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS] {
    csystem_take_default_action(signal)
  }
}

func run(_ arguments: [String]) -> Int32 {
  guard arguments.count >= 2, let descriptors = descriptors(arguments.dropFirst(2)) else { return 64 }
  let passphrase = descriptors.passphrase.flatMap { contents(of: $0, limit: 4_096) }
  do throws(ImportFault) {
    switch (arguments[0], ForeignFile.Format(rawValue: arguments[1])) {
    case ("read", let format?):
      // Only age reads the identity.
      let keyFile = format == .sops ? nil : descriptors.keyFile.flatMap { contents(of: $0, limit: 1 << 20) }
      let file = ForeignFile(try input(limit: ForeignFile.limit), passphrase: passphrase, keyFile: keyFile)
      let age = Age(identity: descriptors.keyFile)
      try file.read(as: format) { (sealed) throws(ImportFault) in
        try age.open(sealed)
      } _: { (line) throws(ImportFault) in
        write(line)
      }
      write(.end)
    case ("write", .kdbx?):
      // Without one, or with one that cannot be read, anyone could open the file.
      guard let passphrase else { return 64 }
      var writer = try KeePassWriter(entries(of: input(limit: 256 << 20)))
      write(try writer.file(passphrase: passphrase))
      return writer.isReadable ? 0 : 2
    default: return 64
    }
    return 0
  } catch {
    // Written output cannot contain an error, so the reader has to notice that it is incomplete.
    if arguments[0] == "read" { write(.fault(error)) }
    return 1
  }
}

func input(limit: Int) throws(ImportFault) -> [UInt8] {
  guard let bytes = contents(of: STDIN_FILENO, limit: limit) else {
    throw ImportFault("it cannot be read, or is longer than \(limit >> 20) MiB", .overLimit)
  }
  return bytes
}

func entries(of lines: [UInt8]) throws(ImportFault) -> [Entry] {
  try lines.split(separator: 0x0A).map { line throws(ImportFault) in
    guard case .entry(let entry)? = EntryLine(String(decoding: line, as: UTF8.self)) else {
      throw ImportFault("a line is not an entry", .damaged)
    }
    return entry
  }
}

/// - Returns: nil for anything except options with descriptors.
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

/// - Returns: nil if the descriptor cannot be read or has more than `limit` bytes.
func contents(of descriptor: Int32, limit: Int) -> [UInt8]? {
  // The offset of a file in memory may still be at the end, where its writer left it.
  if descriptor > STDERR_FILENO { _ = lseek(descriptor, 0, SEEK_SET) }
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

func write(_ line: EntryLine) {
  guard case .entry(var entry) = line else { return write(line.json + [0x0A]) }
  // No item can hold more, so the attachment is dropped here.
  for attachment in entry.attachments where attachment.bytes.count > 1 << 20 {
    entry.refusals.append("the attachment '\(attachment.name)' of '\(entry.name)' has more than 1 MiB")
  }
  entry.attachments.removeAll { $0.bytes.count > 1 << 20 }
  write(EntryLine.entry(entry).json + [0x0A])
}

/// If the reader is gone, the process ends.
func write(_ bytes: [UInt8]) {
  var rest = bytes[...]
  while !rest.isEmpty {
    let count = unsafe rest.withUnsafeBytes { unsafe write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    if count < 0, errno == EINTR { continue }
    guard count > 0 else { exit(1) }
    rest = rest.dropFirst(count)
  }
}
