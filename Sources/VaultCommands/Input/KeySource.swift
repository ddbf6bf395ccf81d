/// What the command line named to open the store with. A source that is named is final: nothing else is tried.
struct KeySource: Equatable {
  var keyFile: String?
  var passphraseDescriptor: Int32?

  /// The longest passphrase, in bytes.
  static let passphraseLimit = 1_024
}
