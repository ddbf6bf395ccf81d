/// The formats that `vault-exchange` reads, by the names that `vault import --from` has for them.
package enum ForeignFormat: String, CaseIterable, Sendable {
  /// A database of KeePass, version 3.1 or 4.
  case kdbx
  case keepassXML = "keepass-xml"
  /// Bitwarden's JSON, in the clear or encrypted with a passphrase.
  case bitwarden
  /// What 1Password 8 exports.
  case onePassword = "1pux"
  /// What `security dump-keychain -d` prints on a Mac.
  case keychain
  case yaml
  /// A YAML or JSON file of sops, encrypted for age.
  case sops

  /// Whether a file of this format always needs a passphrase or a key file.
  package var isAlwaysLocked: Bool { self == .kdbx }
}
