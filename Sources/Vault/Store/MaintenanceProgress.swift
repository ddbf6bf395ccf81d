internal import GroupFile

/// How far a backup, a restoration, a repair or a new key has come with one group.
@nonexhaustive
public enum MaintenanceProgress: Sendable, Equatable {
  case copied(bytes: UInt64, of: UInt64)
  /// So many items were proved.
  case proved(UInt64)
  /// So many items were proved and sealed under a new key.
  case sealed(UInt64)
  /// So many of them were written.
  case written(UInt64)

  init(_ step: CopyStep) {
    self =
      switch step {
      case .copied(let bytes, let all): .copied(bytes: bytes, of: all)
      case .proved(let count): .proved(count)
      }
  }

  init(_ step: RotationStep) {
    self =
      switch step {
      case .sealed(let count): .sealed(count)
      case .written(let count): .written(count)
      }
  }
}
