extension ArchiveInspection {
  /// Throws what would keep the archive from being built, as far as can be told without building: another archiver or
  /// version, a class beyond `names`, a cycle, or a limit.
  ///
  /// `names` are names as the archive has them; property-list classes, `NSURL`, `NSUUID` and `NSNull` need not be named.
  public func check(allowing names: [String] = []) throws(ArchiveError) {
    try table.checkEnvelope()
    guard table.graph.unfoldedTotal <= UInt64(clamping: limits.references) else {
      throw .overLimit(.references, allowed: limits.references, at: ArchivePath())
    }
    var known = Set(names)
    for name in names { known.formUnion(FoundationClasses.parts(of: name)) }
    for (number, record) in table.records.enumerated() where table.graph.isReachable(number) {
      guard case .instance(let position) = record else { continue }
      let name = table.classes[position].name
      guard !known.contains(name), !FoundationClasses.alwaysKnown.contains(name) else { continue }
      throw .classRefused(name: name, allowed: names, at: table.path(toObject: number))
    }
    if let back = table.graph.backReferences.first { throw .cycle(at: table.path(toObject: back.to)) }
    guard table.graph.depth <= limits.effectiveDepth else {
      throw .overLimit(.depth, allowed: limits.effectiveDepth, at: ArchivePath())
    }
  }
}
