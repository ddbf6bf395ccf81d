/// The formats that `vault-exchange` reads, with their names in `vault import --from`.
package enum ForeignFormat: String, CaseIterable, Sendable {
  /// A database of KeePass, version 3.1 or 4.
  case kdbx
  case keepassXML = "keepass-xml"
  /// Bitwarden's JSON, unencrypted or encrypted with a passphrase.
  case bitwarden
  /// An export of 1Password 8.
  case onePassword = "1pux"
  /// The output of `security dump-keychain -d` on a Mac.
  case keychain
  case yaml
  /// A YAML or JSON file of sops, encrypted for age.
  case sops

  /// Whether a file of this format always needs a passphrase or a key file.
  package var isAlwaysLocked: Bool { self == .kdbx }
}
