#if Daemon
  import Foundation
  import Sealing

  /// The log of one access group in etcd.
  ///
  /// One transaction makes a commit: it compares the head's revision and value, creates `commit/EPOCH` and replaces `head`.
  /// Nothing else orders commits. What does not fit into one request goes up before in parts that are named by digest.
  struct EtcdLog: CommitLog {
    let client: EtcdClient
    let keys: EtcdKeys

    /// The most bytes of an answer that holds one value, and of one that holds several.
    static let oneValue = 4 * LogLimits.part
    static let severalValues = 8 * LogLimits.part

    /// - Parameter id: the group's.
    init(_ client: EtcdClient, group id: [UInt8]) { (self.client, self.keys) = (client, EtcdKeys(group: id)) }

    // MARK: Head

    func head() async throws(LogError) -> LogHead? {
      let answer: EtcdRangeAnswer = try await read("kv/range", EtcdRange(key: keys.head))
      return try head(in: Self.onlyPair(of: answer, at: keys.head))
    }

    func time() async -> UInt64? { await client.time() }

    func replaceHead(
      at revision: LogRevision?, with epoch: UInt64, link: CommitLink
    ) async throws(LogError) -> LogHead {
      let value = HeadValue.bytes(epoch: epoch, link: link)
      let answer = try await change(
        EtcdTransaction(
          compare: [.revision(of: keys.head, is: revision)], success: [.put(keys.head, value)],
          failure: [.read(keys.head)]))
      if let made = answer.made { return LogHead(epoch: epoch, link: link, revision: made) }
      let found = try head(in: answer.changedPair(0, at: keys.head))
      // An attempt whose answer was lost.
      if let found, found.epoch == epoch, found.link == link { return found }
      throw .conflict(found)
    }

    func head(in pair: EtcdPair?) throws(LogError) -> LogHead? {
      guard let pair else { return nil }
      guard let revision = pair.revision else { throw .malformed }
      guard let head = HeadValue.head(pair.bytes, revision) else {
        throw .damaged(LogDamage(place: .head, revision: revision))
      }
      return head
    }

    // MARK: Reading commits

    func commits(after epoch: UInt64, limit: Int) async throws(LogError) -> [StoredCommit] {
      guard epoch < UInt64.max, limit > 0 else { return [] }
      var count = min(limit, 1_024)
      while true {
        let found: Answers
        do throws(EtcdError) {
          let range = EtcdRange(key: keys.commit(epoch + 1), rangeEnd: keys.commitsEnd, limit: count)
          let answer: EtcdTransactionAnswer = try await client.call(
            "kv/txn", EtcdTransaction(success: [.read(keys.head), .read(range)]), limit: Self.severalValues,
            isBulk: true)
          found = try Answers(answer)
        } catch EtcdError.answerTooLarge where count > 1 {
          count = max(1, count / 8)
          continue
        } catch {
          throw Self.meaning(of: error, changes: false)
        }
        return try await following(epoch, in: found, asked: count)
      }
    }

    /// The commits of an answer, up to the head, a gap, or a commit that cannot be read.
    private func following(
      _ epoch: UInt64, in answers: Answers, asked limit: Int
    ) async throws(LogError) -> [StoredCommit] {
      guard let head = try head(in: answers.pair(0, at: keys.head)) else { throw .baseNeeded }
      guard head.epoch > epoch else { return [] }
      var (commits, byteCount) = ([StoredCommit](), 0)
      for pair in answers.pairs(1).prefix(limit) {
        let next = epoch + 1 + UInt64(commits.count)
        guard next <= head.epoch, keys.epoch(of: pair.key) == next else { break }
        do throws(LogError) {
          let stored = try await commit(in: pair, next)
          byteCount += stored.commit.bytes.count
          commits.append(stored)
        } catch {
          if commits.isEmpty { throw error }
          break
        }
        if byteCount >= Self.severalValues { break }
      }
      guard !commits.isEmpty else { throw .baseNeeded }
      return commits
    }

    func isWhole(from epoch: UInt64, to head: LogHead) async throws(LogError) -> Bool {
      guard epoch < head.epoch, head.epoch < UInt64.max else { return epoch == head.epoch }
      // So many commits need a complete file anyway.
      guard head.epoch - epoch <= UInt64(Self.keyLimit / 2) else { return false }
      var (last, lastRevision, isWhole) = (epoch, Int64(0), true)
      try await everyPage(keys.commit(epoch + 1), keys.commit(head.epoch + 1), keysOnly: true) {
        pairs throws(LogError) in
        for pair in pairs {
          guard let epoch = keys.epoch(of: pair.key) else { continue }
          guard let revision = pair.revision?.number else { throw .malformed }
          isWhole = epoch - last == 1 && revision > lastRevision && revision <= head.revision.number
          guard isWhole else { return false }
          (last, lastRevision) = (epoch, revision)
        }
        return true
      }
      return isWhole && last == head.epoch
    }

    func commit(in pair: EtcdPair, _ epoch: UInt64) async throws(LogError) -> StoredCommit {
      guard let revision = pair.revision else { throw .malformed }
      let damage = LogError.damaged(LogDamage(place: .commit(epoch: epoch), revision: revision))
      switch CommitValue(pair.bytes, epoch) {
      case nil: throw damage
      case .whole(_, let link, let bytes):
        return StoredCommit(commit: LoggedCommit(epoch: epoch, link: link, bytes: bytes), revision: revision)
      case .inParts(_, let link, let parts):
        var bytes: [UInt8] = []
        for index in parts.digests.indices {
          guard let part = try await part(parts, index) else { throw damage }
          bytes += part
        }
        return StoredCommit(commit: LoggedCommit(epoch: epoch, link: link, bytes: bytes), revision: revision)
      }
    }

    /// - Returns: `nil` if the part is missing or has other bytes than its name says.
    func part(_ parts: PartList, _ index: Int) async throws(LogError) -> [UInt8]? {
      let key = keys.part(parts.digests[index])
      let answer: EtcdRangeAnswer = try await read("kv/range", EtcdRange(key: key), isBulk: true)
      guard let bytes = try Self.onlyPair(of: answer, at: key)?.bytes, bytes.count == parts.byteCount(at: index),
        Hash.digest(.logPart, bytes) == parts.digests[index]
      else { return nil }
      return bytes
    }

    // MARK: Calls

    func read<Answer: Decodable>(
      _ path: String, _ request: some Encodable & Sendable, isBulk: Bool = false
    ) async throws(LogError) -> Answer {
      do throws(EtcdError) {
        return try await client.call(path, request, limit: Self.oneValue, isBulk: isBulk)
      } catch {
        throw Self.meaning(of: error, changes: false)
      }
    }

    func change(_ transaction: EtcdTransaction) async throws(LogError) -> Answers {
      do throws(EtcdError) {
        let (answer, isFirst): (EtcdTransactionAnswer, Bool) = try await client.exchange(
          "kv/txn", transaction, limit: Self.oneValue)
        return try Answers(answer, isFirst: isFirst)
      } catch {
        throw Self.meaning(of: error, changes: true)
      }
    }

    static func onlyPair(of answer: EtcdRangeAnswer, at key: Data) throws(LogError) -> EtcdPair? {
      guard let pair = answer.kvs?.first else { return nil }
      guard answer.kvs?.count == 1, pair.key == key else { throw .malformed }
      return pair
    }

    static func meaning(of error: EtcdError, changes: Bool) -> LogError {
      switch error {
      case .refused, .token: .refused
      case .untrusted(let isSent): changes && isSent ? .outcomeUnknown : .untrusted
      case .requestTooLarge: .tooLarge(limit: LogLimits.part)
      case .full: .full
      case .malformed: changes ? .outcomeUnknown : .malformed
      case .answerTooLarge: changes ? .outcomeUnknown : .malformed
      case .unanswered, .mayBeDone, .unsettled: changes ? .outcomeUnknown : .unavailable
      case .unreachable: .unavailable
      case .authenticationIsOff, .compacted, .exists, .notFound, .other: .malformed
      }
    }

    /// The answers to a transaction.
    struct Answers: Sendable {
      /// The revision that the transaction made; `nil` if its comparison failed.
      let made: LogRevision?
      /// Whether no earlier attempt can have reached a server.
      let isFirst: Bool
      private let responses: [EtcdTransactionAnswer.Response]

      init(_ answer: EtcdTransactionAnswer, isFirst: Bool = true) throws(EtcdError) {
        self.isFirst = isFirst
        let store = answer.header.revision.value
        guard store > 0 else { throw .malformed }
        made = answer.succeeded == true ? LogRevision(number: store) : nil
        responses = answer.responses ?? []
      }

      func pairs(_ index: Int) -> [EtcdPair] {
        responses.indices.contains(index) ? responses[index].responseRange?.kvs ?? [] : []
      }

      /// As ``pair(_:at:)`` after a change: an answer that is none leaves open what happened.
      func changedPair(_ index: Int, at key: Data) throws(LogError) -> EtcdPair? {
        do throws(LogError) { return try pair(index, at: key) } catch { throw .outcomeUnknown }
      }

      /// The value at `key`, which the operation at `index` read.
      func pair(_ index: Int, at key: Data) throws(LogError) -> EtcdPair? {
        guard responses.indices.contains(index), let range = responses[index].responseRange else { throw .malformed }
        return try EtcdLog.onlyPair(of: range, at: key)
      }
    }
  }
#endif
