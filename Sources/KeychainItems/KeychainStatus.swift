public import Foundation
public import Vault

/// A result of a keychain call, with the numbers of Apple's Security framework.
public struct KeychainStatus: Error, RawRepresentable, Sendable, Hashable {
  public let rawValue: Int32
  public init(rawValue: Int32) { self.rawValue = rawValue }

  public static let success = KeychainStatus(rawValue: 0)
  /// A kind of reference or access control that this keychain does not have, or a change of a primary key, for which
  /// `vaultd` has no call.
  public static let unimplemented = KeychainStatus(rawValue: -4)
  /// The storage failed: a full disk, a file system that is read-only.
  public static let inputOutput = KeychainStatus(rawValue: -36)
  /// An argument is not valid.
  public static let param = KeychainStatus(rawValue: -50)
  /// Too little memory.
  public static let allocate = KeychainStatus(rawValue: -108)
  /// An internal error.
  public static let internalComponent = KeychainStatus(rawValue: -2070)
  /// There is no store, another process keeps its lock, or `vaultd` or a cluster does not answer.
  public static let notAvailable = KeychainStatus(rawValue: -25291)
  /// This application may read the access group, but not write to it.
  public static let readOnly = KeychainStatus(rawValue: -25292)
  /// A wrong passphrase or key, or the system's permissions.
  public static let authFailed = KeychainStatus(rawValue: -25293)
  public static let duplicateItem = KeychainStatus(rawValue: -25299)
  public static let itemNotFound = KeychainStatus(rawValue: -25300)
  /// The store is locked, and nobody is asked.
  public static let interactionNotAllowed = KeychainStatus(rawValue: -25308)
  /// Bytes fail verification, or are older than what this machine has seen.
  public static let decode = KeychainStatus(rawValue: -26275)
  /// The access group does not exist, or this application is not a member.
  public static let missingEntitlement = KeychainStatus(rawValue: -34018)

  /// The status for an error of the store: what iOS distinguishes, and otherwise that of the error's kind, which is all that
  /// is known of one that `vaultd` met.
  public init(_ error: VaultError) {
    self =
      switch error {
      case .notFound(.group), .denied(.notAMember): .missingEntitlement
      case .denied(.readOnly), .denied(.ownerOnly): .readOnly
      case .denied(.throughService): .unimplemented
      case .unordered(_, .tooOld), .unordered(_, .tooEarly): .notAvailable
      case .storage(.memory): .allocate
      case .contradiction, .publishedGroup, .otherCluster, .otherState, .otherType, .declined, .tooManyStates:
        .internalComponent
      default:
        switch error.exitStatus {
        case .notFound: .itemNotFound
        case .conflict, .exists: .duplicateItem
        case .usage, .overLimit: .param
        case .locked: .interactionNotAllowed
        case .denied, .wrongKey: .authFailed
        case .damaged, .classRefused, .rolledBack, .newerFormat: .decode
        case .noStore, .busy: .notAvailable
        case .storage: .inputOutput
        default: .internalComponent
        }
      }
  }

  /// What the status means, for people.
  public var message: String { known ?? "status \(rawValue)" }

  private var known: String? {
    switch self {
    case .success: "done"
    case .unimplemented: "this keychain has no such reference or access control, and vaultd no such change"
    case .inputOutput: "the storage failed"
    case .param: "an argument is not valid"
    case .allocate: "there is not enough memory"
    case .internalComponent: "an internal error"
    case .notAvailable: "there is no store, another process keeps its lock, or a service does not answer"
    case .readOnly: "this application may only read the access group"
    case .authFailed: "a wrong passphrase or key, or the system's permissions"
    case .duplicateItem: "the item already exists"
    case .itemNotFound: "no such item"
    case .interactionNotAllowed: "the store is locked"
    case .decode: "the store is damaged or older than what was seen before"
    case .missingEntitlement: "there is no such access group, or this application is not a member of it"
    default: nil
    }
  }
}

extension KeychainStatus: CustomStringConvertible, LocalizedError {
  /// The message and the number: `no such item (-25300)`.
  public var description: String { known.map { "\($0) (\(rawValue))" } ?? message }
  public var errorDescription: String? { description }
}
