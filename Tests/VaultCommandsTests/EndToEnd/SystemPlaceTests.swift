import Testing

@testable import VaultCommands

/// Root's store in the system's folders, in a mount namespace where `/var/lib` is empty, so that nothing is left behind.
@Suite(.needsMounts, .needsOtherUsers) struct SystemPlaceTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  /// Runs a script without variables for the store, in which `service COMMAND…` is the application of another user.
  private func shell(_ script: String) -> Executable.Result {
    store.shellWithMounts(
      """
      mount -t tmpfs -o mode=755 none /var/lib || exit 77
      unset VAULT_HOME VAULT_STATE; export XDG_DATA_HOME="$folder/data" XDG_STATE_HOME="$folder/state" HOME="$folder"
      service() { setpriv --reuid=12345 --regid=12345 --groups=34567 env -u XDG_DATA_HOME -u XDG_STATE_HOME \\
        HOME=/nonexistent VAULT_CREDENTIAL=/var/lib/web/credential "$@"; }
      "$vault" init --key-file /var/lib/key 2>/dev/null || exit

      """ + script)
  }

  @Test func `root's store is /var/lib/vault and its state is /var/lib/vault-state`() {
    let result = shell(
      """
      printf x | "$vault" set a && "$vault" get a; echo
      find /var/lib -maxdepth 2 -printf '%p %m\\n' | sort | sed -E 's#settings-[0-9a-f]*#settings-OWNER#'; ls "$folder/data" 2>&1 | wc -l
      "$vault" paths | cut -f1,2,3,4 | sed -E 's#(witness/|settings-)[0-9a-f]*#\\1OWNER#'
      """)
    #expect(
      result.output == """
        x
        /var/lib 755
        /var/lib/key 600
        /var/lib/vault 700
        /var/lib/vault-state 700
        /var/lib/vault-state/settings-OWNER 600
        /var/lib/vault-state/witness 700
        /var/lib/vault/groups 700
        /var/lib/vault/identity 700
        1
        store\t/var/lib/vault\t700\tyes
        identity\t/var/lib/vault/identity\t700\tyes
        groups\t/var/lib/vault/groups\t700\tyes
        state\t/var/lib/vault-state\t700\tno
        witnesses\t/var/lib/vault-state/witness/OWNER\t700\tno
        device key\t/var/lib/vault-state/device.key\t600\tno
        settings\t/var/lib/vault-state/settings-OWNER\t600\tno
        key file\t/var/lib/key\t600\tapart

        """, "\(result.errors)")
  }

  @Test func `a service of another user reaches root's store with VAULT_HOME, a credential and its own state folder`() {
    let result = shell(
      """
      mkdir -m 755 /var/lib/web; "$vault" group create web.shared --unix-group 34567
      "$vault" app issue web --output /var/lib/web/credential --group web.shared:write 2>/dev/null
      chown 12345 /var/lib/web /var/lib/web/credential
      service "$vault" get a -g web.shared 2>/dev/null; echo "not named: $?"
      export VAULT_HOME=/var/lib/vault VAULT_STATE=/var/lib/web/state VAULT_GROUP=web.shared
      printf served | service "$vault" set a && env -u VAULT_HOME -u VAULT_STATE "$vault" get a; echo
      service "$vault" list --all | cut -f1,2
      stat -c '%a %u:%g %n' /var/lib/vault /var/lib/web/state
      service "$vault" paths | cut -f1,2,3,4,5 | sed -E 's#(witness/|settings-)[0-9a-f]*#\\1OWNER#'
      """)
    #expect(
      result.output == """
        not named: 21
        served
        web.shared\ta
        711 0:0 /var/lib/vault
        700 12345:12345 /var/lib/web/state
        store\t/var/lib/vault\t711\tyes\t
        identity\t/var/lib/vault/identity\t700\tyes\t
        groups\t/var/lib/vault/groups\t711\tyes\t
        group web.shared\t/var/lib/vault/groups/web.shared\t2770\tyes\t34567
        state\t/var/lib/web/state\t700\tno\t
        witnesses\t/var/lib/web/state/witness/OWNER\t700\tno\t
        device key\t/var/lib/web/state/device.key\t600\tno\t
        settings\t/var/lib/web/state/settings-OWNER\t600\tno\t
        credential\t/var/lib/web/credential\t600\tno\t

        """, "\(result.errors)")
  }

  @Test func `root as an application uses the store of its owner and no other store`() {
    let result = shell(
      """
      mkdir -m 711 /var/lib/user && chown 12345 /var/lib/user && cd /var/lib/user
      own() { setpriv --reuid=12345 --regid=12345 --clear-groups env VAULT_HOME=/var/lib/user/store \\
        VAULT_STATE=/var/lib/user/state "$vault" "$@"; }
      own init --key-file /var/lib/user/key 2>/dev/null
      own app issue web --output /var/lib/user/credential --group default:read 2>/dev/null
      printf mine | own set a; cp credential /var/lib/credential; chmod 600 /var/lib/credential
      export VAULT_HOME=/var/lib/user/store VAULT_CREDENTIAL=/var/lib/credential
      "$vault" get a -g default; echo; VAULT_CREDENTIAL= "$vault" get a --key-file /var/lib/user/key 2>&1 | head -1
      chown 54321 store/groups/default; "$vault" get a -g default 2>&1 | head -1
      """)
    #expect(
      result.output == """
        mine
        vault: error: the system's permissions do not allow it: the store belongs to another user
        vault: error: the system's permissions do not allow it: the group's folder belongs to another user

        """, "\(result.errors)")
  }
}
