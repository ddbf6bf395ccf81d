internal import Vault

/// `vault read REFERENCE`
struct ReadReference: Command {
  static let about = About(
    "Write exactly the bytes of the value that a reference names.",
    usage: "vault read vault://GROUP/NAME[#FIELD]",
    more: """
      A field belongs to a value of type json or to an archived object. White space, '#' and '%' in names are \
      written as '%' and two hexadecimal digits. A reference without a group (vault:///NAME) uses the store's \
      default group.
      """,
    example: """
      vault read vault://team.shared/db/password
      """)

  let reference: String
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    reference = try arguments.argument("reference", "The reference to read.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let secret = try References(session, key).value(of: References.parse(reference))
    try unsafe secret.withUnsafeBytes { bytes in
      guard session.output.isTerminal else { return try unsafe session.output.write(bytes) }
      try unsafe session.output.requireTextIfTerminal(bytes, hint: "pipe it")
      try unsafe session.output.write(bytes)
      if unsafe bytes.last != UInt8(ascii: "\n") { try session.output.write("\n") }
    }
  }
}
