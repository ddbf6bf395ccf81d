package import Exchange

/// A file that another program wrote, with the secrets that open it.
package struct ForeignFile {
  package typealias Format = ForeignFormat

  /// The maximum size of a file in bytes.
  package static let limit = 64 << 20

  private let bytes: [UInt8]
  private let passphrase: [UInt8]?
  private let keyFile: [UInt8]?

  /// - Parameter passphrase: nil if none was given. An empty one counts as given.
  package init(_ bytes: [UInt8], passphrase: [UInt8]? = nil, keyFile: [UInt8]? = nil) {
    self.bytes = bytes
    self.passphrase = passphrase
    self.keyFile = keyFile
  }

  package static var noAge: ImportFault { ImportFault("age is not at hand", .unsupported) }

  /// Passes on the content, entry by entry.
  ///
  /// - Parameter open: opens text that age sealed.
  /// - Throws: the error that kept it from being read, or the error of `found`. Entries that were passed on before must
  ///   not be used then.
  package func read(
    as format: Format,
    age open: ([UInt8]) throws(ImportFault) -> [UInt8] = { _ throws(ImportFault) in throw ForeignFile.noAge },
    _ found: (EntryLine) throws(ImportFault) -> Void
  ) throws(ImportFault) {
    switch format {
    case .kdbx: try KeePassFile.read(bytes, KeePassKey(passphrase: passphrase, keyFile: keyFile), found)
    case .keepassXML:
      var document = KeePassDocument(exported: bytes)
      try document.read(found)
    case .bitwarden:
      var export = try BitwardenExport(bytes, passphrase: passphrase)
      try export.read(found)
    case .onePassword:
      var export = try OnePasswordExport(bytes)
      try export.read(found)
    case .yaml, .sops: try SopsFile(bytes, isSealed: format == .sops, open: open).read(found)
    case .keychain:
      var dump = try KeychainDump(bytes)
      try dump.read(found)
    }
  }
}
