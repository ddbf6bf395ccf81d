#if Daemon
  import Glibc
  import Logging
  import VaultFoundation

  /// A question to the person at the machine. The client that caused it says when it is asked.
  struct BusPrompt: Sendable {
    let client: String
    /// Who asks, the same for all connections of a program.
    let asker: String
    let wish: Wish
    var task: Task<Void, Never>?

    enum Wish: Sendable {
      /// Paths of collections and items.
      case unlock([String])
      case createCollection(label: String, isDefault: Bool)
      case deleteCollection(BusCollection)

      /// Whether it needs the owner's passphrase.
      var isForOwner: Bool { if case .unlock = self { false } else { true } }

      /// The result of a question that was not answered with yes.
      var refused: BusValue {
        switch self {
        case .unlock: .paths([])
        case .createCollection: .path("/")
        case .deleteCollection: .text("")
        }
      }
    }
  }

  extension SecretService {
    /// - Returns: the prompt's path.
    func prompt(_ wish: BusPrompt.Wish, _ call: BusCall) async throws -> String {
      let asker = call.program.asker(call.sender)
      // A program can have many connections, and each wish of this kind is a question of its own.
      let others = prompts.values.filter {
        $0.client == call.sender || $0.asker == asker && $0.wish.isForOwner && wish.isForOwner
      }
      guard others.count < Self.promptLimit else { throw BusFailure.overLimit }
      let id = "p\(nextNumber())"
      prompts[id] = BusPrompt(client: call.sender, asker: asker, wish: wish)
      return BusObject.prompt(id).path
    }

    func begin(_ prompt: BusPrompt, _ id: String, _ call: BusCall) async throws {
      guard prompt.task == nil else { throw BusFailure.failed("the question is being asked") }
      prompts[id]?.task = Task {
        var result: BusValue?
        do { result = try await fulfil(prompt.wish, call) } catch {
          logger.warning(
            "what a program asked for was not done",
            metadata: ["program": "\(call.program.name)", "error": "\(Self.message(of: error))"])
        }
        endRules(of: call)
        complete(id, Task.isCancelled ? nil : result)
      }
    }

    /// One no is the answer to all that the program asks of this kind at the moment.
    private func dismissOthers(of call: BusCall, _ isAlike: (BusPrompt.Wish) -> Bool) {
      let asker = call.program.asker(call.sender)
      for (id, prompt) in prompts where prompt.asker == asker && prompt.task != nil {
        if isAlike(prompt.wish), BusObject.prompt(id).path != call.path { dismiss(id) }
      }
    }

    func dismiss(_ id: String) {
      prompts[id]?.task?.cancel()
      complete(id, nil)
    }

    /// - Parameter result: `nil` if the question was not answered with yes.
    private func complete(_ id: String, _ result: BusValue?) {
      guard let prompt = prompts.removeValue(forKey: id) else { return }
      signal(
        .prompt(id), .prompt, "Completed", [.bool(result == nil), .variant(result ?? prompt.wish.refused)],
        to: prompt.client)
    }

    /// - Returns: `nil` if somebody said no, or nobody could be asked.
    func fulfil(_ wish: BusPrompt.Wish, _ call: BusCall) async throws -> BusValue? {
      let program = BusItem.inQuestion(call.program.name, limit: 200)
      switch wish {
      case .unlock(let paths): return try await fulfilUnlock(paths, call)
      case .createCollection(let label, let isDefault):
        let shown = BusItem.inQuestion(label, limit: 100)
        let question = "\(program) wants a new collection '\(shown)'. To make the group, enter the store's passphrase."
        let seals = seal.seals
        let name = freeName(label)
        let made = try await asOwner(question, for: call, .createGroup) { owner in
          try Self.makeGroup(label: label, named: name, in: owner)
        }
        guard let made else { return nil }
        // If somebody has sealed the daemon since the question, it stays sealed.
        try await Blocking.write { [seal] in try seal.reopen(unlessSealedSince: seals) }
        // Others may have looked for new collections as soon as the store was open again.
        let known = collections.first { $0.group == made.group }
        let collection = known ?? BusCollection(group: made.group, name: freeName(made.name))
        if known == nil { add(collection) }
        if isDefault { setDefault(collection) }
        return .path(BusObject.collection(collection.id).path)
      case .deleteCollection(let collection):
        guard let group = collection.group else { return nil }
        let question =
          "\(program) wants to remove the group '\(group)' with all its items. To remove it, enter the store's passphrase."
        let removed: Void? = try await asOwner(question, for: call, .removeGroup, collection) { owner in
          try owner.removeGroup(group)
          for prefix in [ProgramRules.labelPrefix, ProgramRules.collectionPrefix] {
            try? owner.group(Applications.service).remove(Callers.settingsPrefix + prefix + group)
          }
        }
        guard removed != nil else { return nil }
        remove(collection)
        return .text("")
      }
    }

    /// What a question to unlock collections is about, when it is asked.
    private struct Asked: Sendable {
      let collections: [BusCollection]
      let wasSealed: Bool
    }

    private func fulfilUnlock(_ paths: [String], _ call: BusCall) async throws -> BusValue? {
      let wanted = try collections(of: paths)
      let reply = try await asking.confirm(program: call.program.name) { [self] in
        try await question(about: wanted.map(\.collection), call)
      } then: { [self] asked, isAgreed in
        try await act(on: isAgreed, asked, call)
      }
      switch reply {
      case .answered(true): return .paths(wanted.map(\.path))
      case .unneeded where !Task.isCancelled:
        try await requireNoDenial(call)
        return .paths(wanted.map(\.path))
      case .answered, .unneeded, .unasked: return nil
      }
    }

    /// Does what follows from the answer to the question whether a program may use collections.
    ///
    /// - Returns: whether it may.
    private func act(on isAgreed: Bool, _ asked: Asked, _ call: BusCall) async throws -> Bool {
      guard !Task.isCancelled else { return false }
      if !isAgreed {
        let ids = Set(asked.collections.map(\.id))
        dismissOthers(of: call) { wish in
          guard case .unlock(let others) = wish else { return false }
          return asked.wasSealed || ((try? collections(of: others)) ?? []).allSatisfy { ids.contains($0.collection.id) }
        }
      }
      // Others may have opened or closed the store meanwhile.
      let opensStore = isAgreed && asked.wasSealed && seal.isSealed
      if opensStore { try await Blocking.write { [seal] in try seal.unseal() } }
      endRules(of: call)
      guard isAgreed || !seal.isSealed else { return false }
      // The rules are in the store, so a denied program is known only now.
      do { try await requireNoDenial(call) } catch {
        if opensStore { seal.seal() }
        throw error
      }
      for collection in asked.collections {
        try await record(call, .login, collection, isAgreed ? .allowed : .denied)
      }
      guard isAgreed else { return false }
      admitted[call.sender, default: []].formUnion(asked.collections.map(\.id))
      // Before the answer, because it is then that programs look at what they had read.
      await lookForChanges()
      for collection in asked.collections {
        guard locked.remove(collection.id) == nil else {
          await tellLocked(collection, false)
          continue
        }
        await tellAdmitted(call.sender, to: collection)
      }
      return true
    }

    /// The question whether a program may use collections, when its turn has come. An answer to another question may have
    /// opened them meanwhile.
    ///
    /// - Returns: `nil` if none of them is locked for the program any more.
    private func question(
      about collections: [BusCollection], _ call: BusCall
    ) async throws -> (text: String, subject: Asked)? {
      endRules(of: call)
      if seal.current != nil { try await requireNoDenial(call) }
      var closed: [BusCollection] = []
      for collection in collections where !closed.contains(where: { $0.id == collection.id }) {
        if try await isLocked(collection, for: call) { closed.append(collection) }
      }
      guard !closed.isEmpty else { return nil }
      let program = BusItem.inQuestion(call.program.name, limit: 200)
      let names = closed.map { $0.group ?? $0.id }.sorted()
      let question = "Let \(program) use the secrets of \(names.joined(separator: ", "))?"
      let asked = Asked(collections: closed, wasSealed: seal.isSealed)
      return (asked.wasSealed ? "\(question) This opens the locked store for all." : question, asked)
    }

    /// Makes a change as the owner, with the passphrase that somebody types, who may mistype it twice.
    ///
    /// - Returns: `nil` if nobody typed one.
    private func asOwner<Result: Sendable>(
      _ question: String, for call: BusCall, _ action: AuditRecord.Action, _ collection: BusCollection? = nil,
      _ change: @escaping @Sendable (SecretStore) throws -> Result
    ) async throws -> Result? {
      for attempt in 1... {
        let words = attempt == 1 ? question : "That was not the passphrase. \(question)"
        guard let passphrase = await asking.passphrase(words, program: call.program.name) else {
          if !Task.isCancelled { dismissOthers(of: call) { $0.isForOwner } }
          return nil
        }
        // Meanwhile, the daemon may have been sealed, which the question did not say that it ends.
        if collection == nil { try await requireNoDenial(call) }
        // What follows is recorded as the owner's act, which does not say who asked for it.
        try await record(call, action, collection)
        do {
          return try await Blocking.write { [location] in
            try change(SecretStore.open(at: location, unlocking: .passphrase(passphrase.secret())))
          }
        } catch {
          let failure = error as? VaultError ?? .unexpected("an error of the owner's act")
          try await record(call, action, collection, AuditRecord.Outcome(failure))
          guard case .wrongKey = failure, attempt < 3 else { throw error }
        }
      }
      return nil
    }

    /// Makes a group that the service may write to, and gives it the label.
    ///
    /// - Parameter path: the name for the collection's path, by which some programs find it again; `nil` for the group's.
    private static func makeGroup(
      label: String, named path: String?, in owner: SecretStore
    ) throws -> (group: String, name: String?) {
      let plain = String(
        label.lowercased().unicodeScalars.map { scalar in
          let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
          return isPlain || scalar == "_" || scalar == "." ? Character(scalar) : "-"
        })
      // No name begins with a mark, or has two dots in a row.
      let single = plain.split(separator: "-").joined(separator: "-").split(separator: ".").joined(separator: ".")
      let words = single.drop { !$0.isLetter && !$0.isNumber }.prefix(40)
      // Names that begin with 'vault' are the store's own.
      let base = words.isEmpty ? "collection" : words.hasPrefix("vault") ? "collection-\(words)" : String(words)
      let known = Set(try owner.groupNames())
      let names = [base] + (2...1_000).map { "\(base)-\($0)" }
      guard let name = names.first(where: { !known.contains($0) }) else { throw BusFailure.overLimit }
      let kept = path.flatMap { $0 == name || $0 == ProgramRules.ownName ? nil : $0 }
      try owner.createGroup(name)
      try owner.grant(.write, in: name, to: Applications.service)
      let settings = try owner.group(Applications.service)
      try settings.set(Callers.settingsPrefix + ProgramRules.labelPrefix + name, to: label.isEmpty ? name : label)
      try settings.set(
        Callers.settingsPrefix + ProgramRules.collectionPrefix + name, to: kept ?? ProgramRules.ownName)
      return (name, kept)
    }
  }
#endif
