#if Daemon
  import Foundation
  import Sealing

  extension EtcdLog {
    func append(
      _ commit: LoggedCommit, after head: LogHead, over occupant: LogRevision?
    ) async throws(LogError) -> LogHead {
      guard commit.epoch > head.epoch else { throw .conflict(head) }
      let stored = try await store(commit, over: occupant, at: head)
      return LogHead(epoch: commit.epoch, link: commit.link, revision: stored)
    }

    /// - Returns: the revision that the commit has.
    private func store(
      _ commit: LoggedCommit, over occupant: LogRevision?, at head: LogHead
    ) async throws(LogError) -> LogRevision {
      guard commit.bytes.count <= LogLimits.commit else { throw .tooLarge(limit: LogLimits.commit) }
      let isLarge = commit.bytes.count > LogLimits.part
      var occupant = occupant
      let key = keys.commit(commit.epoch)
      // Each round ends with an answer, or because another host swept or stored the same bytes meanwhile.
      for _ in 0..<4 {
        let sweep = isLarge ? try await lastSweep()?.revision : nil
        let value = try await value(of: commit)
        var transaction = EtcdTransaction(
          compare: [
            .revision(of: keys.head, is: head.revision),
            .value(of: keys.head, is: HeadValue.bytes(epoch: head.epoch, link: head.link)),
            .revision(of: key, is: occupant),
          ],
          success: [.put(key, value)], failure: [.read(keys.head), .read(key)])
        if isLarge {
          transaction.compare.append(.revision(of: keys.sweep, is: sweep))
          transaction.success.append(.put(keys.large(commit.epoch), value))
        } else if occupant != nil {
          transaction.success.append(.delete(keys.large(commit.epoch)))
        }
        transaction.success.append(.put(keys.head, HeadValue.bytes(epoch: commit.epoch, link: commit.link)))
        let answer = try await change(transaction)
        if let made = answer.made { return made }
        let found = try answer.changedPair(1, at: key)
        let foundHead: LogHead?
        do throws(LogError) {
          foundHead = try self.head(in: answer.changedPair(0, at: keys.head))
        } catch {
          // An attempt whose answer was lost has stored ours, before somebody spoilt the head.
          if !answer.isFirst, found?.bytes == value, let revision = found?.revision { return revision }
          throw error
        }
        let isThere = found?.bytes == value
        if isThere, let revision = found?.revision {
          // Ours, by an attempt whose answer was lost.
          if (foundHead?.epoch ?? 0) >= commit.epoch { return revision }
          // The same bytes, but no transaction of ours put them there.
          if foundHead == head {
            occupant = revision
            continue
          }
        }
        guard foundHead == head else {
          // Ours may have been stored and removed again, if that much has happened meanwhile.
          guard found != nil || answer.isFirst || (foundHead?.epoch ?? 0) < commit.epoch else { throw .outcomeUnknown }
          throw .conflict(foundHead)
        }
        guard let found, found.revision != occupant else {
          if isLarge { continue }
          if found == nil, occupant != nil {
            occupant = nil
            continue
          }
          throw .outcomeUnknown
        }
        throw .occupied(try await self.commit(in: found, commit.epoch))
      }
      throw .unavailable
    }

    /// What is stored for a commit. Its parts are stored when this returns.
    private func value(of commit: LoggedCommit) async throws(LogError) -> [UInt8] {
      guard commit.bytes.count > LogLimits.part else {
        return CommitValue.whole(commit.epoch, commit.link, commit.bytes).bytes
      }
      for piece in PartList.pieces(of: commit.bytes) { _ = try await putPart(Array(piece)) }
      return CommitValue.inParts(commit.epoch, commit.link, PartList(of: commit.bytes)).bytes
    }

    /// Writes a part, also if it is there already: a part that was written lately is not swept away.
    func putPart(_ bytes: [UInt8]) async throws(LogError) -> Digest {
      let digest = Hash.digest(.logPart, bytes)
      do throws(EtcdError) {
        let _: EtcdDone = try await client.call(
          "kv/put", EtcdPut(key: keys.part(digest), value: Data(bytes)), limit: 65_536)
      } catch {
        let meaning = Self.meaning(of: error, changes: true)
        // Nothing names the part yet, so it does not matter whether it is there.
        throw meaning == .outcomeUnknown ? .unavailable : meaning
      }
      return digest
    }

    func lastSweep() async throws(LogError) -> EtcdPair? {
      let answer: EtcdRangeAnswer = try await read("kv/range", EtcdRange(key: keys.sweep))
      return try Self.onlyPair(of: answer, at: keys.sweep)
    }
  }
#endif
