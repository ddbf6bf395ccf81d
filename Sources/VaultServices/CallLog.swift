#if Logging
  public import Logging
  public import Vault

  extension SecretStore {
    /// Logs every call that fails, from now on: the group, the kind of call and the error, but never a value or an
    /// item's name.
    ///
    /// Errors that programs expect (an absent item, a version that is not the expected one) are logged at `debug`, a
    /// busy group at `warning`, everything else at `error`.
    public func log(to logger: Logger) {
      observe { call in
        guard let error = call.error else { return }
        logger.log(
          level: error.logLevel, "a call to the store failed",
          metadata: [
            "group": "\(call.group)", "call": "\(call.kind)", "status": "\(error.name)",
            "error": "\(error.message)",
          ])
      }
    }
  }

  extension SecretStore {
    /// Logs what nobody has taken yet of the notices, such as that an older copy of the store would not be noticed.
    func logNotices(to logger: Logger) {
      for notice in takeNotices() {
        let nameless: Notice =
          switch notice {
          case .unsignedLeftBehind(let group, let rows, _): .unsignedLeftBehind(group: group, rows: rows, names: [])
          case .unprovedDropped(let group, let items, let versions, _):
            .unprovedDropped(group: group, items: items, versions: versions, names: [])
          default: notice
          }
        logger.warning("a notice from the store", metadata: ["notice": "\(nameless.message)"])
      }
    }
  }

  extension VaultError {
    fileprivate var logLevel: Logger.Level {
      switch self {
      case .notFound(.item), .notFound(.version), .conflict: .debug
      case .busy: .warning
      default: .error
      }
    }
  }
#endif
