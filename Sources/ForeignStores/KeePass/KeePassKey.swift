internal import Exchange
internal import Ground

/// The key of a KeePass database: a passphrase, a key file, or both.
package struct KeePassKey {
  private let passphrase: [UInt8]?
  private let keyFile: [UInt8]?

  /// - Parameters:
  ///   - passphrase: nil if the database has none. An empty one counts as one.
  ///   - keyFile: the bytes of the key file.
  package init(passphrase: [UInt8]?, keyFile: [UInt8]?) {
    self.passphrase = passphrase
    self.keyFile = keyFile
  }

  static var isWrong: ImportFault { ImportFault("the passphrase or the key file is wrong", .wrongKey) }

  func composite() throws(ImportFault) -> [UInt8] {
    var parts: [UInt8] = []
    if let passphrase { parts += try Gcrypt.sha256(passphrase) }
    if let keyFile { parts += try Self.key(inFile: keyFile) }
    return try Gcrypt.sha256(parts)
  }

  /// The key in a key file: XML of version 1 or 2, 32 bytes, 64 hexadecimal digits, or the hash of anything else.
  static func key(inFile file: [UInt8]) throws(ImportFault) -> [UInt8] {
    if let key = try keyInXML(file) { return key }
    if file.count == 32 { return file }
    if file.count == 64, let key = [UInt8](hexadecimal: file) { return key }
    return try Gcrypt.sha256(file)
  }

  /// - Returns: nil if the file is not such XML, so that it counts as another kind of file.
  private static func keyInXML(_ file: [UInt8]) throws(ImportFault) -> [UInt8]? {
    guard file.count <= 1 << 16, let text = String(validating: file, as: UTF8.self) else { return nil }
    var reader = XMLReader(Array(text.utf8))
    var path: [String] = []
    var (version, data, hash) = ("", "", "")
    do throws(ImportFault) {
      while let event = try reader.next() {
        switch event {
        case .start(let element):
          path.append(element.name)
          if path == ["KeyFile", "Key", "Data"] { hash = element["Hash"] ?? "" }
        case .end: path.removeLast()
        case .text(let text):
          let text = String(decoding: text, as: UTF8.self)
          if path == ["KeyFile", "Meta", "Version"] { version += text }
          if path == ["KeyFile", "Key", "Data"] { data += text }
        }
      }
    } catch { return nil }
    let digits = data.utf8.filter { !" \t\r\n".utf8.contains($0) }
    if version.hasPrefix("1") {
      var key: [UInt8] = []
      return Base64.append(decoding: digits, to: &key) && key.count == 32 ? key : nil
    }
    guard version.hasPrefix("2"), let key = [UInt8](hexadecimal: digits), key.count == 32 else { return nil }
    guard let hash = [UInt8](hexadecimal: Array(hash.utf8)), try Gcrypt.sha256(key).starts(with: hash) else {
      throw ImportFault("the key file is damaged: its key is not the one that it states the hash of", .damaged)
    }
    return key
  }
}
