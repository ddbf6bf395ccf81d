import Foundation
import SecureCoding

/// Decodes the archives that `ArchiveMaker` makes from numbers, and uses the objects as a program would. A crash ends
/// this process and is counted by `objects.py`, which started it.
///
///     objects FIRST COUNT STATE   the archives of COUNT numbers from FIRST on; STATE is a file for the current number
///     objects --write NUMBER      the bytes of one archive, on standard output
///     objects --read FILE         decodes and uses the archive in a file
@main
enum FuzzObjects {
  /// The limits for one call in seconds of processor time, and for the whole process in kilobytes of memory.
  private static let longest = 1.0
  private static let largest = 256 << 10

  static func main() {
    setvbuf(stdout, nil, _IONBF, 0)
    let arguments = CommandLine.arguments
    if arguments.count == 3, arguments[1] == "--write", let number = UInt64(arguments[2]) {
      FileHandle.standardOutput.write(Data(bytes(number)))
    } else if arguments.count == 3, arguments[1] == "--read",
      let data = FileManager.default.contents(atPath: arguments[2])
    {
      let watch = Watch(isVerbose: true)
      print(tryOut(data, watch))
      print("\(watch.longest) s in one call, \(residentKilobytes()) kB")
    } else if arguments.count == 4, let first = UInt64(arguments[1]), let count = UInt64(arguments[2]) {
      work(first, count, State(path: arguments[3]))
    } else {
      exit(64)
    }
  }

  private static func bytes(_ number: UInt64) -> [UInt8] {
    var maker = ArchiveMaker(seed: number)
    return maker.archive().binary()
  }

  private static func work(_ first: UInt64, _ count: UInt64, _ state: State) {
    for number in first..<first + count {
      state[0] = number
      let archive = Data(bytes(number))
      let watch = Watch(isVerbose: false)
      if tryOut(archive, watch) == "decoded" { state[2] += 1 }
      let taken = watch.longest
      state[1] += 1
      if UInt64(taken * 1e6) > state[3] {
        state[3] = UInt64(taken * 1e6)
        state[4] = number
      }
      let resident = residentKilobytes()
      state[5] = UInt64(resident)
      if taken > longest { print("slow \(number) \(Int(taken * 1000))") }
      if resident > largest {
        print("large \(number) \(resident)")
        exit(3)
      }
      // Memory that Foundation never frees adds up, so a new process takes over.
      if resident > largest / 2 { exit(4) }
    }
  }

  /// Decodes an archive twice, uses the objects, and archives them again. Slow objects are not copied or archived, so
  /// that a few archives do not take all the time.
  private static func tryOut(_ data: Data, _ watch: Watch) -> String {
    watch.begin("decode")
    defer { watch.begin("end") }
    do {
      let one = try decode(data)
      watch.begin("decode again")
      let other = try decode(data)
      guard let one = one as? NSObject, let other = other as? NSObject else { return "nil" }
      var use = Use(watch)
      use.exercise(one, other)
      if !watch.isLong { checkWriting(one, watch) }
      watch.begin("free")
    } catch {
      return watch.isVerbose ? "\(error)" : "refused"
    }
    return "decoded"
  }

  private static func decode(_ data: Data) throws -> Any? {
    let unarchiver = try SecureUnarchiver(reading: data, allowing: allowed)
    return try unarchiver.decode(classes, forKey: "root")
  }

  /// An object is either refused, or its archive can be read back and gives the same bytes again. Some Foundation
  /// objects become mutable when they are first read, so their second archive is the stable one.
  private static func checkWriting(_ object: NSObject, _ watch: Watch) {
    watch.begin("archive")
    guard let first = try? SecureArchiver.archivedData(withRootObject: object) else { return }
    watch.begin("read what was archived")
    do {
      guard let read = try decode(first) else { return }
      let second = try SecureArchiver.archivedData(withRootObject: read)
      guard first != second, let again = try decode(second) else { return }
      let third = try SecureArchiver.archivedData(withRootObject: again)
      guard second == third else { fatalError("archived again, it has other bytes") }
    } catch {
      fatalError("archived, and not readable: \(error)")
    }
  }

  private static let classes: [AnyClass] = [
    NSString.self, NSNumber.self, NSData.self, NSDate.self, NSArray.self, NSDictionary.self, NSSet.self,
    NSCountedSet.self, NSOrderedSet.self, NSNull.self, NSURL.self, NSUUID.self, NSValue.self, NSDecimalNumber.self,
    NSError.self, NSLocale.self, NSTimeZone.self, NSCalendar.self, NSDateComponents.self, NSDateInterval.self,
    NSIndexSet.self, NSIndexPath.self, NSAttributedString.self, NSCharacterSet.self, NSRegularExpression.self,
    NSTextCheckingResult.self, NSMeasurement.self, NSPersonNameComponents.self, NSNotification.self, Unit.self,
    UnitLength.self, UnitTemperature.self, UnitConverterLinear.self, TestPerson.self,
  ]

  /// Created once, because adding all these classes takes longer than decoding most archives.
  private static let allowed: AllowedClasses = {
    var allowed = (try? AllowedClasses(classes)) ?? AllowedClasses()
    try? allowed.allow(TestPerson.self, named: "TestPerson")
    return allowed
  }()

  private static func residentKilobytes() -> Int {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_maxrss
  }
}

/// Measures the processor time of each call. In verbose mode it prints each call, so the last line names the one that
/// crashed.
final class Watch {
  let isVerbose: Bool
  private(set) var longest = 0.0
  private var total = 0.0
  private var began = 0.0

  /// Whether the previous calls took long.
  var isLong: Bool { total > 0.1 }

  init(isVerbose: Bool) { self.isVerbose = isVerbose }

  /// Ends the previous call and begins `call`.
  func begin(_ call: String) {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    let now = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    if began > 0 {
      longest = max(longest, now - began)
      total += now - began
      if isVerbose && now - began > 0.05 { print("  \(now - began) s") }
    }
    if isVerbose { print(call) }
    began = now
  }
}

/// A caller's class that holds other objects.
final class TestPerson: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  private let name: String
  private let age: Int
  private let friend: Any?

  required init?(coder: NSCoder) {
    guard let name = coder.decodeObject(of: NSString.self, forKey: "name") else { return nil }
    self.name = name as String
    age = coder.decodeInteger(forKey: "age")
    friend = coder.decodeObject(forKey: "friend")
  }

  func encode(with coder: NSCoder) {
    coder.encode(name as NSString, forKey: "name")
    coder.encode(age, forKey: "age")
    coder.encode(friend, forKey: "friend")
  }
}

/// Numbers that another process reads: the current archive, the number of archives so far, how many of them were
/// decoded, the longest call in µs and its archive, and the peak memory in kilobytes.
struct State {
  private let numbers: UnsafeMutablePointer<UInt64>

  init(path: String) {
    let file = open(path, O_RDWR)
    let memory = mmap(nil, 64, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
    guard file >= 0, let memory, memory != MAP_FAILED else { exit(66) }
    numbers = memory.bindMemory(to: UInt64.self, capacity: 8)
  }

  subscript(index: Int) -> UInt64 {
    get { numbers[index] }
    nonmutating set { numbers[index] = newValue }
  }
}
