#if Daemon
  import Glibc
  import Logging
  import VaultFoundation

  /// A question to the person at the machine. The client that caused it says when it is asked.
  struct BusPrompt: Sendable {
    let client: String
    let wish: Wish
    var task: Task<Void, Never>?

    enum Wish: Sendable {
      /// Paths of collections and items.
      case unlock([String])
      case createCollection(label: String, isDefault: Bool)
      case deleteCollection(BusCollection)

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
      guard prompts.values.filter({ $0.client == call.sender }).count < Self.promptLimit else {
        throw BusFailure.overLimit
      }
      let id = "p\(nextNumber())"
      prompts[id] = BusPrompt(client: call.sender, wish: wish)
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
      case .unlock(let paths):
        let wanted = try collections(of: paths)
        let names = Set(wanted.map { $0.collection.group ?? $0.collection.id }).sorted()
        let wasSealed = seal.isSealed
        let question = "Let \(program) use the secrets of \(names.joined(separator: ", "))?"
        let isAgreed = await asking.confirm(wasSealed ? "\(question) This opens the locked store for all." : question)
        guard !Task.isCancelled else { return nil }
        // Others may have opened or closed the store meanwhile.
        let opensStore = isAgreed && wasSealed && seal.isSealed
        if opensStore {
          try await Blocking.write { [seal] in try seal.unseal() }
          endRules(of: call)
        }
        guard isAgreed || !seal.isSealed else { return nil }
        // The rules are in the store, so a denied program is known only now.
        do { try await requireNoDenial(call) } catch {
          if opensStore { seal.seal() }
          throw error
        }
        for collection in wanted.map(\.collection) {
          try await record(call, .login, collection, isAgreed ? .allowed : .denied)
        let name = freeName(label)
        }
        guard isAgreed else { return nil }
        admitted[call.sender, default: []].formUnion(wanted.map(\.collection.id))
        for collection in wanted.map(\.collection) { unlock(collection) }
        return .paths(wanted.map(\.path))
      case .createCollection(let label, let isDefault):
        let shown = BusItem.inQuestion(label, limit: 100)
        let question = "\(program) wants a new collection '\(shown)'. To make the group, enter the store's passphrase."
        let seals = seal.seals
        let made = try await asOwner(question, for: call, .createGroup) { owner in
          try Self.makeGroup(label: label, named: name, in: owner)
        }
        guard let made else { return nil }
        // If somebody has sealed the daemon since the question, it stays sealed.
        try await Blocking.write { [seal] in try seal.reopen(unlessSealedSince: seals) }
        let collection = BusCollection(group: made.group, name: freeName(made.name))
        add(collection)
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

    /// Makes a change as the owner, with the passphrase that somebody types, who may mistype it twice.
    ///
    /// - Returns: `nil` if nobody typed one.
    private func asOwner<Result: Sendable>(
      _ question: String, for call: BusCall, _ action: AuditRecord.Action, _ collection: BusCollection? = nil,
      _ change: @escaping @Sendable (SecretStore) throws -> Result
    ) async throws -> Result? {
      for attempt in 1... {
        let words = attempt == 1 ? question : "That was not the passphrase. \(question)"
        guard let passphrase = await asking.passphrase(words, program: call.program.name) else { return nil }
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
      let kept = path.flatMap { $0 == name || $0 == ProgramRules.ownName ? nil : $0 }
