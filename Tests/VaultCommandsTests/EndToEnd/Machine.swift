import Glibc
import Testing

/// What this machine lets a test do. A test that needs more is skipped, and says why.
enum Machine {
  static let isRoot = geteuid() == 0
  /// Mounts that nobody else sees and that go away with the process.
  static let canMount = isRoot && succeeds("unshare -m mount -t tmpfs none /tmp")
  static let canChangeUser = isRoot && succeeds("setpriv --reuid=12345 --clear-groups true")
  static let canTrace = succeeds("strace -qq -o /dev/null -e inject=getppid:error=EPERM true")
  static let canLimit = succeeds("prlimit --memlock=0 true")

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
  static var needsOtherUsers: Self { .enabled(if: Machine.canChangeUser, "needs root and setpriv") }
  static var needsTracing: Self { .enabled(if: Machine.canTrace, "needs strace, and the right to trace") }
  static var needsLimits: Self { .enabled(if: Machine.canLimit, "needs prlimit") }
  static var needsClients: Self {
    .enabled(if: RunLength.hasClients, "needs other programs: only with VAULT_TEST_CLIENTS=1")
  }
  static var needsKeyring: Self { .enabled(if: Machine.keepsKeys, "needs a kernel that keeps keys") }
  static var needsTime: Self { .enabled(if: RunLength.isFull, "takes long: only with VAULT_TEST_FULL=1") }
}

/// How much is run: all of a test with VAULT_TEST_FULL=1, otherwise a sample that is the same each time.
enum RunLength {
  static let isFull = isSet("VAULT_TEST_FULL")
  /// Whether the programs that are tested together with ours are here, which `tools/test --with-clients` sees to.
  static let hasClients = isSet("VAULT_TEST_CLIENTS")

  static func of(_ full: Int, sample: Int) -> Int { isFull ? full : sample }

  private static func isSet(_ variable: String) -> Bool {
    unsafe getenv(variable).map { unsafe String(cString: $0) } == "1"
  }
}

/// SplitMix64: the same numbers from the same seed.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
