internal import Exchange
internal import Vault

extension ImportRequest {
  /// The items with the names that their entries have in the group: if the file has other entries of an account's name
  /// now, or no longer, the account's entries keep the names under which the group has them.
  ///
  /// - Throws: the errors of reading the store.
  func named(
    _ items: [ImportedItem], _ open: (String) throws(VaultError) -> OpenedItem
  ) throws -> [ImportedItem] {
    let parts = Dictionary(grouping: items.filter { $0.alias != nil }) { $0.alias?.name ?? "" }
    var taken = Set(items.map(\.name))
    var names: [String: String] = [:]
    for (account, entries) in Self.accounts(of: items) {
      let own = Set(entries.map(\.name))
      let present = try account.logins(own, open).filter { own.contains($0.name) || !taken.contains($0.name) }
      let new = account.names(for: entries, in: present) { taken.contains($0) && !own.contains($0) }
      guard new.contains(where: { $0.key != $0.value }) else { continue }
      let old = entries.flatMap { parts[$0.name] ?? [] }
      let changed = old.map { item in item.alias.flatMap { new[$0.name] }.map(item.aliased)?.name ?? item.name }
      let free = Set(old.map(\.name))
      guard Set(changed).count == changed.count, changed.allSatisfy({ free.contains($0) || !taken.contains($0) })
      else { continue }
      taken.subtract(free)
      taken.formUnion(changed)
      names.merge(new) { $1 }
    }
    return items.map { item in item.alias.flatMap { names[$0.name] }.map(item.aliased) ?? item }
  }

  /// The entries with a user's name, by their accounts, in the order of the file.
  private static func accounts(of items: [ImportedItem]) -> [(Account, [Record])] {
    var accounts: [(Account, [Record])] = []
    var indices: [Account: Int] = [:]
    for item in items where item.kind == .json {
      guard let alias = item.alias, alias.name == item.name else { continue }
      guard let user = JSONField.string(of: "username", in: item.value) else { continue }
      // The other name is longer or shorter by the user's name.
      let base = alias.name.utf8.count < alias.other.utf8.count ? alias.name : alias.other
      let account = Account(base: base, user: user)
      if let index = indices[account] {
        accounts[index].1.append(Record(item.name, item.value))
      } else {
        indices[account] = accounts.count
        accounts.append((account, [Record(item.name, item.value)]))
      }
    }
    return accounts
  }

  /// An entry of the file, or an item of the group.
  private struct Record {
    let name: String
    let url: [UInt8]?
    let members: [[UInt8]: JSONField.Member]

    init(_ name: String, _ value: [UInt8]) {
      self.name = name
      url = JSONField.string(of: "url", in: value)
      members = JSONField.members(in: value)
    }
  }

  /// What entries have in common that only a number tells apart.
  private struct Account: Hashable {
    /// The name without the user's.
    let base: String
    let user: [UInt8]

    private func numbered(_ number: Int) -> String {
      let name = "\(base) (\(String(decoding: user, as: UTF8.self)))"
      return number == 1 ? name : "\(name) (\(number))"
    }

    /// The account's items in the group: those that have one of the names `own`, and those that have another name that
    /// an import may have given them.
    func logins(_ own: Set<String>, _ open: (String) throws(VaultError) -> OpenedItem) throws -> [Record] {
      var logins: [Record] = []
      if let login = try login(base, open) { logins.append(login) }
      for number in 1... {
        let login = try login(numbered(number), open)
        if let login { logins.append(login) } else if number > own.count { break }
      }
      let found = Set(logins.map(\.name))
      for name in own.subtracting(found).sorted() {
        if let login = try login(name, open) { logins.append(login) }
      }
      return logins
    }

    /// - Returns: nil if the group has no login of this name and user.
    private func login(_ name: String, _ open: (String) throws(VaultError) -> OpenedItem) throws -> Record? {
      do throws(VaultError) {
        let present = try open(name)
        guard present.item.kind == .json else { return nil }
        let value = present.secret.exportInsecurely()
        return JSONField.string(of: "username", in: value) == user ? Record(name, value) : nil
      } catch {
        switch error {
        // The other name may be longer than a name can be.
        case .notFound(.item), .overLimit, .invalid: return nil
        default: throw error
        }
      }
    }

    /// The name of each entry by its own one: that of an item with the same value, or else with the same address, or
    /// that of the only item if there is only one entry. All others keep their own names, or get unused ones.
    func names(
      for entries: [Record], in present: [Record], isTaken: (String) -> Bool
    ) -> [String: String] {
      let items = Dictionary(present.map { ($0.name, $0) }) { first, _ in first }
      var names: [String: String] = [:]
      var used: Set<String> = []
      func match<Key: Hashable>(by key: (Record) -> Key?) {
        // Several items may be equal.
        for entry in entries where names[entry.name] == nil && !used.contains(entry.name) {
          guard let wanted = key(entry), let item = items[entry.name], key(item) == wanted else { continue }
          names[entry.name] = entry.name
          used.insert(entry.name)
        }
        var free: [Key: [String]] = [:]
        for item in present.reversed() where !used.contains(item.name) {
          if let key = key(item) { free[key, default: []].append(item.name) }
        }
        for entry in entries where names[entry.name] == nil {
          guard let wanted = key(entry), let name = free[wanted]?.popLast() else { continue }
          names[entry.name] = name
          used.insert(name)
        }
      }
      match { $0.members }
      match { $0.url }
      if entries.count == 1, present.count == 1, names.isEmpty { names[entries[0].name] = present[0].name }
      var others: [String] = []
      for entry in entries where names[entry.name] == nil {
        if used.insert(entry.name).inserted { names[entry.name] = entry.name } else { others.append(entry.name) }
      }
      func isFree(_ name: String) -> Bool { !used.contains(name) && items[name] == nil && !isTaken(name) }
      var number = 1
      for name in others {
        while !isFree(numbered(number)) { number += 1 }
        names[name] = numbered(number)
        number += 1
      }
      return names
    }
  }
}
