import Glibc
import TestSupport
import Testing

/// The features that this machine offers to tests. A test that needs a missing one is skipped with the reason.
enum Machine {
  static let isRoot = geteuid() == 0
  /// Private mounts that disappear with the process.
  static let canMount = isRoot && succeeds("unshare -m mount -t tmpfs none /tmp")
  static let canChangeUser = isRoot && succeeds("setpriv --reuid=12345 --clear-groups true")
  static let canTrace = succeeds("strace -qq -o /dev/null -e inject=getppid:error=EPERM true")
  static let canLimit = succeeds("prlimit --memlock=0 true")
  static let hasFUSE = succeeds("test -c /dev/fuse")
  static let makesDevices = succeeds(
    "unshare --mount sh -c 'mount -t tmpfs none /mnt && mknod /mnt/random c 1 9 && test -r /mnt/random'")
  static let hasPython = succeeds("/usr/bin/python3 -c pass")

  /// Containers usually forbid it.
  static let keepsKeys: Bool = {
    guard let store = try? TestStore() else { return false }
    return store.run("unlock", "--for", "60s").status == 0 && store.run("lock").status == 0
  }()

  static let path = "/usr/sbin:/usr/bin:/sbin:/bin"

  private static func succeeds(_ script: String) -> Bool {
    Executable(["-c", script], program: "/bin/sh", environment: ["PATH": path]).wait().status == 0
  }
}

extension Trait where Self == ConditionTrait {
  static var needsRoot: Self { .enabled(if: Machine.isRoot, "needs root") }
  static var needsMounts: Self { .enabled(if: Machine.canMount, "needs root and mount namespaces") }
  static var needsFUSE: Self { .enabled(if: Machine.hasFUSE, "needs file systems in user space") }
  static var needsDevices: Self { .enabled(if: Machine.makesDevices, "needs mounts and device files of its own") }
  static var needsOtherUsers: Self { .enabled(if: Machine.canChangeUser, "needs root and setpriv") }
  static var needsTracing: Self { .enabled(if: Machine.canTrace, "needs strace, and the right to trace") }
  static var needsLimits: Self { .enabled(if: Machine.canLimit, "needs prlimit") }
  static var needsClients: Self {
    .enabled(if: RunLength.hasClients, "needs other programs: only with VAULT_TEST_CLIENTS=1")
  }
  static var needsKeyring: Self { .enabled(if: Machine.keepsKeys, "needs a kernel that keeps keys") }
  static var needsTime: Self { .enabled(if: RunLength.isFull, "takes long: only with VAULT_TEST_FULL=1") }
}
