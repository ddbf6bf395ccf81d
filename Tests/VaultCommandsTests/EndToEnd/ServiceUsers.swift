import Testing

@testable import VaultCommands

/// A store with three applications, each run by its own Unix user. All three users are in the Unix group 34567.
///
/// The applications `app.12345` and `app.12346` can write the groups `team` and `other`; `app.12347` can read them.
struct ServiceUsers {
  let store: TestStore

  init() throws {
    store = try TestStore()
    let made = shell(
      """
      chmod 711 "$folder"
      for group in team other; do "$vault" group create $group || exit; done
      for user in 12345 12346 12347; do
        rights=write; [ $user = 12347 ] && rights=read
        "$vault" app issue app.$user --output "$folder/credential-$user" --group team:$rights --group other:$rights || exit
        chown $user "$folder/credential-$user"
        mkdir -m 700 "$folder/state-$user" && chown $user "$folder/state-$user" || exit
      done
      "$vault" group share team --unix-group 34567
      """)
    try #require(made.status == 0, "\(made.errors)")
  }

  /// Runs a script as root. In it, `as USER COMMAND…` runs as that user's application, and `modes PATH…` shows modes.
  @discardableResult
  func shell(_ script: String) -> Executable.Result {
    store.shell(
      """
      cd "$folder" || exit
      as() {
        user=$1; shift
        setpriv --reuid=$user --regid=$user --groups=${GROUPS_OF_USER-34567} env -u HOME \\
          VAULT_STATE="$folder/state-$user" VAULT_CREDENTIAL="$folder/credential-$user" "$@"
      }
      modes() { stat -c '%a %u:%g %n' "$@"; }
      team=store/groups/team

      """ + script)
  }
}
