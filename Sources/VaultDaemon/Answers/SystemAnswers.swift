#if Daemon
  import Exchange
  import Foundation
  import HTTPTypes
  import Hummingbird
  import HummingbirdCore
  import VaultFoundation

  /// What the daemon says about itself: nobody needs rights for it.
  struct SystemAnswers: Sendable {
    let seal: Seal

    /// `/v1/sys/health`: 200, or 503 while sealed, or what the caller asks to get instead.
    func health(_ request: Request) -> Response {
      let isSealed = seal.isSealed
      let wanted = request.uri.queryParameters[isSealed ? "sealedcode" : "activecode"].flatMap { Int($0) }
      let code = wanted.flatMap { (200..<600).contains($0) ? $0 : nil } ?? (isSealed ? 503 : 200)
      return Response(
        HTTPResponse.Status(code: code),
        json: [
          "initialized": true, "sealed": .bool(isSealed), "standby": false, "performance_standby": false,
          "replication_performance_mode": "disabled", "replication_dr_mode": "disabled",
          "server_time_utc": .number(Int(Date().timeIntervalSince1970)), "version": .string(BuildVersions.vault),
          "cluster_name": "vaultd", "cluster_id": "",
        ])
    }
  }
#endif
