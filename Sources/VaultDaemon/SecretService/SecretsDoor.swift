#if Daemon
  import Logging
  import ServiceLifecycle
  import Synchronization
  import VaultFoundation

  /// Answers `org.freedesktop.secrets` on the session bus. The calls of one client are answered one after the other,
  /// except those of the portal.
  struct SecretsDoor: Service {
    let groups: [String]
    let seal: Seal
    let location: StoreLocation
    let asking: Asking
    let logger: Logger

    static let name = "org.freedesktop.secrets"
    /// How often to look for changes of others that nobody asked about, and for a bus that has ended.
    private static let pause = Duration.seconds(5)

    func run() async throws {
      var lastCode: Int32 = 0
      while true {
        let code = await serve()
        // Tried again every few seconds, a bus that stays away is told once.
        if code != 0, code != lastCode { logger.error("the session bus is gone", metadata: ["errno": "\(code)"]) }
        lastCode = code
        guard !Task.isShuttingDownGracefully, !Task.isCancelled else { return }
        // A bus that has ended may begin again at the same address.
        try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.pause) }
      }
    }

    /// Answers until the end of the bus or of the daemon.
    ///
    /// - Returns: the number of the error that ended it, or 0.
    private func serve() async -> Int32 {
      let (events, continuation) = AsyncStream<BusConnection.Event>.makeStream()
      let connection = BusConnection(name: Self.name) { continuation.yield($0) }
      let service = SecretService(
        groups: groups, seal: seal, location: location, asking: asking, logger: logger,
        send: { connection.send($0) })
      await service.addMadeCollections()
      connection.start()
      let turns = seal.turns()
      let watching = [
        Task {
          repeat { await service.lookForChanges() } while (try? await Task.sleep(for: Self.pause)) != nil
        },
        Task { for await _ in turns { await service.lookForChanges() } },
      ]
      defer { for task in watching { task.cancel() } }
      let code = await withGracefulShutdownHandler {
        // Its own end comes when the connection has sent everything.
        var turns: [String: Task<Void, Never>] = [:]
        var endCode: Int32 = 0
        for await event in events {
          switch event {
          case .call(let call):
            // The portal calls for all sandboxed programs, and the question to one must not hold up the others.
            guard !call.isFromPortal else {
              Task { connection.answer(call, await service.answer(call)) }
              continue
            }
            let before = turns[call.sender]
            turns[call.sender] = Task {
              await before?.value
              connection.answer(call, await service.answer(call))
            }
          case .left(let client):
            let before = turns.removeValue(forKey: client)
            Task {
              await before?.value
              await service.forget(client)
            }
          case .name(true, _): logger.info("the Secret Service is answered", metadata: ["groups": "\(groups)"])
          case .name(false, let owner):
            logger.warning(
              "another program answers the Secret Service; vaultd waits until that ends",
              metadata: ["program": "\(owner ?? "unknown")"])
          case .ended(let code):
            endCode = code
            continuation.finish()
          }
        }
        // Nobody waits for their questions any more.
        for client in turns.keys { await service.forget(client) }
        return endCode
      } onGracefulShutdown: {
        connection.end()
      }
      return code
    }
  }
#endif
