#if Daemon
  import Glibc
  import Logging
  import ServiceLifecycle
  import UnixSignals
  import VaultFoundation

  /// The daemon's maintenance: it reloads its credential and settings (SIGHUP), tries again to open a store that did not
  /// open, logs the end of the record, drops old months of it, and removes expired tokens.
  struct Upkeep: Service {
    let seal: Seal
    let notices: SystemdNotices
    let logger: Logger
    let reloads: UnixSignalsSequence
    private static let minute = Duration.seconds(60)

    func run() async throws {
      await withTaskGroup(of: Void.self) { tasks in
        tasks.addTask { await followSignals() }
        tasks.addTask { await openStore() }
        tasks.addTask { await followRecord() }
        tasks.addTask { await sweepTokens() }
        try? await gracefulShutdown()
        tasks.cancelAll()
      }
    }

    private func followSignals() async {
      for await _ in reloads.cancelOnGracefulShutdown() {
        await notices.reloading { await reload() }
      }
    }

    /// Opens the store again. If that fails, the daemon continues with the old one.
    private func reload() async {
      do {
        try await Blocking.read { try seal.reopen() }
        logger.info("the configuration was reloaded")
      } catch {
        logger.error("the configuration cannot be reloaded", metadata: metadata(of: error))
      }
    }

    /// Once a minute, tries again to open the store if that has failed: what was in the way at the start may be gone, such
    /// as a full disk, or one that was not mounted yet.
    private func openStore() async {
      while !Task.isCancelled {
        let wasSealed = seal.isSealed
        try? await Blocking.read { try seal.retry() }
        if wasSealed, !seal.isSealed { logger.notice("the store is open") }
        try? await Task.sleep(for: Self.minute)
      }
    }

    /// Once a minute, if the record has grown, logs its end, which shows later whether the record was shortened or
    /// rewritten. Once an hour, drops the months that the setting `keep-months` excludes.
    private func followRecord() async {
      var told: AuditHead?
      var shortened: (keeping: Int, at: ContinuousClock.Instant)?
      while !Task.isCancelled {
        if let opened = seal.current {
          do {
            let known = told
            let keeping = try await Blocking.read { try opened.keptMonths() }
            // Looking for months to drop takes a walk over the whole record.
            let isRecent = shortened.map { $0.keeping == keeping && .now < $0.at + .seconds(3_600) } ?? false
            let head = try await Blocking.write { try opened.tidyRecord(keeping: isRecent ? nil : keeping) }
            if !isRecent { shortened = keeping.map { ($0, .now) } }
            if head != known, head.sequence > 0 { logger.notice("the record ends", metadata: ["at": "\(head)"]) }
            told = head
          } catch {
            logger.error("the record cannot be read or shortened", metadata: metadata(of: error))
          }
        }
        try? await Task.sleep(for: Self.minute)
      }
    }

    /// Once a minute, removes tokens that have expired.
    private func sweepTokens() async {
      while !Task.isCancelled {
        if let opened = seal.current {
          do { try await Blocking.write { try opened.tokens.sweep() } } catch VaultError.notFound {
            // The service was enrolled before there were tokens.
          } catch {
            logger.error("expired tokens cannot be removed", metadata: metadata(of: error))
          }
        }
        try? await Task.sleep(for: Self.minute)
      }
    }

    private func metadata(of error: any Error) -> Logger.Metadata {
      (error as? VaultError)?.metadata ?? ["error": "\(type(of: error))"]
    }
  }

  extension OpenedStore {
    /// How many months of the record the setting `keep-months` keeps; `nil` for all.
    fileprivate func keptMonths() throws(VaultError) -> Int? {
      try callers.settings(of: store)["keep-months"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    }

    /// Drops all months of the record but the newest `count`.
    ///
    /// - Returns: the end of the record.
    fileprivate func tidyRecord(keeping count: Int?) throws(VaultError) -> AuditHead {
      if let count { try log.dropMonths(keeping: count, by: .daemon) }
      return try log.head()
    }
  }

  extension AuditRecord.Caller {
    /// The daemon as a caller.
    static var daemon: AuditRecord.Caller {
      AuditRecord.Caller(.application(Applications.service), uid: getuid(), pid: getpid())
    }
  }
#endif
