internal import Vault

/// The report of a failed command: words, or one object with `--json`, always on stderr.
struct ErrorReport: Equatable {
  let status: Int32
  let name: String
  let message: String
  var hint: String?
  /// The proof that failed, if one did.
  var level: String?

  /// Whether the command's usage is shown under it.
  var isAboutArguments = false

  /// - Parameter circumstances: those of the command, for the message and the hint.
  init(_ error: any Error, in circumstances: Circumstances = Circumstances()) {
    switch error {
    case let failure as Failure: self.init(failure)
    case let error as VaultError: self.init(error, in: circumstances)
    default: self.init(Failure(.unexpected, "something unexpected happened"))
    }
  }

  private init(_ error: VaultError, in circumstances: Circumstances) {
    status = error.status
    name = error.name
    message = error.message(in: circumstances)
    hint = error.hint(in: circumstances)
    level = error.level
  }

  private init(_ failure: Failure) {
    status = failure.status.rawValue
    name = failure.status.name
    message = failure.message
    hint = failure.hint
    level = failure.level
    isAboutArguments = failure.isAboutArguments
  }

  /// The report in words: `vault: error: …` and `vault: hint: …`, wrapped for a terminal of `columns`.
  func words(_ style: Style, columns: Int? = nil) -> String {
    let error = style.red("vault: error:") + Help.wrapped(message, after: "vault: error:", columns)
    return error + (hint.map { style.yellow("vault: hint:") + Help.wrapped($0, after: "vault: hint:", columns) } ?? "")
  }

  /// The report as one JSON object.
  func write(to output: Output) throws(Failure) {
    var json = JSONWriter(output)
    try write(nil, to: &json)
    try output.flush()
  }

  /// An error as part of a command's data, or null.
  static func write(_ error: VaultError?, as key: StaticString, to json: inout JSONWriter) throws(Failure) {
    guard let error else { return try json.null(key) }
    try ErrorReport(error).write(key, to: &json)
  }

  private func write(_ key: StaticString?, to json: inout JSONWriter) throws(Failure) {
    try json.object(key) { (json) throws(Failure) in
      try json.number("status", status)
      try json.string("name", name)
      try json.string("message", message)
      try json.string("hint", orNull: hint)
      try json.string("level", orNull: level)
    }
  }
}
