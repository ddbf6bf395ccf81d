import Sealing
import TestSupport

@testable import Vault

/// A second implementation of the recovery code, with sums of products in the field instead of steps, and numbers instead of bits.
enum ReferenceCode {
  static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

  /// The product of two polynomials over GF(2), modulo x^5 + x^2 + 1.
  static func product(_ left: Int, _ right: Int) -> Int {
    var product = (0..<5).reduce(0) { right >> $1 & 1 == 1 ? $0 ^ left << $1 : $0 }
    for bit in [8, 7, 6, 5] where product >> bit & 1 == 1 { product ^= 0b100101 << (bit - 5) }
    return product
  }

  static func values(_ bytes: [UInt8]) -> [Int] {
    let bits = bytes.flatMap { byte in (0..<8).map { Int(byte) >> (7 - $0) & 1 } }
    return (0..<32).map { bits[$0 * 5..<$0 * 5 + 5].reduce(0) { $0 * 2 + $1 } }
  }

  /// 16 × (number + first) + 8 × second + 4 × third + 2 × fourth.
  static func check(_ group: ArraySlice<Int>, number: Int) -> Int {
    zip(group, [16, 8, 4, 2]).reduce(product(number, 16)) { $0 ^ product($1.0, $1.1) }
  }

  static func groups(_ bytes: [UInt8]) -> [String] {
    let values = values(bytes)
    return (0..<8).map { group in
      let four = values[group * 4..<group * 4 + 4]
      return String((four + [check(four, number: group + 1)]).map { alphabet[$0] })
    }
  }
}

extension IdentityVectors {
  static func recoveryCodes() throws -> [RecoveryVector] {
    [
      [UInt8](countingFrom: 0x80, count: 20), [UInt8](repeating: 0, count: 20), [UInt8](repeating: 0xFF, count: 20),
      [
        0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0xFE, 0xDC, 0xBA, 0x98, 0x76, 0x54, 0x32, 0x10, 0xF0, 0xE1,
        0xD2, 0xC3,
      ],
    ].map { (bytes: [UInt8]) in
      let values = ReferenceCode.values(bytes)
      return RecoveryVector(
        bytes: bytes.hex, values: values.map { UInt8($0) },
        checks: (0..<8).map { UInt8(ReferenceCode.check(values[$0 * 4..<$0 * 4 + 4], number: $0 + 1)) },
        code: ReferenceCode.groups(bytes).joined(separator: "-"),
        key: Hash.digest(Label("vault1.recovery"), bytes).bytes.hex)
    }
  }

  static func typedCodes() -> [TypedCode] {
    let bytes = [UInt8](countingFrom: 0x80, count: 20)
    let groups = ReferenceCode.groups(bytes)
    func right(_ name: String, _ typed: String) -> TypedCode { TypedCode(name: name, typed: typed, bytes: bytes.hex) }
    func wrong(_ name: String, _ named: [Int]?, _ typed: [String]) -> TypedCode {
      TypedCode(
        name: name, typed: typed.joined(separator: "-"), groups: named, refusal: Refusal(109, "wrong-key"))
    }
    func changed(_ number: Int, _ change: (inout [Character]) -> Void) -> [String] {
      var groups = groups
      var group = Array(groups[number - 1])
      change(&group)
      groups[number - 1] = String(group)
      return groups
    }
    var reordered = groups
    reordered.swapAt(2, 4)
    let zeros = ReferenceCode.groups([UInt8](repeating: 0, count: 20)).joined(separator: "-")
    return [
      right("as it is written", groups.joined(separator: "-")),
      right("lower case and spaces", groups.joined(separator: " ").lowercased()),
      right("in one piece", groups.joined()),
      right("with spaces around it and in a group", "  " + groups.joined(separator: " - ") + "\t"),
      TypedCode(
        name: "letters that look like digits", typed: zeros.replacing("0", with: "o").replacing("1", with: "l"),
        bytes: [UInt8](repeating: 0, count: 20).hex),
      wrong("another character in group 3", [3], changed(3) { $0[1] = $0[1] == "7" ? "8" : "7" }),
      wrong("another check character in group 8", [8], changed(8) { $0[4] = $0[4] == "7" ? "8" : "7" }),
      wrong("a character that is none", [1], changed(1) { $0[0] = "U" }),
      wrong("two characters exchanged in group 4", [4], changed(4) { $0.swapAt(0, 3) }),
      wrong(
        "two wrong groups", [2, 7],
        zip(changed(2) { $0[2] = "?" }, changed(7) { $0[0] = "u" }).enumerated().map {
          $0.offset == 1 ? $0.element.0 : $0.element.1
        }),
      wrong("groups 3 and 5 exchanged", [3, 5], reordered),
      wrong("a character too few in group 6", [6], changed(6) { $0.removeLast() }),
      wrong("a character too many in group 2", [2], changed(2) { $0.append("0") }),
      wrong("a group too few", nil, Array(groups.dropLast())),
      wrong("a group too many", nil, groups + ["00000"]),
      wrong("nothing", nil, []),
      wrong("39 characters in one piece", nil, [String(groups.joined().dropLast())]),
    ]
  }
}
