import Testing

@testable import VaultCommands

/// What the AWS tools get from their `credential_process`.
@Suite struct AWSCredentialCommandTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  private func write(_ value: String, _ options: String...) -> Transcript {
    let set = Transcript(["set", "aws/deploy"] + options, input: Array(value.utf8), environment: store.environment)
    #expect(set.status == 0, "\(set.errors)")
    return store.run("credential", "aws", "aws/deploy")
  }

  private let plain = #"{"AccessKeyId":"AKIA1","SecretAccessKey":"s3/cret"}"#

  @Test func `an access key is written in the form of the tools`() {
    let written = write(plain, "--type", "json")
    #expect(written.status == 0 && written.errors.isEmpty)
    #expect(written.output == #"{"Version":1,"AccessKeyId":"AKIA1","SecretAccessKey":"s3/cret"}"# + "\n")
    let temporary = write(
      #"{"AccessKeyId":"A","SecretAccessKey":"s","SessionToken":"t","Expiration":"2099-01-01T00:00:00+00:00"}"#)
    #expect(
      temporary.output
        == #"{"Version":1,"AccessKeyId":"A","SecretAccessKey":"s","SessionToken":"t","Expiration":"2099-01-01T00:00:00+00:00"}"#
        + "\n")
  }

  @Test(arguments: [
    #"{"AccessKey":{"UserName":"u","AccessKeyId":"AKIA1","Status":"Active","SecretAccessKey":"s3/cret"}}"#,
    #"{"Credentials":{"AccessKeyId":"AKIA1","SecretAccessKey":"s3/cret"},"AssumedRoleUser":{"Arn":"a"}}"#,
  ]) func `the output of aws can be stored unchanged`(value: String) {
    #expect(
      write(value, "--type", "json").output
        == #"{"Version":1,"AccessKeyId":"AKIA1","SecretAccessKey":"s3/cret"}"# + "\n")
  }

  @Test func `an item's expiry is the key's, and an expired key is not written`() {
    #expect(write(plain, "--expires", "2099-01-01").output.hasSuffix(#","Expiration":"2099-01-01T00:00:00Z"}"# + "\n"))
    for expired in [
      write(plain, "--expires", "2020-01-01"),
      write(#"{"AccessKeyId":"A","SecretAccessKey":"s","Expiration":"2020-01-01T00:00:00Z"}"#, "--expires", "never"),
    ] {
      #expect(expired.status == 10 && expired.output.isEmpty)
      #expect(expired.errors.hasPrefix("vault: error: the access key has expired\n"))
    }
  }

  @Test(arguments: ["s3cret", "{}", #"{"AccessKeyId":"A"}"#, #"{"AccessKeyId":1,"SecretAccessKey":"s3cret"}"#, "[1]"])
  func `another value is refused without being repeated`(value: String) {
    let refused = write(value)
    #expect(refused.status == 64 && refused.output.isEmpty)
    #expect(!refused.errors.contains("s3cret"))
    #expect(refused.errors.contains("the item is not JSON with the texts AccessKeyId and SecretAccessKey"))
  }

  @Test(arguments: [
    #""SessionToken":5"#, #""SessionToken":"""#, #""Expiration":1577836800"#, #""Expiration":"20200101T000000Z""#,
    #""Expiration":"2020-01-01 00:00:00""#,
  ])
  func `a temporary key is never written as a permanent one`(member: String) {
    let refused = write(#"{"AccessKeyId":"A","SecretAccessKey":"s3cret",\#(member)}"#)
    #expect(refused.status == 64 && refused.output.isEmpty && !refused.errors.contains("s3cret"))
  }

  @Test func `a missing item is reported as not found`() {
    #expect(store.run("credential", "aws", "absent").status == 10)
  }
}
