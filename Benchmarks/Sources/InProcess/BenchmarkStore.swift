import Ground
import Foundation
import VaultFoundation

/// A store whose items are all named and sized alike, and the jobs that are measured on it.
struct BenchmarkStore {
  let folder: String
  let count: Int

  init(_ folder: String, count: Int) {
    self.folder = folder
    self.count = count
  }

  static func name(_ number: Int) -> String { "service/\(number)/password" }

  func fill(byteCount: Int) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let location = try StoreLocation(home: folder + "/home", state: folder + "/state")
    let group = try SecretStore.create(at: location, with: .keyFile(folder + "/key")).group("default")
    let value = String(repeating: "v", count: byteCount)
    let items = (0..<count).lazy.map { (name: BenchmarkStore.name($0), value: value) }
    let seconds = try measure { try group.set(contentsOf: items) }
    let size = try FileManager.default.attributesOfItem(atPath: folder + "/home/groups/default/group.vault")[.size]
    report(["perSecond": Double(count) / seconds, "bytesEach": Double(size as! Int) / Double(count)])
  }

  func get(afterAll: Bool) throws {
    let group = try open()
    var numbers = Numbers()
    if afterAll {
      for number in 0..<count { _ = try group.get(BenchmarkStore.name(number)) }
    }
    // Most nodes are seen once before the clock starts: a service that has run for a second.
    for _ in 0..<min(count, 20_000) { _ = try group.get(BenchmarkStore.name(.random(in: 0..<count, using: &numbers))) }
    let gets = 50_000
    var rates: [Double] = []
    for _ in 0..<7 {
      let seconds = try measure {
        for _ in 0..<gets { _ = try group.get(BenchmarkStore.name(.random(in: 0..<count, using: &numbers))) }
      }
      rates.append(Double(gets) / seconds)
    }
    report(["perSecond": median(rates)])
  }

  func set() throws {
    let group = try open()
    var numbers = Numbers()
    var micros: [Double] = []
    for _ in 0..<2_000 {
      let name = BenchmarkStore.name(.random(in: 0..<count, using: &numbers))
      micros.append(try measure { try group.set(name, to: "a new value of about thirty bytes") } * 1e6)
    }
    report(["microseconds": median(micros), "longest": micros.max()!])
  }

  func writers(_ number: Int) throws {
    let group = try open()
    let times = Times()
    let setsEach = 500
    let seconds = measure {
      // `DispatchQueue.concurrentPerform` would use no more threads than there are cores.
      let all = DispatchGroup()
      for writer in 0..<number {
        all.enter()
        Thread.detachNewThread {
          for turn in 0..<setsEach {
            let name = BenchmarkStore.name((turn * number + writer) % count)
            times.add(measure { _ = try? group.set(name, to: "a value of writer \(writer)") })
          }
          all.leave()
        }
      }
      all.wait()
    }
    report(["perSecond": Double(number * setsEach) / seconds, "longestMilliseconds": times.longest * 1e3])
  }

  func transaction() throws {
    let group = try open()
    let sets = 10_000
    var rates: [Double] = []
    for round in 0..<5 {
      let seconds = try measure {
        try group.transaction { edit in
          for number in 0..<sets {
            edit.set(BenchmarkStore.name(number * 7 % count), to: "a value of round \(round) and thirty bytes")
          }
        }
      }
      rates.append(Double(sets) / seconds)
    }
    report(["perSecond": median(rates)])
  }

  func rotate() throws {
    let store = try openStore()
    var rates: [Double] = []
    for _ in 0..<3 { rates.append(Double(count) / (try measure { try store.rotateGroup("default") })) }
    report(["perSecond": median(rates)])
  }

  private func open() throws -> AccessGroup { try openStore().group("default") }

  private func openStore() throws -> SecretStore {
    let location = try StoreLocation(home: folder + "/home", state: folder + "/state")
    return try SecretStore.open(at: location, unlocking: .keyFile(folder + "/key"))
  }

  private func report(_ figures: [String: Double]) {
    let fields = figures.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
    print("{" + fields.joined(separator: ",") + "}")
  }
}

/// Random numbers without a system call each: SplitMix64 (Steele, Lea and Flood, 2014).
struct Numbers: RandomNumberGenerator {
  private var state: UInt64 = 1

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var number = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
    return number ^ (number >> 31)
  }
}

/// The longest of many times, from many threads.
final class Times: @unchecked Sendable {
  private let lock = NSLock()
  private var maximum = 0.0

  func add(_ seconds: Double) { lock.withLock { maximum = max(maximum, seconds) } }

  var longest: Double { lock.withLock { maximum } }
}

/// Seconds that `body` takes.
func measure(_ body: () throws -> Void) rethrows -> Double {
  let start = ContinuousClock.now
  try body()
  let duration = ContinuousClock.now - start
  return Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
