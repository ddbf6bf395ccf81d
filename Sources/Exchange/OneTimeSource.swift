internal import Ground

/// The source of one-time codes, as services provide it:
/// `otpauth://totp/NAME?secret=…&algorithm=SHA1&digits=6&period=30`, or the secret alone in 16 or more characters of
/// base32. KeePassXC marks Steam's codes with `encoder=steam`, Bitwarden with `steam://` before the secret.
package struct OneTimeSource: Sendable, Equatable {
  /// The secret's bytes.
  package var key: [UInt8] = []
  /// `SHA1`, `SHA256` or `SHA512`.
  package var algorithm = "SHA1"
  /// The number of digits of a code, 6 to 8, or 5 for Steam.
  package var digits = 6
  /// The number of seconds for which a code is valid.
  package var period = 30
  /// Whether the codes are Steam's, which consist of five letters and digits.
  package var isSteam = false

  /// The reason why a text is not such a source. It contains no part of the text.
  package enum Fault: Error, Sendable, Equatable {
    /// Neither a URL of this kind nor a secret in base32.
    case noSource
    /// Counter-based codes (HOTP), which would have to store a new counter after each use.
    case countsUses
    case noSecret
    case badSecret
    case badAlgorithm
    case badDigits
    case badPeriod
    case badEncoder
  }

  package init(_ text: String) throws(Fault) {
    let scheme = "otpauth://"
    if let url = OneTimeSource.steamURL(of: text) {
      self = try OneTimeSource(url)
      return
    }
    guard text.lowercased().hasPrefix(scheme) else {
      // Services show the secret in groups of four characters.
      let secret = text.utf8.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "-") && $0 != 0x0A && $0 != 0x0D }
      // A shorter text is more likely a password that happens to consist of base32 characters.
      guard secret.count >= 16, let key = Base32.decoded(secret) else { throw .noSource }
      self.key = key
      return
    }
    let parts = text.dropFirst(scheme.count).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    switch parts[0].prefix(while: { $0 != "/" }).lowercased() {
    case "totp": break
    case "hotp": throw .countsUses
    default: throw .noSource
    }
    let query = parts.count == 2 ? parts[1].prefix { $0 != "#" && !$0.isNewline } : ""
    var digits: Int?
    for part in query.split(separator: "&") {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = pair.count == 2 ? PercentEncoding.decoded(Array(pair[1].utf8)) : []
      try take(pair[0].lowercased(), value ?? [], &digits)
    }
    // Steam's codes have five characters, even if the URL does not say so.
    self.digits = digits ?? (isSteam ? 5 : 6)
    guard (isSteam ? 5...5 : 6...8).contains(self.digits) else { throw .badDigits }
    guard !key.isEmpty else { throw .noSecret }
  }

  /// The source as a URL that all programs read alike, made from a secret of any length; `nil` if the text is neither a
  /// URL nor base32. A URL that is no source stays as it is.
  package static func url(of text: String) -> String? {
    guard !text.lowercased().hasPrefix("otpauth://") else {
      return (try? OneTimeSource(text)).map { $0.canonical(text) } ?? text
    }
    let url =
      steamURL(of: text) ?? "otpauth://totp/vault?secret=" + text.filter { $0 != "-" && !$0.isWhitespace }
    return (try? OneTimeSource(url)) == nil ? nil : url
  }

  /// The URL with its settings as other programs expect them: names in lower case, each once, and `SHA256` in place of
  /// `SHA-256`, which KeePassXC would take for `SHA1`. A `#` in the path is `%23`, because everything after it would
  /// be none of the settings. All other parts are unchanged.
  private func canonical(_ url: String) -> String {
    let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let query = parts[1].prefix { $0 != "#" && !$0.isNewline }.split(separator: "&").map { part in
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      return (name: pair[0].lowercased(), value: pair.count == 2 ? pair[1] : "", text: String(part))
    }
    let last = Dictionary(zip(query.map(\.name), query.indices)) { $1 }
    let settings = query.enumerated().compactMap { index, setting -> String? in
      let value: String
      switch setting.name {
      case "secret": value = Base32.decoded(setting.value.utf8) == key ? setting.value : Base32.encoded(key)
      case "algorithm": value = setting.value.uppercased() == algorithm ? setting.value : algorithm
      case "digits": value = String(digits)
      case "period": value = String(period)
      case "encoder": value = isSteam ? "steam" : ""
      default: return setting.text
      }
      return last[setting.name] == index ? "\(setting.name)=\(value)" : nil
    }
    let path = parts[0].dropFirst("otpauth://totp".count).exchanging("#", for: "%23")
    return "otpauth://totp\(path)?\(settings.joined(separator: "&"))"
  }

  /// The source in Bitwarden's form, which is `steam://` and the secret for Steam's codes, and a URL that all programs
  /// read alike for others. Every other text stays as it is.
  package static func inBitwarden(_ text: String) -> String {
    guard text.lowercased().hasPrefix("otpauth://"), let source = try? OneTimeSource(text) else { return text }
    let url = "steam://" + Base32.encoded(source.key)
    return (try? OneTimeSource(url)) == source ? url : source.canonical(text)
  }

  /// - Returns: nil if the text is not `steam://` and letters and digits.
  private static func steamURL(of text: String) -> String? {
    let scheme = "steam://"
    guard text.lowercased().hasPrefix(scheme) else { return nil }
    let secret = text.dropFirst(scheme.count).filter { $0 != "-" && !$0.isWhitespace }
    guard secret.utf8.allSatisfy({ $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "=") }) else { return nil }
    return "otpauth://totp/Steam?secret=\(secret)&digits=5&period=30&encoder=steam"
  }

  /// The source in the fields of a KeePass entry, as `otpauth://`, and the fields that it replaces. KeePassXC has it in
  /// `otp`, formerly in `TOTP Seed` and `TOTP Settings`; KeePass has it in `TimeOtp-Secret-Base32` and others.
  ///
  /// - Returns: nil if there is none, or if a URL cannot hold the secret and all of its settings.
  package static func inKeePass(_ texts: [String: String]) -> (code: String, fields: Set<String>)? {
    if let text = texts["otp"] {
      if text.lowercased().hasPrefix("otpauth://") { return (text, ["otp"]) }
      if let url = urlOfKeeOtp(text) { return (url, ["otp"]) }
    }
    if let seed = texts["TOTP Seed"] {
      if seed.lowercased().hasPrefix("otpauth://") {
        return (try? OneTimeSource(seed)) == nil ? nil : (seed, ["TOTP Seed"])
      }
      // Settings in another form are kept unchanged.
      let settings = (texts["TOTP Settings"] ?? "30;6").split(separator: ";", omittingEmptySubsequences: false)
      guard settings.count >= 2, let url = url(seed, String(settings[0]), String(settings[1]), nil) else { return nil }
      // A third part is the address of a clock, which KeePassXC ignores.
      return (url, settings.count == 2 ? ["TOTP Seed", "TOTP Settings"] : ["TOTP Seed"])
    }
    let names = ["Secret-Base32", "Period", "Length", "Algorithm"].map { "TimeOtp-\($0)" }
    let algorithm = texts[names[3]].map { $0.exchanging("HMAC-", for: "").filter { $0 != "-" } }
    guard let secret = texts[names[0]], let url = url(secret, texts[names[1]], texts[names[2]], algorithm) else {
      return nil
    }
    return (url, Set(names))
  }

  /// The URL for the text that the plug-in KeeOtp writes: `key=JBSWY3DP&size=6&step=30`.
  private static func urlOfKeeOtp(_ text: String) -> String? {
    let pairs = text.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
    let known = ["key", "size", "step", "type", "otpHashMode"]
    guard pairs.allSatisfy({ $0.count == 2 && known.contains($0[0]) }) else { return nil }
    let settings = Dictionary(pairs.map { ($0[0], $0[1]) }) { first, _ in first }
    guard let secret = settings["key"], ["totp", nil].contains(settings["type"]?.lowercased()) else { return nil }
    return url(
      PercentEncoding.decoded(Array(secret.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? secret,
      settings["step"], settings["size"], settings["otpHashMode"]?.uppercased())
  }

  /// - Returns: nil if it would not be a source with exactly these settings.
  private static func url(_ secret: String, _ period: String?, _ digits: String?, _ algorithm: String?) -> String? {
    let secret = secret.filter { $0 != "-" && $0 != "=" && !$0.isWhitespace }
    guard [secret, period, digits, algorithm].allSatisfy({ ($0 ?? "").utf8.allSatisfy { $0.isLetter || $0.isDigit } })
    else { return nil }
    var url = "otpauth://totp/vault?secret=\(secret)"
    if let period { url += "&period=\(period)" }
    // KeePassXC's settings have this letter in place of the digits for Steam.
    if let digits { url += digits == "S" ? "&digits=5&encoder=steam" : "&digits=\(digits)" }
    if let algorithm { url += "&algorithm=\(algorithm)" }
    return (try? OneTimeSource(url)) == nil ? nil : url
  }

  private mutating func take(_ name: String, _ value: [UInt8], _ digits: inout Int?) throws(Fault) {
    let text = String(decoding: value, as: UTF8.self)
    switch name {
    case "secret":
      guard let key = Base32.decoded(value.filter { $0 != UInt8(ascii: " ") }) else { throw .badSecret }
      self.key = key
    case "algorithm":
      let name = text.uppercased().filter { $0 != "-" }
      guard ["SHA1", "SHA256", "SHA512"].contains(name) else { throw .badAlgorithm }
      algorithm = name
    case "digits":
      guard let number = Int(text) else { throw .badDigits }
      digits = number
    case "period":
      guard let number = Int(text), (1...86_400).contains(number) else { throw .badPeriod }
      period = number
    case "encoder":
      // Another one makes other codes from the same secret.
      guard ["", "steam"].contains(text.lowercased()) else { throw .badEncoder }
      isSteam = !text.isEmpty
    // Other parameters, such as the issuer or a picture, are ignored.
    default: break
    }
  }
}

/// RFC 4648, section 6.
enum Base32 {
  /// The digits that `bytes` alone decide: no padding, and no last one that depends on the byte after them.
  static func digits(_ bytes: [UInt8]) -> [UInt8] {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
    var digits: [UInt8] = []
    var (bits, count) = (0, 0)
    for byte in bytes {
      (bits, count) = (bits << 8 | Int(byte), count + 8)
      while count >= 5 {
        count -= 5
        digits.append(alphabet[bits >> count & 31])
      }
      bits &= 31
    }
    return digits
  }

  /// The text without padding.
  static func encoded(_ bytes: [UInt8]) -> String {
    // The zero byte fills up the last digit, and adds none.
    String(decoding: digits(bytes + [0]).prefix((bytes.count * 8 + 4) / 5), as: UTF8.self)
  }

  /// - Returns: `nil` if `text` is not base32. Padding is optional, and letters may have any case.
  static func decoded(_ text: some Collection<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var word: UInt32 = 0
    var bitCount = 0
    var rest = Array(text)
    while rest.last == UInt8(ascii: "=") { rest.removeLast() }
    // No number of bytes encodes to these lengths.
    guard ![1, 3, 6].contains(rest.count % 8) else { return nil }
    for byte in rest {
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit = byte - UInt8(ascii: "A")
      case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = byte - UInt8(ascii: "a")
      case UInt8(ascii: "2")...UInt8(ascii: "7"): digit = byte - UInt8(ascii: "2") + 26
      default: return nil
      }
      word = word << 5 | UInt32(digit)
      bitCount += 5
      if bitCount >= 8 {
        bitCount -= 8
        bytes.append(UInt8(truncatingIfNeeded: word >> UInt32(bitCount)))
      }
    }
    return bytes
  }
}
