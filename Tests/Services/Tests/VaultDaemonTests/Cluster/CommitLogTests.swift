import Testing

@testable import VaultDaemon

@Suite struct CommitLogTests {
  @Test(.enabled(if: EtcdCluster.isInstalled, "\(EtcdCluster.needsEtcd)"), arguments: CommitLogCheck.all)
  func `etcd is a log of commits`(_ check: CommitLogCheck) async throws {
    try await check.run(on: try await EtcdCluster.shared().log())
  }

  @Test(arguments: CommitLogCheck.all)
  func `the log in memory is a log of commits`(_ check: CommitLogCheck) async throws {
    try await check.run(on: MemoryLog(MemoryLogServer()))
  }
}
