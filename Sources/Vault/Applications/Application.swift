/// The owner's record of an application that has been issued a credential.
public struct Application: Sendable, Equatable {
  /// The application's id, such as `com.example.notes`; its private group has the same name.
  public let id: String
  /// The number of its identity: 1 at first, and 1 more whenever a credential was replaced, or 1,024 more if a group
  /// could not be read then.
  public internal(set) var issue: UInt32
  /// The highest number that any of its seeds may have been derived with. After a restore it is above `issue`, because
  /// the lost machine may already have used the numbers in between.
  var highestIssue: UInt32
  public internal(set) var standing: Standing
  /// The declared lifetime of its private group, which decides what happens to the group at uninstallation.
  public let lifetime: GroupLifetime
  /// When it was first issued a credential.
  public let created: Timestamp
  /// When its last credential was written; `nil` if none was.
  public internal(set) var issued: Timestamp?

  /// Whether its credential was replaced while some group may still accept the old one.
  var wasReplaced: Bool { standing == .interrupted && issued != nil }

  /// Whether nobody has replaced or revoked the application since this entry was read; `now` is the entry as it is.
  func isUpToDate(with now: Application?) -> Bool {
    now?.issue == issue && (now?.standing != .revoked || standing == .revoked)
  }

  /// The state of an application's credential.
  @nonexhaustive
  public enum Standing: String, Sendable {
    /// No credential was ever written. The service knows the application by its bindings.
    case registered
    /// The newest credential opens the application's groups.
    case issued
    /// Issuing was interrupted, or some groups could not be changed; the same command with the same file finishes it.
    case interrupted
    /// The application was uninstalled; its credential can be issued again.
    case uninstalled
    /// The application was removed, and no credential of it opens anything.
    case revoked

    /// The number in the registry. Whether an application without a credential is only registered, or its credential
    /// was issued, follows from the date.
    var code: UInt8 {
      switch self {
      case .registered, .issued: 1
      case .interrupted: 2
      case .uninstalled: 3
      case .revoked: 4
      }
    }

    fileprivate init?(code: UInt8, wasIssued: Bool) {
      let all: [Standing] = [wasIssued ? .issued : .registered, .interrupted, .uninstalled, .revoked]
      guard let standing = all.first(where: { $0.code == code }) else { return nil }
      self = standing
    }
  }
}

extension Application {
  private enum Tag: UInt8 {
    case issue = 1
    case standing, lifetime, created, issued, highestIssue
  }

  func serialized() -> [UInt8] {
    var fields = FieldWriter()
    fields.write(Tag.issue.rawValue, UInt64(issue))
    fields.write(Tag.standing.rawValue, [standing.code])
    fields.write(Tag.lifetime.rawValue, [lifetime == .survives ? 1 : 2])
    fields.write(Tag.created.rawValue, created.milliseconds)
    fields.write(Tag.issued.rawValue, issued?.milliseconds ?? 0)
    if highestIssue != issue { fields.write(Tag.highestIssue.rawValue, UInt64(highestIssue)) }
    return fields.bytes
  }

  init(_ id: String, parsing bytes: [UInt8]) throws(VaultError) {
    do {
      let fields = try Fields<Tag>(bytes, limit: 1_024, unknown: VaultError.newerFormat(read: nil, write: nil))
      let highest = try fields.number(.highestIssue)
      guard let issue = try fields.number(.issue).flatMap({ UInt32(exactly: $0) }), issue > 0,
        let highestIssue = UInt32(exactly: highest ?? UInt64(issue)), highest == nil || highestIssue > issue,
        let lifetime = try fields.byte(.lifetime), (1...2).contains(lifetime),
        let created = try fields.number(.created), let issued = try fields.number(.issued),
        let standing = try fields.byte(.standing).flatMap({ Standing(code: $0, wasIssued: issued > 0) })
      else { throw Registry.damaged }
      self.init(
        id: id, issue: issue, highestIssue: highestIssue, standing: standing,
        lifetime: lifetime == 1 ? .survives : .purged, created: Timestamp(milliseconds: created),
        issued: issued > 0 ? Timestamp(milliseconds: issued) : nil)
    } catch {
      throw error as? VaultError ?? Registry.damaged
    }
  }
}
