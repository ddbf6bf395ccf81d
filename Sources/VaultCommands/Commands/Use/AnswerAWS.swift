internal import Exchange
internal import Vault

/// `vault credential aws NAME`
struct AnswerAWS: Command {
  static let about = About(
    "Be the credential_process of the AWS tools: write an access key as they expect it.",
    usage: "vault credential aws NAME [-g GROUP]",
    more: """
      The item is JSON with the fields AccessKeyId and SecretAccessKey and, for a temporary key, SessionToken and \
      Expiration. The output of aws sts and of aws iam create-access-key can be stored unchanged. If the value has no \
      Expiration, the item's expiry is used. An expired key is not written.
      """,
    example: """
      aws iam create-access-key | vault set aws/deploy --type json
      aws configure set credential_process 'vault credential aws aws/deploy' --profile deploy
      """)

  let name: String
  let group: String?
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The item that holds the access key.", completes: .items)
    group = arguments.group()
    key = try KeySource(&arguments)
  }

  /// The members in which AWS's commands wrap an access key.
  private static let frames = ["Credentials", "AccessKey"]

  func run(in session: Session) throws {
    let opened = try session.openGroup(group, key).open(name)
    guard !opened.item.hasExpired else { throw Self.expired }
    let text = opened.secret.exportInsecurelyAsString()
    guard let text, let value = try? JSONValue(parsing: text) else { throw Self.unfit }
    let access = Self.frames.lazy.compactMap { value[$0] }.first ?? value
    guard let id = try Self.text("AccessKeyId", of: access), let secret = try Self.text("SecretAccessKey", of: access)
    else { throw Self.unfit }
    let token = try Self.text("SessionToken", of: access)
    let expiration = try Self.text("Expiration", of: access) ?? opened.item.expires?.text
    if let expiration {
      guard let end = UTCDate.moment(expiration) else {
        throw Failure(.usage, "the access key's Expiration is not a time such as 2030-01-02T03:04:05Z")
      }
      guard end.milliseconds > Int64(Timestamp.now.milliseconds) else { throw Self.expired }
    }
    var json = JSONWriter(session.output)
    try json.object { (json) throws(Failure) in
      try json.number("Version", 1)
      try json.string("AccessKeyId", id)
      try json.string("SecretAccessKey", secret)
      if let token { try json.string("SessionToken", token) }
      if let expiration { try json.string("Expiration", expiration) }
    }
  }

  /// The text of a member; `nil` if it is absent or null.
  ///
  /// - Throws: ``unfit`` for any other value, and for an empty text. Otherwise a temporary key could pass for a
  ///   permanent one.
  private static func text(_ name: String, of access: JSONValue) throws(Failure) -> String? {
    guard let member = access[name], member != .null else { return nil }
    guard let text = member.text, !text.isEmpty else { throw unfit }
    return text
  }

  private static let expired = Failure(
    .notFound, "the access key has expired", hint: "store a new one; vault history shows when this one was set")

  private static let unfit = Failure(
    .usage, "the item is not JSON with the texts AccessKeyId and SecretAccessKey",
    hint:
      #"printf '{"AccessKeyId":"%s","SecretAccessKey":"%s"}' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" | vault set NAME --type json; or what aws iam create-access-key writes"#
  )
}
