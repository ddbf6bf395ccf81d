import Testing

@testable import Exchange

@Suite struct GitCredentialTests {
  private func message(_ lines: String...) throws -> GitCredentialMessage {
    try GitCredentialMessage(Array((lines.joined(separator: "\n") + "\n").utf8))
  }

  private func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

  @Test func `fields of a capability that was not announced are ignored`() throws {
    let lines = ["authtype=Bearer", "credential=token", "state[]=a", "state[]=b"]
    #expect(GitCredential(try message(lines.joined(separator: "\n"))).secrets == GitCredential.Secrets())
    let told = try message("capability[]=authtype", "capability[]=state", lines.joined(separator: "\n"))
    let credential = GitCredential(told)
    #expect(text(credential.secrets.authtype) == "Bearer" && text(credential.secrets.credential) == "token")
    #expect(credential.secrets.state.map { text($0) } == ["a", "b"])
    #expect(GitCredential.Capabilities(told) == [.authtype, .state])
    #expect(GitCredential.Capabilities(try message("capability[]=other")) == [])
  }

  @Test(arguments: [
    ("1700000000", UInt64(1_700_000_000)), ("0", nil), ("-5", nil), ("soon", nil), ("", nil),
    ("99999999999999999999999", nil),
  ])
  func `an expiry that is not a positive number is ignored`(value: String, expiry: UInt64?) throws {
    #expect(GitCredential(try message("password_expiry_utc=\(value)")).expiry == expiry)
  }

  @Test func `a description matches the credentials that agree with all its fields`() throws {
    let stored = GitCredential(try message("protocol=https", "host=h", "path=p", "username=u", "password=x"))
    for pattern in ["", "protocol=https", "protocol=https\nhost=h", "path=p", "username=u", "password=other"] {
      #expect(stored.isMeant(by: GitCredential(try message(pattern))), "\(pattern)")
    }
    for pattern in ["protocol=http", "host=H", "host=h:443", "path=", "path=p/", "username=", "username=U"] {
      #expect(!stored.isMeant(by: GitCredential(try message(pattern))), "\(pattern)")
    }
    let pathless = GitCredential(try message("protocol=https", "host=h", "username=u"))
    #expect(!pathless.isMeant(by: GitCredential(try message("host=h", "path=p"))))
  }

  @Test func `an answer lists the capabilities first and contains only their fields`() throws {
    var credential = GitCredential(
      try message(
        "capability[]=authtype", "capability[]=state", "username=u", "password=p", "authtype=Bearer", "credential=c",
        "state[]=1", "oauth_refresh_token=r", "password_expiry_utc=4102444800", "protocol=https", "host=h"))
    #expect(
      text(try credential.answer([.authtype, .state]).bytes) == """
        capability[]=authtype
        capability[]=state
        username=u
        password=p
        password_expiry_utc=4102444800
        oauth_refresh_token=r
        authtype=Bearer
        credential=c
        state[]=1

        """)
    #expect(
      text(try credential.answer([]).bytes) == """
        username=u
        password=p
        password_expiry_utc=4102444800
        oauth_refresh_token=r

        """)
    credential.secrets.password = Array("p\nhost=evil".utf8)
    #expect(throws: GitCredentialMessage.Fault.unfit) { try credential.answer([]) }
  }

  @Test func `any word for true makes a credential ephemeral`() throws {
    for word in ["1", "true", "yes", "True", "on"] {
      #expect(GitCredential.isEphemeral(try message("ephemeral=\(word)")))
    }
    for word in ["0", "false", "", "no"] { #expect(!GitCredential.isEphemeral(try message("ephemeral=\(word)"))) }
    #expect(!GitCredential.isEphemeral(try message("a=b")))
  }
}
