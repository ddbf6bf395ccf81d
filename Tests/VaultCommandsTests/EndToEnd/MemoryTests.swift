import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// The memory of a running command, which only root can read.
@Suite(.needsRoot) struct MemoryTests {
  private let store: TestStore
  private static let mark = Array("S3CR3T-VALUE".utf8)
  /// The released executable loads nothing. Here the loader looks a function up at its first call and saves the vector
  /// registers meanwhile, which may hold what was just copied; so let it look all functions up at the start.
  private static let binding = ["LD_BIND_NOW": "1"]

  init() throws { store = try TestStore() }

  /// Starts a command that writes into a pipe that nobody empties, and waits until it is blocked.
  private func blocked(_ arguments: String) throws -> (process: Executable, reading: Int32) {
    let (reading, writing) = Pipe.pair()
    let process = Executable(
      ["-c", "exec \"$vault\" \(arguments) >&3"], program: "/bin/sh",
      environment: store.scriptEnvironment.merging(Self.binding) { $1 }, extra: [writing])
    close(writing)
    try #require(eventually { Pipe.unreadCount(reading) >= 65_536 })
    return (process, reading)
  }

  /// A part of a process's memory, and whether a core dump would contain it.
  private struct Mapping {
    var range: Range<UInt>
    var isDumped = true
    var title: String
  }

  private func mappings(of process: pid_t) -> [Mapping] {
    let descriptor = unsafe open("/proc/\(process)/smaps", O_RDONLY)
    defer { close(descriptor) }
    var mappings: [Mapping] = []
    for line in String(decoding: Pipe.readAll(descriptor), as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      if words[0] == "VmFlags:" { mappings[mappings.count - 1].isDumped = !words.contains("dd") }
      let ends = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
      if ends.count == 2 { mappings.append(Mapping(range: ends[0]..<ends[1], title: String(line))) }
    }
    return mappings
  }

  /// The mappings that contain `bytes`, once for each occurrence.
  private func places(of bytes: [UInt8], in process: pid_t) -> [Mapping] {
    let memory = unsafe open("/proc/\(process)/mem", O_RDONLY)
    defer { close(memory) }
    var found: [Mapping] = []
    for mapping in mappings(of: process) where mapping.range.count < 1 << 30 {
      var content = [UInt8](repeating: 0, count: mapping.range.count)
      let count = unsafe pread(memory, &content, content.count, Int(bitPattern: mapping.range.lowerBound))
      guard count > 0 else { continue }
      if unsafe content.withUnsafeBytes({ unsafe Self.contains($0.prefix(count), bytes) }) { found.append(mapping) }
    }
    return found
  }

  private static func contains(_ memory: Slice<UnsafeRawBufferPointer>, _ bytes: [UInt8]) -> Bool {
    var rest = unsafe UnsafeRawBufferPointer(rebasing: memory)
    while rest.count >= bytes.count, let start = unsafe memchr(rest.baseAddress!, Int32(bytes[0]), rest.count) {
      unsafe rest = UnsafeRawBufferPointer(rebasing: rest[(UnsafeRawPointer(start) - rest.baseAddress!)...])
      if unsafe rest.starts(with: bytes) { return true }
      unsafe rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
    }
    return false
  }

  @Test(arguments: ["get marked", "get marked --json"])
  func `a value that is being written is in no page that a core dump contains`(arguments: String) throws {
    let value = (0..<20_000).map { "S3CR3T-VALUE \($0)" }.joined(separator: "\n")
    #expect(store.execute("set", "marked", input: value).status == 0)
    let (process, reading) = try blocked(arguments)
    let places = places(of: Self.mark, in: process.process)
    #expect(!places.isEmpty)
    for place in places { #expect(!place.isDumped, "\(place.title)") }
    #expect(Pipe.readAll(reading).count > 200_000)
    close(reading)
    #expect(process.wait().status == 0)
  }

  @Test func `a passphrase is wiped from memory once it has opened the store`() throws {
    var environment = store.scriptEnvironment
    environment["VAULT_HOME"] = store.folder.file("other")
    environment["VAULT_STATE"] = store.folder.file("other-state")
    environment.merge(Self.binding) { $1 }
    let once = Pipe.holding(Array("S3CR3T-VALUE pass\n".utf8))
    defer { close(once) }
    #expect(Executable(["init", "--passphrase-fd", "3"], environment: environment, extra: [once]).wait().status == 0)
    lseek(once, 0, SEEK_SET)
    let (reading, writing) = Pipe.pair()
    let process = Executable(
      ["set", "a", "--passphrase-fd", "3", "--fd", "4"], environment: environment, extra: [once, reading])
    close(reading)
    #expect(unsafe Glibc.write(writing, "x", 1) == 1)
    try #require(eventually { Pipe.unreadCount(writing) == 0 })
    #expect(places(of: Self.mark, in: process.process).map(\.title) == [])
    close(writing)
    #expect(process.wait().status == 0)
  }

  @Test(.needsOtherUsers) func `another process of the same user cannot read the command's memory`() throws {
    let result = store.shell(
      """
      home="$folder/home" && mkdir "$home" && cp "$vault" "$home/vault" && chmod -R go+rX "$home" && chown -R 12345 "$home" &&
      chmod 711 "$folder" && cd / && unset VAULT_HOME VAULT_STATE && export HOME="$home"
      as() { setpriv --reuid=12345 --clear-groups "$@"; }
      as "$home/vault" init --key-file "$home/key" 2>/dev/null && printf x | as "$home/vault" set a || exit 9
      mkfifo "$home/fifo" && chmod 666 "$home/fifo"
      setpriv --reuid=12345 --clear-groups "$home/vault" set a --fd 3 3<>"$home/fifo" & process=$!
      setpriv --reuid=12345 --clear-groups sleep 100 & other=$!
      # It has nothing to do but to wait for its value: it reads descriptor 3.
      until grep -q '^0 0x3 ' /proc/$process/syscall && [ "$(cat /proc/$other/comm)" = sleep ]; do
        [ -e /proc/$process ] || exit 8; sleep 0.05
      done
      for file in environ mem maps; do
        as head -c 1 /proc/$process/$file >/dev/null 2>&1 && echo "$file can be read"
      done
      as head -c 1 /proc/$other/environ | wc -c
      tr '\\0' ' ' </proc/$process/cmdline | cut -d ' ' -f 2-
      kill $process $other
      """)
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output == "1\nset a --fd 3 \n")
  }
}
