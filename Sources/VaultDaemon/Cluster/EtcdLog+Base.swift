#if Daemon
  import Foundation
  import Sealing

  extension EtcdLog {
    func base() async throws(LogError) -> LogBase? { try await storedBase()?.base }

    private func storedBase() async throws(LogError) -> (base: LogBase, value: BaseValue)? {
      let answer: EtcdRangeAnswer = try await read("kv/range", EtcdRange(key: keys.base))
      guard let pair = try Self.onlyPair(of: answer, at: keys.base) else { return nil }
      guard let revision = pair.revision else { throw .malformed }
      guard let value = BaseValue(pair.bytes) else {
        throw .damaged(LogDamage(place: .base, revision: revision))
      }
      return (value.base(revision), value)
    }

    func readBase(
      _ base: LogBase, _ consume: @Sendable (_ piece: [UInt8]) async throws(LogError) -> Void
    ) async throws(LogError) {
      guard let stored = try await storedBase(), stored.base == base else { throw .baseReplaced }
      let parts = stored.value.parts
      for index in parts.digests.indices {
        guard let part = try await part(parts, index) else {
          guard try await storedBase()?.base == base else { throw .baseReplaced }
          throw .damaged(LogDamage(place: .base, revision: base.revision))
        }
        try await consume(part)
      }
    }

    func publish(
      epoch: UInt64, link: CommitLink, after previous: LogHead?, pieces: BasePieces
    ) async throws(LogError) -> LogHead {
      let head = HeadValue.bytes(epoch: epoch, link: link)
      let (answer, value) = try await putParts(epoch, link, pieces) { value, sweep in
        EtcdTransaction(
          compare: [.revision(of: keys.head, is: previous?.revision), .revision(of: keys.sweep, is: sweep?.revision)],
          // Written again, the mark has whoever is about to name parts write them again, too.
          success: [
            .put(keys.base, value), .put(keys.head, head), .put(keys.sweep, SweepMark.bytes),
          ],
          failure: [.read(keys.sweep), .read(keys.head), .read(keys.base)])
      } isFinal: { answer throws(LogError) in
        try answer.changedPair(1, at: keys.head)?.revision != previous?.revision
      }
      if let made = answer.made {
        // What stays behind is in nobody's way, and goes with the next base.
        try? await trim(through: epoch, keeping: 0, under: made)
        try? await removeParts(through: made.number)
        return LogHead(epoch: epoch, link: link, revision: made)
      }
      let found = try self.head(in: answer.changedPair(1, at: keys.head))
      let isBehind = found.map { $0.epoch < epoch } ?? true
      // An attempt whose answer was lost. Another host may have followed it by now.
      if !isBehind, let base = try answer.changedPair(2, at: keys.base), base.bytes == value.bytes,
        let revision = base.revision
      {
        return LogHead(epoch: epoch, link: link, revision: revision)
      }
      // A newer base may have replaced ours.
      guard answer.isFirst || isBehind else { throw .outcomeUnknown }
      throw .conflict(found)
    }

    func putBase(
      epoch: UInt64, link: CommitLink, replacing base: LogBase?, keeping margin: UInt64, pieces: BasePieces
    ) async throws(LogError) -> LogBase {
      let (answer, value) = try await putParts(epoch, link, pieces) { value, sweep in
        EtcdTransaction(
          compare: [.revision(of: keys.base, is: base?.revision), .revision(of: keys.sweep, is: sweep?.revision)],
          success: [.put(keys.base, value)], failure: [.read(keys.sweep), .read(keys.base)])
      } isFinal: { answer throws(LogError) in
        try answer.changedPair(1, at: keys.base)?.revision != base?.revision
      }
      var revision = answer.made
      if revision == nil, let pair = try answer.changedPair(1, at: keys.base), pair.bytes == value.bytes {
        revision = pair.revision
      }
      guard let revision else { throw .baseReplaced }
      // What stays behind is in nobody's way, and goes with the next base.
      try? await trim(through: epoch, keeping: margin, under: revision)
      return value.base(revision)
    }

    /// Writes the parts of a base, then names them in a transaction. Begins again if parts were swept away meanwhile.
    private func putParts(
      _ epoch: UInt64, _ link: CommitLink, _ pieces: BasePieces,
      _ transaction: (_ value: [UInt8], _ sweep: EtcdPair?) -> EtcdTransaction,
      isFinal: (Answers) throws(LogError) -> Bool
    ) async throws(LogError) -> (Answers, BaseValue) {
      // The servers have room for this base and the one that it replaces, which other hosts may be reading, but not for more.
      try? await sweepParts()
      for _ in 0..<4 {
        let sweep = try await lastSweep()
        var parts = PartList()
        while let piece = try await pieces(parts.digests.count) {
          guard !piece.isEmpty, piece.count <= LogLimits.part, parts.byteCount % LogLimits.part == 0,
            parts.byteCount + piece.count <= LogLimits.base
          else { throw .tooLarge(limit: LogLimits.base) }
          parts.append(try await putPart(piece), byteCount: piece.count)
        }
        let value = BaseValue(epoch: epoch, link: link, parts: parts)
        let answer = try await change(transaction(value.bytes, sweep))
        if answer.made != nil { return (answer, value) }
        if try isFinal(answer) { return (answer, value) }
        guard try answer.changedPair(0, at: keys.sweep)?.revision != sweep?.revision else { throw .outcomeUnknown }
      }
      throw .unavailable
    }

    // MARK: Removing

    /// Removes the commits that a base stands for.
    private func trim(through epoch: UInt64, keeping margin: UInt64, under base: LogRevision) async throws(LogError) {
      guard epoch >= margin, epoch - margin < UInt64.max else { return }
      let end = epoch - margin + 1
      _ = try await change(
        EtcdTransaction(
          compare: [.revision(of: keys.base, is: base)],
          success: [
            .delete(keys.commit(0), upTo: keys.commit(end)), .delete(keys.large(0), upTo: keys.large(end)),
          ]))
    }

    /// Removes parts that nothing names.
    ///
    /// It puts the mark first, which every transaction that names parts compares. So no part is removed after it was written
    /// and before it is named: whoever has written some by then writes them again.
    private func sweepParts() async throws(LogError) {
      let answer = try await change(EtcdTransaction(success: [.put(keys.sweep, SweepMark.bytes)]))
      guard let made = answer.made else { throw .malformed }
      try await removeParts(through: made.number)
    }

    /// Removes parts that nothing names and that were last written up to `revision`.
    private func removeParts(through last: Int64) async throws(LogError) {
      let named = try await namedParts()
      try await everyPage(keys.parts.start, keys.parts.end, keysOnly: true) { pairs throws(LogError) in
        var transaction = EtcdTransaction(success: [])
        for pair in pairs {
          guard let revision = pair.revision, revision.number <= last else { continue }
          if let digest = keys.digest(of: pair.key), named.contains(digest) { continue }
          transaction.compare.append(.revision(of: pair.key, is: revision))
          transaction.success.append(.delete(pair.key))
        }
        if !transaction.success.isEmpty { _ = try await change(transaction) }
        return true
      }
    }

    private func namedParts() async throws(LogError) -> Set<Digest> {
      var named = Set(try await storedBase()?.value.parts.digests ?? [])
      try await everyPage(keys.large(0), keys.largeEnd, keysOnly: false) { pairs throws(LogError) in
        for pair in pairs {
          if case .inParts(_, _, let parts) = CommitValue(pair.bytes) { named.formUnion(parts.digests) }
        }
        // The servers say what is named. They must not fill the memory with it.
        guard named.count <= Self.keyLimit else { throw .malformed }
        return true
      }
      return named
    }

    /// The most keys of one kind that a log has: as many parts would be 64 GiB.
    static let keyLimit = 65_536
    /// The most keys that are asked for at once.
    private static let pageSize = 64

    /// Reads all keys from `start` to before `end`, page by page, for ten time limits of a call at most.
    ///
    /// - Parameter consume: says whether to go on.
    /// - Throws: ``LogError/malformed`` for a key outside the range, in the wrong order or beyond the limits, so that
    ///   servers can neither keep us here nor pass off one key as another.
    func everyPage(
      _ start: Data, _ end: Data, keysOnly: Bool, _ consume: ([EtcdPair]) async throws(LogError) -> Bool
    ) async throws(LogError) {
      var start = start
      let deadline = ContinuousClock.now + client.timeLimits.call * 10
      for _ in 0..<Self.keyLimit / Self.pageSize {
        guard ContinuousClock.now < deadline else { throw .unavailable }
        let range = EtcdRange(key: start, rangeEnd: end, limit: Self.pageSize, keysOnly: keysOnly)
        let answer: EtcdRangeAnswer = try await read("kv/range", range)
        guard let pairs = answer.kvs, !pairs.isEmpty else { return }
        guard pairs.count <= Self.pageSize else { throw .malformed }
        for pair in pairs {
          guard !pair.key.lexicographicallyPrecedes(start), pair.key.lexicographicallyPrecedes(end) else {
            throw .malformed
          }
          start = pair.key + [0]
        }
        guard try await consume(pairs) else { return }
      }
      throw .malformed
    }
  }

  extension BaseValue {
    func base(_ revision: LogRevision) -> LogBase {
      LogBase(epoch: epoch, link: link, byteCount: UInt64(parts.byteCount), revision: revision)
    }
  }
#endif
