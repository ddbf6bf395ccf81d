internal import Sealing

/// The characters that a generated secret is drawn from.
public struct Alphabet: Sendable, Equatable {
  /// The characters, each once, in the order given.
  public let characters: [Character]

  /// Takes the characters of `text`: 2 to 1,024 different visible ones that can be typed.
  ///
  /// - Throws: ``VaultError/invalid(_:)``.
  public init(_ text: String) throws(VaultError) {
    let characters = Array(text)
    guard (2...1_024).contains(characters.count) else { throw .invalid("an alphabet has 2 to 1,024 characters") }
    guard Set(characters).count == characters.count else { throw .invalid("an alphabet has each character once") }
    guard !text.unicodeScalars.contains(where: { Item.Name.isControl($0) || $0.properties.isWhitespace }) else {
      throw .invalid("an alphabet has no spaces and no control characters")
    }
    self.characters = characters
  }

  private init(known text: String) { characters = Array(text) }

  /// A–Z, a–z, 0–9: 5.95 bits a character.
  public static let alphanumeric = Alphabet(known: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
  /// Letters, digits and the marks that shells, URLs and configuration files leave alone: 6 bits a character.
  public static let safe = Alphabet(known: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
  /// All printable ASCII but the space: 6.55 bits a character.
  public static let printable = Alphabet(known: String((0x21...0x7E).map { Character(Unicode.Scalar($0)) }))
  /// Digits: 3.32 bits a character.
  public static let digits = Alphabet(known: "0123456789")
  /// Lower-case hexadecimal digits: 4 bits a character.
  public static let hexadecimal = Alphabet(known: "0123456789abcdef")
}

extension Secret {
  /// Draws `length` characters of `alphabet`, all with equal probability: a text, to be set with `kind: .string`.
  ///
  /// - Parameters:
  ///   - length: 1...65,536.
  ///   - alphabet: the characters to draw from.
  /// - Throws: ``VaultError/invalid(_:)``, ``VaultError/overLimit(_:)`` beyond 1 MiB, ``VaultError/storage(_:)``.
  public static func random(length: Int, of alphabet: Alphabet = .safe) throws(VaultError) -> Secret {
    guard (1...65_536).contains(length) else { throw .invalid("a generated secret has 1 to 65,536 characters") }
    let encoded = alphabet.characters.map { Array(String($0).utf8) }
    let longest = encoded.map(\.count).max() ?? 1
    let drawn = try sealing(GuardedBytes(count: length * longest))
    var count = 0
    unsafe drawn.withUnsafeMutableBytes { drawn in
      for _ in 0..<length {
        for byte in encoded[Randomness.number(below: encoded.count)] {
          unsafe drawn[count] = byte
          count += 1
        }
      }
    }
    return try unsafe drawn.withUnsafeBytes { (bytes) throws(VaultError) in
      try unsafe Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    }
  }
}
