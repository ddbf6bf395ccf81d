import Foundation
import TestSupport

/// Archives that are too large or too regular for the vector file.
enum Generators {
  static func archive(_ name: String, _ count: Int) -> [UInt8] {
    switch name {
    case "nestedArrays": nestedArrays(count).binary()
    case "nestedContainers": nestedContainers(count)
    case "nestedXML":
      Array((String(repeating: "<array>", count: count) + String(repeating: "</array>", count: count)).utf8)
    case "unfoldingContainers": unfoldingContainers(count)
    case "unfoldingReferences": layers(count, "NSArray").binary()
    case "sharedArrays": layers(count, "NSArray").binary()
    case "setsOfSets": setsOfSets(count).binary()
    case "equalHashes": equalHashes(count).binary()
    case _ where CostlyArchives.make(name, count) != nil: CostlyArchives.make(name, count)?.binary() ?? []
    case "countedSet":
      PlistValue.archive([
        .dict([
          ("NS.count", .int(1)), ("NS.object0", .uid(3)), ("NS.count0", .int(Int128(count))), ("$class", .uid(2)),
        ]), .describe("NSCountedSet"), .string("x"),
      ]).binary()
    case "sharedText": sharedText(count)
    case "text": PlistValue.archive([.string(String(repeating: "a", count: count))]).binary()
    case "bytes": PlistValue.archive([.data(Array(repeating: 1, count: count))]).binary()
    case "flatArray": array(Array(repeating: .uid(3), count: count), [.string("x")]).binary()
    case "distinctArray":
      array((0..<count).map { .uid(UInt64(3 + $0)) }, (0..<count).map { .string("\($0)") }).binary()
    case "longName":
      PlistValue.archive([
        .dict([("$class", .uid(2))]), .describe(String(repeating: "A", count: count)),
      ]).binary()
    default: []
    }
  }

  private static func array(_ elements: [PlistValue], _ objects: [PlistValue]) -> PlistValue {
    .archive([.dict([("NS.objects", .array(elements)), ("$class", .uid(2))]), .describe("NSArray")] + objects)
  }

  private static func nestedArrays(_ count: Int) -> PlistValue {
    let arrays = (0..<count).map { index -> PlistValue in
      let next: [PlistValue] = index + 1 < count ? [.uid(UInt64(index + 3))] : []
      return .dict([("NS.objects", .array(next)), ("$class", .uid(2))])
    }
    return .archive([arrays[0], .describe("NSArray")] + arrays.dropFirst())
  }

  /// Each array holds the next one twice.
  private static func layers(_ count: Int, _ name: String) -> PlistValue {
    let layers = (0..<count).map { index -> PlistValue in
      let next: [PlistValue] = index + 1 < count ? [.uid(UInt64(index + 3)), .uid(UInt64(index + 3))] : []
      return .dict([("NS.objects", .array(next)), ("$class", .uid(2))])
    }
    return .archive([layers[0], .describe(name)] + layers.dropFirst())
  }

  /// Layers of three different sets; each holds two of the three of the next layer.
  private static func setsOfSets(_ count: Int) -> PlistValue {
    func pair(_ one: UInt64, _ other: UInt64) -> PlistValue {
      .dict([("NS.objects", .array([.uid(one), .uid(other)])), ("$class", .uid(2))])
    }
    var objects = [pair(3, 4), .describe("NSSet")]
    for layer in 0..<count {
      let below = UInt64(6 + 3 * layer)
      objects += [pair(below, below + 1), pair(below, below + 2), pair(below + 1, below + 2)]
    }
    return .archive(objects + [.string("a"), .string("b"), .string("c")])
  }

  /// Strings that differ only in the part that Foundation's hash of long strings ignores.
  private static func equalHashes(_ count: Int) -> PlistValue {
    let filler = String(repeating: "-", count: 40)
    let strings = (0..<count).map {
      PlistValue.string(filler + String(10_000 + $0) + String(repeating: "-", count: 200))
    }
    return .archive(
      [
        .dict([("NS.objects", .array((0..<count).map { .uid(UInt64(3 + $0)) })), ("$class", .uid(2))]),
        .describe("NSSet"),
      ] + strings)
  }

  /// Mutable strings that share one text of 8 kB, which the list holds once.
  private static func sharedText(_ count: Int) -> [UInt8] {
    let text = PlistValue.string(String(repeating: "a", count: 8_192))
    let strings = (0..<count).map { _ in PlistValue.dict([("NS.string", text), ("$class", .uid(3))]) }
    return PlistValue.archive(
      [
        .dict([("NS.objects", .array((0..<count).map { .uid(UInt64(4 + $0)) })), ("$class", .uid(2))]),
        .describe("NSArray"), .describe("NSMutableString", "NSString"),
      ] + strings
    ).binary()
  }

  /// A binary list of nested arrays.
  private static func nestedContainers(_ count: Int) -> [UInt8] {
    list((0..<count).map { $0 + 1 < count ? [0xA1, UInt8(($0 + 1) >> 8), UInt8(($0 + 1) & 0xFF)] : [0xA0] }, 2)
  }

  /// A binary list of arrays that each hold the next one eight times.
  private static func unfoldingContainers(_ count: Int) -> [UInt8] {
    list((0..<count).map { $0 + 1 < count ? [0xA8] + Array(repeating: UInt8($0 + 1), count: 8) : [0xA0] }, 1)
  }

  private static func list(_ objects: [[UInt8]], _ referenceSize: UInt8) -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in objects {
      offsets += [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
      bytes += object
    }
    let table = bytes.count
    func long(_ value: Int) -> [UInt8] { (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
    return bytes + offsets + [0, 0, 0, 0, 0, 0, 2, referenceSize] + long(objects.count) + long(0) + long(table)
  }
}
