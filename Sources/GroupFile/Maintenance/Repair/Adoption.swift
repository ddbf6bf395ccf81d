import Sealing

extension AccessGroupFile {
  /// Writes values that an earlier repair listed and did not keep as new versions of their items, because the owner names them.
  ///
  /// - Parameters:
  ///   - names: the items.
  ///   - aside: the folder of the damaged files, which are only read.
  ///   - salvage: a path that is free.
  /// - Throws: `noItem` where a name has no value there that opens under the group's present key; nothing is changed then.
  package func adopt(
    _ names: [String], from aside: String, at salvage: String
  ) throws(GroupFileError) -> RepairedGroup {
    guard context.kind == .owner else { throw .ownerOnly }
    defer { SalvageCopy.remove(salvage) }
    let transaction = try beginWriting()
    let stored = try SalvageCopy.make(
      of: ContainerPlace(folder: aside), at: salvage, header: transaction.view.connection.header())
    let index = try SalvageIndex(of: salvage, stored) { _, _ in }
    var group = RepairedGroup()
    group.kept = transaction.view.state.manifest.itemCount
    for name in names {
      let (attributes, secret, version) = try value(name, RowSeal(transaction.view.state.keys), index)
      try transaction.put(attributes, secret)
      group.unproved.append(
        UnprovedItem(name: name, version: version, changed: attributes.changed, isKept: true))
    }
    group.epoch = transaction.epoch
    try transaction.commit()
    return group
  }

  /// The newest value of `name` that opens.
  private func value(
    _ name: String, _ seal: RowSeal, _ index: borrowing SalvageIndex
  ) throws(GroupFileError) -> (Attributes, OpenedSecret, version: UInt64) {
    for record in index.versions(of: seal.keys.token(of: name)).reversed() {
      guard let row = index.row(record), row.state == .present, let attributes = try? seal.attributes(of: row),
        attributes.name.utf8.elementsEqual(name.utf8)
      else { continue }
      var box = (bytes: row.encoded, range: row.secretRange)
      if row.place == .blob {
        guard let digest = Digest(row.encoded[row.secretRange]), let blob = index.blob(digest) else { continue }
        box = (blob, blob.indices)
      }
      guard let secret = try? seal.secret(box.bytes, in: box.range, of: row) else { continue }
      return (attributes, secret, row.version)
    }
    throw .noItem
  }
}
