internal import GroupFile
internal import Sealing

/// A call of an access group that a program without a credential sends to `vaultd`.
///
/// A message is `u32 length ‖ fields ‖ value`: fields as in an item's attributes, then the bytes of the value. Neither
/// side copies the value out of guarded memory more often than the connection requires.
package struct ServiceCall: Sendable, Equatable {
  /// What the call does. Messages contain these numbers.
  package enum Operation: UInt8, Sendable {
    /// Asks which application the caller is.
    case hello = 1
    case open, item, history, list
    case set, change, remove, destroy, restore

    /// Whether it only reads.
    package var isReading: Bool { rawValue <= Operation.list.rawValue }
  }

  package internal(set) var operation: Operation
  /// The group's name; empty for `hello`.
  package var group = ""
  /// The item's name; for a list, the prefix of the names.
  package var name = ""
  package var version: UInt64?
  /// The version that must be the current one.
  package var expected: UInt64?
  package var kind = SecretKind.bytes
  package var typeName: String?
  package var details = Details()
  /// What the change is made for.
  package var request: ChangeID?
  /// Lists removed items instead of present ones.
  package var listsRemoved = false

  package init(_ operation: Operation, _ group: String = "", _ name: String = "") {
    (self.operation, self.group, self.name) = (operation, group, name)
  }

  /// The size limit of a message, in bytes: a value, its name and its details.
  package static let byteLimit = 1 << 20 | 1 << 18
  /// The size limit of an answer, in bytes: a value with its details, or a list of items.
  package var answerLimit: Int { operation == .list || operation == .history ? 1 << 26 : Self.byteLimit + 1 << 10 }

  /// Performs the call in `store`. The caller must have decided that it is allowed.
  ///
  /// - Parameter value: the value to set.
  package func answer(in store: SecretStore, value: borrowing Secret) -> ServiceAnswer {
    do throws(VaultError) {
      let group = try store.group(group)
      return try perform(in: request.map(group.answering) ?? group, value)
    } catch {
      return ServiceAnswer(failure: error)
    }
  }

  private func perform(in group: AccessGroup, _ value: borrowing Secret) throws(VaultError) -> ServiceAnswer {
    switch operation {
    case .hello: throw .invalid("only vaultd itself can answer this")
    case .open:
      let opened = try group.open(name, version: version)
      return ServiceAnswer(items: [opened.item], secret: opened.secret.opened)
    case .item: return ServiceAnswer(items: [try group.item(name)])
    case .history: return ServiceAnswer(items: try group.history(name))
    case .list:
      let listing = try group.listing(prefix: name, removed: listsRemoved)
      guard listing.strange.isEmpty else { throw .strangeRows(group: self.group) }
      return ServiceAnswer(items: listing.items)
    case .set:
      return ServiceAnswer(
        number: try group.set(name, to: value, kind: kind, typeName: typeName, details, ifVersion: expected))
    case .change: return ServiceAnswer(number: try group.change(name, details, ifVersion: expected))
    case .remove:
      try group.remove(name, ifVersion: expected)
      return ServiceAnswer()
    case .destroy:
      try group.destroy(name)
      return ServiceAnswer()
    case .restore: return ServiceAnswer(number: try group.restore(name, version: version))
    }
  }
}

/// The answer to a ``ServiceCall``.
package struct ServiceAnswer: Sendable {
  package var failure: VaultError?
  package var number: UInt64?
  package var items: [Item] = []
  package var secret: OpenedSecret?
  /// The answer to `hello`: who the caller is.
  package var caller: Caller?

  /// What `vaultd` knows about a caller.
  package struct Caller: Sendable, Equatable {
    package var application: String
    /// The 32 bytes of the key that identifies the store's owner.
    package var ownerKey: [UInt8]
    /// The groups that the application is a member of, sorted.
    package var groups: [String]

    package init(application: String, ownerKey: [UInt8], groups: [String]) {
      (self.application, self.ownerKey, self.groups) = (application, ownerKey, groups)
    }
  }

  package init(
    number: UInt64? = nil, items: [Item] = [], secret: OpenedSecret? = nil, caller: Caller? = nil,
    failure: VaultError? = nil
  ) {
    (self.number, self.items, self.secret, self.caller, self.failure) = (number, items, secret, caller, failure)
  }
}
