import Sealing
import TestSupport
import Testing

@testable import Vault

@Suite struct RecoveryCodeTests {
  private static let code = ReferenceCode.groups([UInt8](countingFrom: 0x41, count: 20))

  private func defect(_ groups: [String]) -> RecoveryCodeDefect? {
    do {
      _ = try RecoveryCode(typing: groups.joined(separator: "-"))
    } catch VaultError.mistypedCode(let defect) {
      return defect
    } catch {
      Issue.record(error)
    }
    return nil
  }

  @Test func `every new code is different and has eight groups of five characters`() throws {
    let texts = try (0..<50).map { _ in try RecoveryCode.random().testText }
    #expect(Set(texts).count == 50)
    for text in texts {
      #expect(text.wholeMatch(of: /([0-9A-HJKMNP-TV-Z]{5}-){7}[0-9A-HJKMNP-TV-Z]{5}/) != nil, "\(text)")
      #expect(try RecoveryCode(typing: text).testText == text)
    }
    // Each of the 160 bits is sometimes set and sometimes not.
    let keys = Set(try (0..<50).map { _ in try RecoveryCode.random().key().testBytes })
    #expect(keys.count == 50)
  }

  @Test func `any single wrong character is detected and its group named`() {
    for group in 0..<8 {
      for place in 0..<5 {
        for character in "0123456789ABCDEFGHJKMNPQRSTVWXYZ" {
          var groups = Self.code
          var characters = Array(groups[group])
          guard characters[place] != character else { continue }
          characters[place] = character
          groups[group] = String(characters)
          #expect(defect(groups) == .mistyped([group + 1]))
        }
      }
    }
  }

  @Test func `two swapped characters in a group are detected and the group named`() {
    for group in 0..<8 {
      for first in 0..<5 {
        for second in first + 1..<5 {
          var groups = Self.code
          var characters = Array(groups[group])
          guard characters[first] != characters[second] else { continue }
          characters.swapAt(first, second)
          groups[group] = String(characters)
          #expect(defect(groups) == .mistyped([group + 1]))
        }
      }
    }
  }

  @Test func `two swapped groups are detected and both named, even if all groups hold the same bits`() {
    for bytes in [[UInt8](countingFrom: 0x41, count: 20), [UInt8](repeating: 0, count: 20)] {
      for first in 0..<8 {
        for second in first + 1..<8 {
          var groups = ReferenceCode.groups(bytes)
          groups.swapAt(first, second)
          #expect(defect(groups) == .misplaced([first + 1, second + 1]))
        }
      }
    }
  }

  @Test func `an error about a code repeats nothing of the code`() throws {
    func message(_ groups: [String]) -> String? {
      defect(groups).map { VaultError.mistypedCode($0).message }
    }
    var groups = Self.code
    groups[2] = "00000"
    #expect(message(groups) == "group 3 of the recovery code is mistyped")
    groups[4] = "!!!!!"
    groups[7] = "UUUUU"
    #expect(message(groups) == "groups 3, 5 and 8 of the recovery code are mistyped")
    groups = Self.code
    groups.swapAt(2, 4)
    #expect(message(groups) == "groups 3 and 5 of the recovery code are in the wrong order")
    groups = Self.code
    groups[0] = "1234"
    #expect(message(groups) == "group 1 of the recovery code has 4 characters instead of 5")
    #expect(message(["1234"]) == "a recovery code has 40 characters; this one has 4")
    #expect(message([String(repeating: "ä€🔑", count: 1_000)]) == "a recovery code has 40 characters; this one has 3000")
  }
}
