public import Foundation

extension SecureUnarchiver {
  /// Reads any keyed archive as a tree, without building anything.
  ///
  /// Throws ``ArchiveError`` where `data` is not a keyed archive, contradicts itself or exceeds a limit; another
  /// archiver's name, another version, cycles and unknown classes are no errors here.
  public static func inspect(
    _ data: Data, limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> ArchiveInspection {
    try ArchiveInspection([UInt8](data), limits: limits)
  }
}

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
    for name in names { known.formUnion(ValueClass.named(name)?.parts ?? []) }
    for (number, record) in table.records.enumerated() where table.graph.isReachable(number) {
      guard case .instance(let position) = record else { continue }
      let name = table.classes[position].name
      guard !known.contains(name), ValueClass.named(name)?.isAlwaysKnown != true else { continue }
      throw .classRefused(name: name, allowed: names, at: table.path(toObject: number))
    }
    if let back = table.graph.backReferences.first { throw .cycle(at: table.path(toObject: back.to)) }
    guard table.graph.depth <= limits.effectiveDepth else {
      throw .overLimit(.depth, allowed: limits.effectiveDepth, at: ArchivePath())
    }
  }
}
