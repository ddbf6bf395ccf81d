#if Daemon
  import Foundation
  import VaultFoundation

  /// Finds everything that is wrong with a configuration, without starting anything.
  struct ConfigurationCheck {
    private let configuration: Configuration

    init(_ configuration: Configuration) { self.configuration = configuration }

    /// One line for each problem; empty if there is none.
    func problems() -> [String] { socketProblems() + storeProblems() }

    private func socketProblems() -> [String] {
      var problems: [String] = []
      if let path = configuration.socket {
        // The daemon makes the socket's folder, but not the one above.
        let folder = ListeningSocket.folder(of: ListeningSocket.folder(of: path))
        if (try? FileManager.default.contentsOfDirectory(atPath: folder)) == nil {
          problems.append("the socket cannot be made: the folder '\(folder)' does not exist")
        }
        if path.utf8.count > 107 { problems.append("the path of the socket has more than 107 bytes") }
      }
      if let address = configuration.address, !Self.isAddress(address) {
        problems.append("'\(address)' is not an address to listen on, such as 127.0.0.1:8200")
      }
      return problems
    }

    private static func isAddress(_ text: String) -> Bool {
      guard let colon = text.lastIndex(of: ":"), UInt16(text[text.index(after: colon)...]) != nil else { return false }
      let host = text[..<colon].filter { $0 != "[" && $0 != "]" }
      var (four, six) = (in_addr(), in6_addr())
      return unsafe inet_pton(AF_INET, host, &four) == 1 || inet_pton(AF_INET6, host, &six) == 1
    }

    private func storeProblems() -> [String] {
      guard let credential = configuration.credential else {
        return ["no credential is named: write one with 'vault service enroll', and name it with --credential"]
      }
      let store: SecretStore
      do { store = try SecretStore.open(at: configuration.location, credential: credential) } catch {
        return ["the credential '\(credential)' does not open the store: \(error.message)"]
      }
      guard store.application == Applications.service else {
        return [
          "the credential '\(credential)' is an application's: the daemon needs one of its own, from 'vault service enroll'"
        ]
      }
      var problems: [String] = []
      do { try AuditLog(of: store).requireWritable() } catch {
        let hint = error.hintForOperator.map { "; \($0)" } ?? ""
        problems.append("the record cannot be written: \(error.message)\(hint)")
      }
      for name in configuration.secretService {
        do { try store.group(name).requireWriter() } catch {
          problems.append("the Secret Service cannot write to the group '\(name)': \(error.message)")
        }
      }
      let callers = Callers()
      do {
        let bindings = try callers.bindings(of: store)
        if bindings.isEmpty { problems.append("no application is bound, so nobody gets any secret") }
        for binding in bindings { problems += self.problems(of: binding, in: store) }
        let settings = try callers.settings(of: store)
        problems += settingsProblems(settings)
        let hasCertificates = bindings.contains { $0.alternatives.contains { $0.certificate != nil } }
        if hasCertificates, settings[TLSIdentity.authoritiesSetting] == nil {
          problems.append("a certificate is bound, but settings/client-ca does not name an authority")
        }
      } catch {
        problems.append("the bindings cannot be read: \(error.message)")
      }
      return problems
    }

    private func problems(of binding: ServiceBinding, in store: SecretStore) -> [String] {
      var problems: [String] = []
      for alternative in binding.alternatives {
        if let user = alternative.user, UnixUser.number(of: user) == nil {
          problems.append("the binding of '\(binding.application)' names the user '\(user)', who does not exist")
        }
        if let program = alternative.exe, !FileManager.default.isExecutableFile(atPath: program) {
          problems.append("the binding of '\(binding.application)' names '\(program)', which is not an executable file")
        }
      }
      if (try? Access(store: store).groups(of: binding.application))?.isEmpty ?? true {
        problems.append("'\(binding.application)' is bound, but the daemon can open none of its groups")
      }
      return problems
    }

    private func settingsProblems(_ settings: [String: String]) -> [String] {
      var problems: [String] = []
      for (name, value) in settings.sorted(by: { $0.key < $1.key }) {
        switch name {
        case TLSIdentity.certificateSetting, TLSIdentity.keySetting, TLSIdentity.authoritiesSetting: continue
        case _ where name.hasPrefix("kv-version/"):
          if value != "1" && value != "2" { problems.append("settings/\(name) is neither 1 nor 2") }
        case _ where name.hasPrefix(Callers.rolePrefix):
          if value.utf8.count < 16 { problems.append("settings/\(name) has fewer than 16 bytes, so it is ignored") }
        case _ where name.hasPrefix(ProgramRules.prefix):
          if let problem = ProgramRules.problem(with: name, value) { problems.append(problem) }
        case "keep-months":
          if (Int(value) ?? 0) < 1 { problems.append("settings/keep-months is not a number of months") }
        default: problems.append("settings/\(name) is not a known setting")
        }
      }
      if configuration.address != nil {
        do { _ = try TLSIdentity().security(settings) } catch { problems.append(error.message) }
      }
      return problems
    }
  }
#endif
