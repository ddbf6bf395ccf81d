public import GroupFile
internal import Sealing

extension SecretStore {
  /// Makes a damaged group anew of every item that its last signed state proves, with a roster and a manifest signed anew.
  ///
  /// The damaged files are kept aside. What opens but is not proved is listed, and kept only where it is named; so are the
  /// items that were lost, by name where that can be known.
  ///
  /// - Parameters:
  ///   - name: the group's name; `vault.owner` is the owner's own list.
  ///   - names: items that are kept although nothing proves them. Where nothing is damaged, they are taken from the files that
  ///     the last repair kept aside, and written as new versions.
  ///   - progress: called now and then.
  /// - Returns: `nil` if nothing is damaged; nothing is changed then.
  /// - Throws: ``VaultError/denied(_:)`` for anybody but the owner; ``VaultError/damaged(group:level:detail:)`` where no signed
  ///   state is left; ``VaultError/rolledBack(group:found:known:reason:)`` where a newer one was seen;
  ///   ``VaultError/notFound(_:)`` for a name that is none of an unproved item. Nothing is changed then.
  @discardableResult
  public func repairGroup(
    _ name: String, keepingUnproved names: [String] = [], progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) -> GroupRepair? {
    let identity = try owner()
    let name = try AccessGroup.Name(name)
    let file = name == .registry ? try registry().group.file : group(name).file
    var wanted: [String] = []
    for name in names { wanted.append(try Item.Name(name).description) }
    guard AccessGroupFile.exists(in: file.folder) else { throw try missing(file, name) }
    let drafts = try DraftFolder.make(in: location.home)
    let kept = drafts.keepingPath(of: name)
    do throws(GroupFileError) {
      var repair = try file.repair(
        at: drafts.path(of: name), keeping: kept, unproved: wanted, by: identity,
        members: memberSeeds(identity)
      ) { progress($0) }
      if repair != nil {
        repair?.keptAside = kept
        return repair
      }
      guard !wanted.isEmpty else { return nil }
      // An earlier repair listed them; only then are their names known.
      guard let aside = drafts.lastKept(of: name) else { throw .noItem }
      var adoption = try file.adopt(wanted, from: aside, at: drafts.path(of: name) + ".salvage")
      adoption.keptAside = aside
      return adoption
    } catch {
      throw SecretStore.repairError(error, name.description)
    }
  }

  /// Why a group without a file cannot be repaired.
  private func missing(_ file: AccessGroupFile, _ name: AccessGroup.Name) throws(VaultError) -> VaultError {
    do {
      _ = try file.beginReading()
      return .busy(group: name.description)
    } catch {
      return VaultError(error, group: name.description)
    }
  }

  /// Without a signed state there is nothing that could be proved.
  private static func repairError(_ error: GroupFileError, _ name: String) -> VaultError {
    switch error {
    case .damaged(let level, let detail) where level != .witness:
      .damaged(group: name, level: level, detail: "\(detail); no signed state is left to repair it from")
    default: VaultError(error, group: name)
    }
  }
}
