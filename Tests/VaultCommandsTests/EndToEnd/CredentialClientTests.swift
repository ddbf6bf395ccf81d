import Glibc
import Testing

@testable import VaultCommands

/// The real programs of AWS, Python and Ansible, which ask vault for their passwords.
@Suite(.needsClients) struct CredentialClientTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.linkHelpers()
    unsafe symlink(Executable.path, store.folder.file("bin/vault"))
    store.environment["clients"] = TestStore.pythonClients
    store.environment["clone"] = TestStore.clone
    // Settings of the machine's own pip must not reach these.
    store.environment["PIP_CONFIG_FILE"] = "/dev/null"
    store.environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
  }

  @Test func `aws takes its access key from credential_process`() {
    store.run(
      "set", "aws/deploy", "--type", "json",
      input: #"{"Credentials":{"AccessKeyId":"AKIA1","SecretAccessKey":"s3cret","SessionToken":"t0ken"}}"#)
    let result = store.clientWithServer(
      """
      export AWS_CONFIG_FILE="$folder/aws" AWS_SHARED_CREDENTIALS_FILE=/dev/null AWS_EC2_METADATA_DISABLED=true
      printf '[profile deploy]\\nregion = eu-west-1\\ncredential_process = vault credential aws aws/deploy\\n' >"$folder/aws"
      # The script's first line cannot name an interpreter in a folder with a space.
      "$clients/python3" "$clients/aws" --profile deploy --endpoint-url "http://$host" sts get-caller-identity
      """, login: "-")
    #expect(result.status == 0, "\(result)")
    #expect(result.output.contains(#""Arn": "AKIA1""#) && result.output.contains(#""UserId": "t0ken""#), "\(result)")
  }

  /// Builds the wheel, and installs it for this test alone.
  private let installation = """
    cp -r "$clone/tools/python" "$folder/source"
    "$clients/pip" wheel --quiet --no-deps --no-build-isolation --wheel-dir "$folder/wheels" "$folder/source" || exit 90
    "$clients/pip" install --quiet --no-deps --no-index --target "$folder/lib" "$folder"/wheels/*.whl || exit 91
    export PYTHONPATH="$folder/lib" PYTHONDONTWRITEBYTECODE=1

    """

  /// Runs the tests in Python whose class or name matches.
  private func conforms(_ filter: String) {
    store.run("group", "create", "work")
    let result = store.client(
      installation + #""$clients/pytest" -q -p no:cacheprovider -k '\#(filter)' "$clone/Tests/Clients/test_keyring.py""#
    )
    #expect(result.status == 0, "\(result.output) \(result.errors)")
    #expect(result.output.contains(" passed") && !result.output.contains(" failed"), "\(result.output)")
  }

  @Test func `our backend passes the conformance tests of Python's keyring`() {
    conforms("not a_password_is_in_no_argument")
  }

  @Test func `no password is in an argument or variable of the program that keyring starts`() {
    conforms("a_password_is_in_no_argument")
  }

  @Test func `twine and pip find their passwords through Python's keyring`() {
    let result = store.clientWithServer(
      installation + """
        printf s3cret | "$clients/keyring" set "http://$host/legacy/" ann || exit 1
        "$clients/twine" --no-color upload --disable-progress-bar --non-interactive --username ann \
          --repository-url "http://$host/legacy/" "$folder"/wheels/*.whl || exit 2
        printf s3cret | "$clients/keyring" set "$host" ann || exit 3
        "$clients/pip" download --no-deps --no-input --keyring-provider import --trusted-host 127.0.0.1 \
          --index-url "http://ann@$host/simple/" --dest "$folder/found" keyring-vault || exit 4
        cmp "$folder"/wheels/*.whl "$folder"/found/*.whl && vault list python/ && grep -rl s3cret "$folder/store"
        """, login: "ann:s3cret")
    #expect(result.output.contains("/legacy//ann\t\t1\t"), "\(result)")
    #expect(!(result.output + result.errors).contains("s3cret"), "\(result)")
  }

  @Test func `ansible runs the task of the guide`() throws {
    store.run("group", "create", "orders.shared")
    store.run("set", "db/password", "-g", "orders.shared", input: "hunter2")
    let result = store.client(
      """
      export HOME="$folder" ANSIBLE_HOME="$folder/ansible" ANSIBLE_LOCALHOST_WARNING=False ANSIBLE_NOCOLOR=1
      { printf -- '- hosts: localhost\\n  gather_facts: false\\n  tasks:\\n'
        sed -n '/^```yaml$/,/^```$/{//!s/^/    /p}' "$clone/docs/guide/ansible.md" | sed "s|/etc/app/password|$folder/written|"
      } >"$folder/play.yml"
      "$clients/ansible-playbook" -i localhost, -c local -v "$folder/play.yml"
      """)
    try #require(result.status == 0, "\(result)")
    #expect(String(decoding: store.folder.read("written"), as: UTF8.self) == "hunter2")
    #expect(store.folder.mode("written") == 0o400)
    #expect(!(result.output + result.errors).contains("hunter2"))
  }
}
