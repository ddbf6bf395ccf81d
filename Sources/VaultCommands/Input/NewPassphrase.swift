internal import Vault

/// A new passphrase for the store.
enum NewPassphrase {
  /// - Parameter isMeant: whether even one of the most common passphrases is accepted.
  /// - Throws: `usage` for a common one.
  static func read(descriptor: Int32, isMeant: Bool, _ read: (Int32) throws -> Secret) throws -> Secret {
    let passphrase = try read(descriptor)
    let isCommon = unsafe passphrase.withUnsafeBytes { unsafe CommonPassphrase.isOne($0) }
    guard isMeant || !isCommon else {
      throw Failure(
        .usage, "this is one of the passphrases that attackers try first", hint: "to use it anyway: --common-passphrase"
      )
    }
    return passphrase
  }

  /// Asks for it twice, and asks for confirmation if it is one of the most common.
  ///
  /// - Parameters:
  ///   - thing: the thing that the passphrase opens; nil for the store.
  ///   - options: what can be given instead.
  static func ask(
    in session: Session, of thing: String? = nil, isMeant: Bool, or options: String = "--new-passphrase-fd N"
  ) throws -> Secret {
    guard let terminal = session.terminal else {
      throw Failure(
        .locked, "there is no terminal to ask for a passphrase", hint: "without a terminal: \(options)")
    }
    let store = (try? StoreLocation(environment: session.environment)).map { session.shown($0.home) } ?? "the store"
    while true {
      let typed = try terminal.askTwice("new passphrase of \(thing ?? store): ", again: "the same again: ")
      let isCommon = unsafe typed.withUnsafeBytes { unsafe CommonPassphrase.isOne($0) }
      if isMeant || !isCommon { return try typed.secret() }
      let question = "this is one of the passphrases that attackers try first; use it anyway? (yes/no) "
      if try terminal.confirm(question, echoes: false) { return try typed.secret() }
    }
  }
}

/// The passphrases that attackers try first: the most common words with a few digits or marks after them, runs of keys,
/// and one repeated character. This guards against haste and does not measure strength.
enum CommonPassphrase {
  private static let words: Set<String> = [
    "password", "passwort", "passphrase", "passw0rd", "p@ssword", "p@ssw0rd", "pass", "secret", "geheim", "letmein",
    "welcome", "willkommen", "admin", "administrator", "root", "toor", "login", "guest", "test", "testing", "user",
    "default", "changeme", "change me", "master", "vault", "access", "hello", "hallo", "iloveyou", "ichliebedich",
    "dragon",
    "monkey", "football", "baseball", "basketball", "soccer", "hockey", "superman", "batman", "pokemon", "starwars",
    "princess", "sunshine", "shadow", "michael", "jordan", "jennifer", "thomas", "charlie", "daniel", "jessica",
    "ashley",
    "andrew", "michelle", "joshua", "anthony", "robert", "matthew", "nicole", "summer", "winter", "flower", "freedom",
    "whatever", "trustno", "computer", "internet", "killer", "pepper", "ginger", "cookie", "banana", "cheese",
    "mustang",
    "ranger", "harley", "buster", "tigger", "maggie", "yankees", "liverpool", "arsenal", "chelsea", "ninja",
    "azerty", "schatz", "blink", "lovely", "babygirl", "loveme", "qazwsx", "zaq!xsw@", "correct horse battery staple",
    "correcthorsebatterystaple", "abc", "asdf", "qwer", "wasd", "foo", "foobar", "bar", "temp", "demo", "example",
  ]
  private static let runs = [
    "abcdefghijklmnopqrstuvwxyz", "qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm",
    "1234567890", "0123456789", "1qaz2wsx3edc4rfv5tgb", "1q2w3e4r5t6z7u8i9o0p", "1q2w3e4r5t6y7u8i9o0p",
  ]

  /// Whether `bytes` are one of them. The copies that this makes are wiped when the check ends.
  static func isOne(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let text = unsafe String(validating: bytes, as: UTF8.self)?.lowercased(), text.utf8.count <= 40 else {
      return false
    }
    if Set(text).count < 3 { return true }
    if text.count < 9, text.allSatisfy(\.isNumber) { return true }
    let reversed = String(text.reversed())
    if runs.contains(where: { $0.holds(text) || $0.holds(reversed) }) { return true }
    let stem = text.reversed().drop { $0.isNumber || $0.isPunctuation || $0.isSymbol }.reversed()
    return words.contains(text) || words.contains(String(stem))
  }
}
