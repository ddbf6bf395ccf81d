#if Daemon
  import CVaultProcess
  import CVaultSystem
  import Foundation
  import Logging
  import NIOCore
  import NIOPosix
  import Sealing
  import ServiceLifecycle
  import UnixSignals
  import VaultFoundation

  /// The daemon: one service for each kind of socket, and the state that they share.
  public struct Daemon: Sendable {
    let configuration: Configuration
    let logger: Logger
    let seal: Seal
    private let identity = TLSIdentity()

    init(_ configuration: Configuration, logger: Logger, seal: Seal) {
      (self.configuration, self.logger, self.seal) = (configuration, logger, seal)
    }

    /// Runs `vaultd` with these arguments until a signal ends it.
    ///
    /// It begins on the thread that calls it: the process is hardened before it has another thread or descriptor.
    ///
    /// - Returns: the process's exit status: 64 for a wrong command line, 1 if the daemon could not start.
    @MainActor public static func run(_ arguments: [String]) async -> Int32 {
      hardenProcess()
      cprocess_guard_output()
      _ = csystem_control_process(PR_SET_NO_NEW_PRIVS, 1)
      if arguments.contains("--help") { return tell(Configuration.usage, to: FileHandle.standardOutput) }
      if arguments == ["--version"] {
        return tell("vaultd \(BuildVersions.vault)\n", to: FileHandle.standardOutput)
      }
      if arguments == ["--read-secret-service"] { return tellSecrets() }
      let environment = ProcessInfo.processInfo.environment
      do {
        let configuration = try Configuration(arguments: arguments, environment: environment, user: geteuid())
        if configuration.isCheck { return check(configuration) }
        Handover.Signals.ignore()
        LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
        let logger = Logger(label: "vaultd")
        // Each connection needs a descriptor.
        cprocess_raise_descriptor_limit()
        SecretStore.keepManyGroups()
        if cprocess_lock_memory() != 0 { logger.warning("the memory cannot be locked") }
        let signals = await Handover.Signals(ends: [.sigterm, .sigint])
        let sockets = try openSockets(configuration, environment)
        let handover = Handover(sockets, signals, SystemdNotices(environment))
        handover.follow()
        let seal = Seal(configuration)
        do throws(VaultError) {
          try seal.unseal()
        } catch {
          logger.warning("the daemon is sealed", metadata: error.metadata)
        }
        let daemon = Daemon(configuration, logger: logger, seal: seal)
        try await daemon.serve(on: sockets, handover: handover)
        let code = handover.isWanted ? await handover.start(CommandLine.arguments) : 0
        guard code == 0 else {
          return tell("vaultd: error: the new version does not start: \(unsafe String(cString: strerror(code)))\n", 1)
        }
        handover.removeSockets()
        return 0
      } catch let problem as Configuration.Problem {
        return tell("vaultd: error: \(problem.message)\n\(Configuration.usage)", 64)
      } catch let problem as ListeningSocket.Problem {
        return tell("vaultd: error: \(problem.message)\n", 1)
      } catch let error as VaultError {
        return tell("vaultd: error: \(error.message)\n", 1)
      } catch {
        return tell("vaultd: error: \(type(of: error))\n", 1)
      }
    }

    private static func tell(
      _ text: String, to file: FileHandle = .standardError, _ status: Int32 = 0
    ) -> Int32 {
      try? file.write(contentsOf: Data(text.utf8))
      return status
    }

    /// Writes the items of the running Secret Service, for `vault import`; never to a terminal.
    private static func tellSecrets() -> Int32 {
      guard isatty(STDOUT_FILENO) == 0 else {
        return tell("vaultd: error: secrets are not written to a terminal: vault import --from secret-service\n", 64)
      }
      do {
        let (json, count, unread) = try RunningSecrets().export()
        guard count > 0 || unread == 0 else {
          return tell(
            "vaultd: error: all items are locked or cannot be read; unlock them in the program that keeps them\n", 1)
        }
        try FileHandle.standardOutput.write(contentsOf: Data(json))
        return 0
      } catch let failure as BusFailure {
        return tell("vaultd: error: \(failure.message)\n", 1)
      } catch {
        return tell(
          "vaultd: error: no Secret Service answers on the session bus; start the program that keeps the items\n", 1)
      }
    }

    private static func check(_ configuration: Configuration) -> Int32 {
      let problems = ConfigurationCheck(configuration).problems()
      guard !problems.isEmpty else { return tell("vaultd: no problems found\n", to: .standardOutput) }
      return tell(problems.map { "vaultd: \($0)\n" }.joined(), 1)
    }

    /// The sockets of systemd or of a handover, and those that the command line names.
    ///
    /// - Parameter first: the number of the first descriptor that was passed.
    static func openSockets(
      _ configuration: Configuration, _ environment: [String: String], first: CInt = 3
    ) throws(ListeningSocket.Problem) -> [ListeningSocket] {
      var sockets = try ListeningSocket.activated(by: environment, first: first)
      let own = (environment[Handover.pathsVariable] ?? "").split(separator: "\n").map(String.init)
      for index in sockets.indices { sockets[index].path = own.first(where: sockets[index].isBound) }
      for (path, name) in [(configuration.socket, ListeningSocket.http), (configuration.agent, ListeningSocket.agent)] {
        guard let path, !sockets.contains(where: { $0.isBound(to: path) }) else { continue }
        sockets.append(try .unix(at: path, name: name))
      }
      if let address = configuration.address, !sockets.contains(where: { $0.kind == .tcp }) {
        sockets.append(try .tcp(address))
      }
      return sockets
    }

    /// Answers on `sockets` until a signal, or the cancellation of the task, ends it gracefully.
    func serve(on sockets: [ListeningSocket], handover: Handover) async throws {
      let connections = Connections(configuration.limits) { [seal] peer in
        seal.current?.callers.recognizes(peer) ?? false
      }
      let (location, joined) = (configuration.location, JoinedStores())
      let replication = Replication(
        { [seal] in
          guard !seal.isShut else { return [] }
          let found = try (seal.current?.publishedCopies() ?? []) + location.joinedCopies(joined)
          // It may have been sealed meanwhile, and the joined stores opened after that.
          if seal.isShut { joined.close() }
          return found
        }, logger, log: { remote, group in EtcdLog(try EtcdClient(remote), group: group.bytes) })
      seal.follow(
        Seal.Following(
          prepare: { [weak replication] in replication?.orderChanges(of: $0) },
          begin: { [weak replication] in Task { await replication?.refresh() } },
          end: { [weak replication] in
            replication?.endAll()
            joined.close()
          }))
      let messages = BodyBudget(limit: configuration.limits.messages)
      let answer = Interface(
        seal: seal, home: location.home, limits: configuration.limits,
        bodies: BodyBudget(limit: configuration.limits.bodies),
        strangersBodies: BodyBudget(limit: configuration.limits.strangersBodies), messages: messages,
        answers: BodyBudget(limit: configuration.limits.answers),
        failures: Failures(configuration.limits),
        metrics: DaemonMetrics(connections), replication: replication, logger: logger
      ).answer
      let services = sockets.filter { $0.name == ListeningSocket.http }.map { socket in
        Listener(
          socket: socket, limits: configuration.limits, connections: connections, logger: logger,
          identify: identification(on: socket), secure: security, answer: answer)
      }
      let credentials = CredentialAnswers(seal: seal, logger: logger)
      let doors = sockets.filter { $0.name == ListeningSocket.credentials }.map { socket in
        CredentialsDoor(
          socket: socket, manager: configuration.manager, limits: configuration.limits, logger: logger,
          answer: credentials.value)
      }
      let asking = Asking(
        named: configuration.pinentry, environment: ProcessInfo.processInfo.environment, logger: logger)
      let agents = sockets.filter { $0.name == ListeningSocket.agent }.map { socket in
        AgentDoor(
          socket: socket, manager: configuration.manager, usesPeerDescriptors: configuration.usesPeerDescriptors,
          limits: configuration.limits, connections: connections, bodies: messages,
          answer: SSHAgent(seal: seal, asking: asking, logger: logger).answer)
      }
      let secrets =
        configuration.secretService.isEmpty
        ? []
        : [
          SecretsDoor(
            groups: configuration.secretService, seal: seal, location: location,
            asking: asking, logger: logger)
        ]
      let notices = handover.notices
      let upkeep = Upkeep(seal: seal, notices: notices, logger: logger, reloads: handover.signals.reload)
      // They end one by one, the last of the list first.
      try await ServiceGroup(
        configuration: ServiceGroupConfiguration(
          services: ([notices] as [any Service] + services + doors + agents + secrets + [upkeep, replication, asking])
            .map { .init(service: $0) }
            + [.init(service: handover, successTerminationBehavior: .gracefullyShutdownGroup)],
          logger: logger)
      ).run()
      try? await seal.current?.recorder.finish()
    }

    /// The certificate and key for a connection over TCP.
    @Sendable private func security() async throws -> TLSIdentity.Security {
      guard let opened = seal.current else { throw Refusal.sealed }
      let settings = try await Blocking.read { try opened.callers.settings(of: opened.store) }
      do { return try identity.security(settings) } catch {
        logger.error("connections over TCP cannot be answered", metadata: ["error": "\(error.message)"])
        throw error
      }
    }

    private func identification(
      on socket: ListeningSocket
    ) -> @Sendable (any Channel) -> EventLoopFuture<Peer> {
      guard socket.kind == .unix else {
        return { channel in
          channel.eventLoop.makeSucceededFuture(Peer(address: channel.remoteAddress?.ipAddress ?? "unknown"))
        }
      }
      let (manager, usesDescriptor) = (configuration.manager, configuration.usesPeerDescriptors)
      return { channel in
        channel.eventLoop.makeCompletedFuture { try channel.peer(usesDescriptor: usesDescriptor, manager: manager) }
      }
    }
  }
#endif
