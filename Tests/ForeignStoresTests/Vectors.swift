import Foundation

@testable import Exchange
@testable import ForeignStores

/// The files next to the tests, made by other programs: `Vectors/make-*.py`.
enum Vectors {
  static func bytes(_ name: String) throws -> [UInt8] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    return try Array(Data(contentsOf: folder.appendingPathComponent("Vectors/\(name)")))
  }
}

extension ForeignFile {
  init(_ vector: String, passphrase: String? = nil, keyFile: [UInt8]? = nil) throws {
    self.init(try Vectors.bytes(vector), passphrase: passphrase.map { Array($0.utf8) }, keyFile: keyFile)
  }

  /// Everything in it, as a reader of its lines gets it.
  func items(
    as format: Format, age open: ([UInt8]) throws(ImportFault) -> [UInt8] = { _ throws(ImportFault) in throw noAge }
  ) throws(ImportFault) -> ImportedItems {
    var lines: [UInt8] = []
    try read(as: format, age: open) { (line) throws(ImportFault) in lines += line.json + [0x0A] }
    return try ImportedItems(lines: lines + EntryLine.end.json)
  }

  /// The kind of the error that prevents reading it; nil if there is none.
  func fault(as format: Format) -> ImportFault.Kind? {
    do throws(ImportFault) {
      _ = try items(as: format)
      return nil
    } catch { return error.kind }
  }
}

extension ImportedItem {
  var text: String { String(decoding: value, as: UTF8.self) }
}

extension [UInt8] {
  /// Copies with some bytes changed, cut or doubled, which depend only on the seed.
  func mutations(_ count: Int, seed: UInt64 = 1) -> [[UInt8]] {
    var state = seed
    func below(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % Swift.max(bound, 1)
    }
    return (0..<count).map { _ in
      var copy = self
      for _ in 0...below(3) {
        let place = below(copy.count)
        switch below(5) {
        case 0: copy[place] = UInt8(below(256))
        case 1: copy[place] ^= UInt8(1 << below(8))
        case 2: copy.removeSubrange(place..<Swift.min(place + below(40), copy.count))
        case 3: copy.insert(contentsOf: copy[place..<Swift.min(place + below(40), copy.count)], at: below(copy.count))
        default: copy[place] = [0, 0xFF, UInt8(ascii: "<"), UInt8(ascii: "\""), UInt8(ascii: "&")][below(5)]
        }
        if copy.isEmpty { return copy }
      }
      return copy
    }
  }
}
