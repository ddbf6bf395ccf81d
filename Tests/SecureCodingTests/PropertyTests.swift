import Foundation
import TestSupport
import Testing

@testable import SecureCoding

/// Random property lists and archives from a seeded stream, so failures are reproducible.
@Suite struct PropertyTests {
  private func scalar(_ random: inout SeededGenerator) -> PlistValue {
    switch Int.random(in: 0..<6, using: &random) {
    case 0: .bool(.random(using: &random))
    case 1: .int(Int128(Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random)))
    case 2: .int(Int128(random.next()))
    case 3: .real(Double(bitPattern: random.next() & 0x7FEF_FFFF_FFFF_FFFF))
    case 4: .data((0..<Int.random(in: 0..<40, using: &random)).map { UInt8(truncatingIfNeeded: $0 &* 37) })
    default:
      .string(
        String(
          (0..<Int.random(in: 0..<20, using: &random)).map { _ in "aé<&漢😀\" ".randomElement(using: &random) ?? "a" }))
    }
  }

  /// An archive of arrays, dictionaries and scalars. Each object refers only to later ones.
  private func archive(_ random: inout SeededGenerator) -> PlistValue {
    let count = Int.random(in: 1..<30, using: &random)
    var objects: [PlistValue] = [.describe("NSArray"), .describe("NSDictionary")]
    // Objects begin at number 3. The last ones are strings, which serve as keys.
    for number in 0..<count {
      let later = (number + 1)..<(count + 4)
      func references(_ count: Int) -> [PlistValue] {
        (0..<count).map { _ in .uid(UInt64(3 + Int.random(in: later, using: &random))) }
      }
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        objects.append(
          .dict([("NS.objects", .array(references(Int.random(in: 0..<4, using: &random)))), ("$class", .uid(1))]))
      case 1:
        let keys = (0..<Int.random(in: 0..<4, using: &random)).map { PlistValue.uid(UInt64(3 + count + $0)) }
        objects.append(
          .dict([("NS.keys", .array(keys)), ("NS.objects", .array(references(keys.count))), ("$class", .uid(2))]))
      default: objects.append(scalar(&random))
      }
    }
    objects += ["k", "l", "m", "n"].map { .string($0) }
    return .archive(objects, top: [("root", .uid(3))])
  }

  @Test(arguments: 0..<200) func `both formats of an archive give the same tree and the same objects`(seed: UInt64)
    throws
  {
    var random = SeededGenerator(seed: seed)
    let archive = archive(&random)
    let (binary, xml) = (Data(archive.binary()), Data(archive.xml()))
    let raw = try SecureUnarchiver.inspect(binary).rawJSON()
    #expect(try SecureUnarchiver.inspect(xml).rawJSON() == raw)
    let classes: [AnyClass] = [NSArray.self, NSDictionary.self, NSString.self, NSNumber.self, NSData.self]
    let one = try SecureUnarchiver.unarchivedObject(ofClasses: classes, from: binary) as? NSObject
    let other = try SecureUnarchiver.unarchivedObject(ofClasses: classes, from: xml) as? NSObject
    #expect(one != nil && one == other)
  }

  @Test(arguments: 0..<100) func `an archive that Foundation writes on Linux is read back equal`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed &+ 1000)
    let strings = (0..<Int.random(in: 0..<10, using: &random)).map { "\($0)-\(random.next())" as NSString }
    let graph = NSDictionary(dictionary: [
      "strings": strings as NSArray, "number": NSNumber(value: random.next()), "real": NSNumber(value: 0.1),
      "date": NSDate(timeIntervalSinceReferenceDate: Double(random.next() >> 20)), "data": NSData(data: Data([1, 2])),
      "set": NSSet(array: strings), "uuid": NSUUID(), "null": NSNull(),
    ])
    let data = try NSKeyedArchiver.archivedData(withRootObject: graph, requiringSecureCoding: true)
    let read = try SecureUnarchiver.unarchivedObject(
      ofClasses: [
        NSDictionary.self, NSArray.self, NSString.self, NSNumber.self, NSDate.self, NSData.self, NSSet.self,
        NSUUID.self, NSNull.self,
      ], from: data)
    #expect(read as? NSDictionary == graph)
  }

  /// A graph of Foundation values and persons, some of whom share an address. Beyond a certain depth there are only
  /// scalars.
  private func graph(_ random: inout SeededGenerator, _ depth: Int, _ shared: inout [NSObject]) -> NSObject {
    if !shared.isEmpty, Int.random(in: 0..<8, using: &random) == 0, let old = shared.randomElement(using: &random) {
      return old
    }
    let made: NSObject
    switch Int.random(in: 0..<(depth > 4 ? 6 : 10), using: &random) {
    case 0:
      made = NSString(
        string: String(
          (0..<Int.random(in: 0..<9, using: &random)).map { _ in "aé漢😀\n".randomElement(using: &random) ?? "a" }))
    case 1: made = NSNumber(value: Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random))
    case 2: made = NSNumber(value: Double(bitPattern: random.next() & 0x7FEF_FFFF_FFFF_FFFF))
    case 3: made = NSDate(timeIntervalSinceReferenceDate: Double(Int64(bitPattern: random.next()) >> 30))
    case 4:
      made = NSData(
        data: Data((0..<Int.random(in: 0..<20, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }))
    case 5: made = NSNumber(value: Bool.random(using: &random))
    case 6:
      made = NSArray(array: (0..<Int.random(in: 0..<5, using: &random)).map { _ in graph(&random, depth + 1, &shared) })
    case 7:
      let members = (0..<Int.random(in: 0..<5, using: &random)).map { "\($0) \(random.next())" }
      made = NSSet(array: members)
    case 8:
      let address = shared.compactMap { $0 as? Address }.randomElement(using: &random)
      made = Person(name: "\(random.next())", age: Int(random.next() >> 40), address: address)
    default:
      let values = (0..<Int.random(in: 0..<5, using: &random)).map { _ in graph(&random, depth + 1, &shared) }
      made = NSDictionary(objects: values, forKeys: values.indices.map { NSString(string: "key \($0)") })
    }
    shared.append(made)
    shared.append(Address(city: "\(random.next())"))
    return made
  }

  @Test(arguments: 0..<200)
  func `archiving, reading and archiving a graph again gives the same bytes and the same tree`(
    seed: UInt64
  ) throws {
    let graph = { (seed: UInt64) in
      var random = SeededGenerator(seed: seed)
      var shared: [NSObject] = []
      return NSArray(array: (0..<4).map { _ in self.graph(&random, 0, &shared) })
    }
    let classes: [AnyClass] = [
      NSArray.self, NSDictionary.self, NSString.self, NSNumber.self, NSData.self, NSDate.self, NSSet.self, Person.self,
      Address.self,
    ]
    let first = try SecureArchiver.archivedData(withRootObject: graph(seed))
    // The same graph created again has other addresses, and its hashes give another order in another process.
    #expect(try SecureArchiver.archivedData(withRootObject: graph(seed)) == first)
    let read = try #require(try SecureUnarchiver.unarchivedObject(ofClasses: classes, from: first))
    let again = try SecureArchiver.archivedData(withRootObject: read)
    #expect(try SecureUnarchiver.inspect(again).json() == SecureUnarchiver.inspect(first).json())
    #expect(again == first)
    let xml = try SecureArchiver.archivedData(withRootObject: graph(seed), format: .xml)
    #expect(try SecureUnarchiver.inspect(xml).rawJSON() == SecureUnarchiver.inspect(first).rawJSON())
  }

  @Test(arguments: 0..<40) func `an archive with a changed byte gives a value or an error`(seed: UInt64) {
    var random = SeededGenerator(seed: seed &+ 5000)
    let bytes = archive(&random).binary()
    for _ in 0..<200 {
      var changed = bytes
      changed[Int.random(in: bytes.indices, using: &random)] = UInt8(truncatingIfNeeded: random.next())
      let data = Data(changed)
      _ = try? SecureUnarchiver.unarchivedObject(
        ofClasses: [NSArray.self, NSDictionary.self, NSString.self, NSNumber.self], from: data)
      _ = try? SecureUnarchiver.inspect(data).json()
    }
  }
}
