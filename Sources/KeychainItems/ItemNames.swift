import Vault

// The name of an item is the primary key of its class, so that a second item with the same key cannot be added:
//
//   generic password    SERVICE/ACCOUNT
//   internet password   PROTOCOL://ACCOUNT@SERVER:PORT/PATH?domain=DOMAIN&auth=TYPE, without what is absent
//
// What would read as a separator is percent-encoded. A generic password's name has one slash, an internet password's at least
// two. A path that does not begin with a slash follows a semicolon.

extension KeychainItem {
  /// The name of the item with this primary key, of which absent parts are empty.
  ///
  /// - Throws: ``VaultError/invalid(_:)``, ``VaultError/overLimit(_:)`` if no name reads as this key.
  func name() throws(VaultError) -> Item.Name {
    let name = try spelled()
    // In a name, a mark belongs to the separator before it, and NFC makes a semicolon of the Greek question mark.
    guard let read = KeychainItem(name: name), read.port ?? 0 == port ?? 0,
      KeychainItem.keyTexts.allSatisfy({ read[keyPath: $0] ?? "" == self[keyPath: $0] ?? "" })
    else { throw .invalid("a text that reads differently in an item's name") }
    return name
  }

  private func spelled() throws(VaultError) -> Item.Name {
    switch itemClass {
    case .genericPassword: return try Item.Name("\(encoded(service, "%/"))/\(encoded(account, "%/"))")
    case .internetPassword:
      var text = "\(encoded(networkProtocol))://"
      if let account, !account.isEmpty { text += encoded(account) + "@" }
      text += encoded(server)
      if let port, port != 0 {
        guard (1...65_535).contains(port) else { throw .invalid("a port is a number from 1 to 65535") }
        text += ":\(port)"
      }
      if let path, !path.isEmpty {
        text += (path.hasPrefix("/") ? "" : ";") + encoded(path, "%?")
      }
      let options = [("domain", securityDomain), ("auth", authenticationType)].filter { !($0.1 ?? "").isEmpty }
      if !options.isEmpty { text += "?" + options.map { "\($0.0)=\(encoded($0.1))" }.joined(separator: "&") }
      return try Item.Name(text)
    }
  }

  /// The class and primary key of the item with this name; nil if the name is neither class's.
  init?(name: Item.Name) {
    let text = name.description
    if let colon = text.firstRange(of: "://") {
      self.init(.internetPassword)
      guard readInternet(text[..<colon.lowerBound], text[colon.upperBound...]) else { return nil }
    } else {
      self.init(.genericPassword)
      let parts = text.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count == 2, let service = decoded(parts[0]), let account = decoded(parts[1]) else { return nil }
      (self.service, self.account) = (service, account)
    }
    // An item with this key has exactly one valid name; other spellings are refused.
    guard (try? spelled()) == name else { return nil }
  }

  private mutating func readInternet(_ scheme: Substring, _ rest: Substring) -> Bool {
    var place = rest
    var options = Substring()
    if let mark = rest.firstIndex(of: "?") {
      (place, options) = (rest[..<mark], rest[rest.index(after: mark)...])
    }
    for option in options.split(separator: "&") {
      let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let value = decoded(parts[1]) else { return false }
      switch parts[0] {
      case "domain": securityDomain = value
      case "auth": authenticationType = value
      default: return false
      }
    }
    if let begin = place.firstIndex(where: { $0 == "/" || $0 == ";" }) {
      // The path itself may begin with further semicolons.
      guard let path = decoded(place[begin...].dropFirst(place[begin] == ";" ? 1 : 0)) else { return false }
      self.path = path
      place = place[..<begin]
    }
    if let at = place.firstIndex(of: "@") {
      guard let account = decoded(place[..<at]) else { return false }
      self.account = account
      place = place[place.index(after: at)...]
    }
    if let colon = place.firstIndex(of: ":") {
      guard let port = Int(place[place.index(after: colon)...]) else { return false }
      self.port = port
      place = place[..<colon]
    }
    guard let server = decoded(place), let networkProtocol = decoded(scheme) else { return false }
    (self.server, self.networkProtocol) = (server, networkProtocol)
    return true
  }
}

/// Percent-encodes separators, the percent sign, and characters that no name may contain.
private func encoded(_ text: String?, _ separators: String = "%/:@;?&=") -> String {
  var result = String.UnicodeScalarView()
  for scalar in (text ?? "").unicodeScalars {
    let isControl = scalar.properties.generalCategory == .control || scalar.value == 0x2028 || scalar.value == 0x2029
    if isControl || separators.unicodeScalars.contains(scalar) {
      for byte in String(scalar).utf8 {
        result.append("%")
        result.append(contentsOf: (byte < 16 ? "0" : "").unicodeScalars)
        result.append(contentsOf: String(byte, radix: 16, uppercase: true).unicodeScalars)
      }
    } else {
      result.append(scalar)
    }
  }
  return String(result)
}

private func decoded(_ text: Substring) -> String? {
  var bytes: [UInt8] = []
  var rest = Array(text.utf8)[...]
  while let byte = rest.popFirst() {
    guard byte == UInt8(ascii: "%") else {
      bytes.append(byte)
      continue
    }
    let digits = rest.prefix(2)
    guard digits.count == 2, let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else { return nil }
    bytes.append(value)
    rest = rest.dropFirst(2)
  }
  return String(validating: bytes, as: UTF8.self)
}
