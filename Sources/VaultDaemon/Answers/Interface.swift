#if Daemon
  import Hummingbird
  import Logging

  /// What is answered to a request, on whichever socket it came.
  struct Interface: Sendable {
    let seal: Seal
    let logger: Logger

    @Sendable func answer(_ request: Request, over connection: Connection) async -> Response {
      do {
        switch (request.method, request.uri.path) {
        case (.get, "/v1/sys/health"), (.head, "/v1/sys/health"): return SystemAnswers(seal: seal).health(request)
        default: throw Refusal.notFound
        }
      } catch {
        return Response(error as? Refusal ?? .unexpected)
      }
    }
  }
#endif
