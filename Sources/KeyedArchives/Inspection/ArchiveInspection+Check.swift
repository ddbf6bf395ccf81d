extension ArchiveInspection {
  /// Throws if the archive could not be built, for a reason that shows without building it: another archiver or
  /// version, a class not in `names`, a cycle, or a limit.
  ///
  /// `names` are class names as the archive spells them. Property-list classes, `NSURL`, `NSUUID` and `NSNull` need not
  /// be named.
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
