internal import Vault

/// An error of the command line itself: its arguments, its input, its output. What the store refuses is a `VaultError`.
///
/// The texts never hold an argument or a value: whoever mistypes a command may have typed a secret.
struct Failure: Error, Equatable {
  let status: ExitStatus
  let message: String
  var hint: String?
  /// Which proof failed, where one did.
  var level: String?

  /// Ends the program without a word, as when the reader of a pipe has gone.
  var isSilent = false

  var isAboutArguments = false

  init(_ status: ExitStatus, _ message: String, hint: String? = nil) {
    self.status = status
    self.message = message
    self.hint = hint
  }

  /// The command line is not understood: the forms of the command are shown under the message.
  static func usage(_ message: String, hint: String? = nil) -> Failure {
    var failure = Failure(.usage, message, hint: hint)
    failure.isAboutArguments = true
    return failure
  }

  /// A passphrase or value was being asked for, and the user ended the program instead.
  static let interrupted = Failure(.interrupted, "interrupted")

  /// Whoever read our output wants no more of it. That is his decision and no failure of ours.
  static let readerGone: Failure = {
    var failure = Failure(.success, "the reader of the output has gone")
    failure.isSilent = true
    return failure
  }()
}
