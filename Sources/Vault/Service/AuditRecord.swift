/// One decision of the service, or one act of the owner.
///
/// The texts come from callers, so they can contain anything. Escape them before writing them to a terminal.
public struct AuditRecord: Sendable, Equatable {
  /// When it was decided, by the clock of the machine that wrote the record.
  public var time: Timestamp
  public var caller: Caller
  public var action: Action
  /// The group that it was about.
  public var group: String?
  /// The name of the item that it was about.
  public var item: String?
  /// The version that was read or written.
  public var version: UInt64?
  public var outcome: Outcome
  /// The subject of an owner's act, other than a group: an application's id, the number of a slot.
  public var subject: String?
  /// Further details, such as the rights that were given.
  public var detail: String?

  public init(
    time: Timestamp = .now, caller: Caller, action: Action, group: String? = nil, item: String? = nil,
    version: UInt64? = nil, outcome: Outcome = .allowed, subject: String? = nil, detail: String? = nil
  ) {
    (self.time, self.caller, self.action, self.outcome) = (time, caller, action, outcome)
    (self.group, self.item, self.version) = (group, item, version)
    (self.subject, self.detail) = (subject, detail)
  }

  /// Who asked, if known.
  public struct Caller: Sendable, Equatable {
    public var who: Who
    /// The Unix user; `nil` for a caller on the network.
    public var uid: UInt32?
    public var pid: Int32?
    /// The systemd unit.
    public var unit: String?
    /// The path of the executable.
    public var exe: String?
    /// The address of a caller on the network.
    public var address: String?

    public init(
      _ who: Who, uid: UInt32? = nil, pid: Int32? = nil, unit: String? = nil, exe: String? = nil,
      address: String? = nil
    ) {
      (self.who, self.uid, self.pid) = (who, uid, pid)
      (self.unit, self.exe, self.address) = (unit, exe, address)
    }
  }

  /// The member of the store that the caller was identified as.
  public enum Who: Sendable, Equatable {
    /// No binding and no token matched.
    case nobody
    case owner
    case application(String)

    /// The application's id.
    public var application: String? { if case .application(let id) = self { id } else { nil } }
  }

  /// What the caller asked for. Stored batches contain these numbers, so they never change.
  public struct Action: RawRepresentable, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The action's name, as `vault audit` shows it.
    public var name: String { Action.names[self] ?? "action \(rawValue)" }
  }

  /// How it ended: 0 if it was allowed and done, otherwise the ``ExitStatus`` of the error.
  public struct Outcome: RawRepresentable, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let allowed = Outcome(rawValue: 0)
    public static let denied = Outcome(rawValue: 12)

    public init(_ status: ExitStatus) { rawValue = UInt8(truncatingIfNeeded: status.rawValue) }
    public init(_ error: VaultError) { self.init(error.exitStatus) }

    /// `allowed`, or the name of the exit status.
    public var name: String {
      if self == .allowed { return "allowed" }
      return ExitStatus(rawValue: Int32(rawValue))?.name ?? "status \(rawValue)"
    }
  }
}

extension AuditRecord.Action {
  // Requests to the service.
  public static let read = Self(rawValue: 1)
  public static let list = Self(rawValue: 2)
  public static let write = Self(rawValue: 3)
  public static let remove = Self(rawValue: 4)
  public static let restore = Self(rawValue: 5)
  public static let destroy = Self(rawValue: 6)
  /// To read an item's details without its value.
  public static let inspect = Self(rawValue: 7)
  /// To be identified as an application: a binding, a token, a login.
  public static let login = Self(rawValue: 8)
  public static let renew = Self(rawValue: 9)
  public static let logout = Self(rawValue: 10)
  /// To receive changes.
  public static let watch = Self(rawValue: 11)
  /// To start or stop the service.
  public static let start = Self(rawValue: 12)
  public static let stop = Self(rawValue: 13)
  /// To drop months of the record.
  public static let dropMonths = Self(rawValue: 14)
  /// To sign with a key, which does not leave the service.
  public static let sign = Self(rawValue: 15)

  // Acts of the owner.
  public static let issue = Self(rawValue: 64)
  public static let replace = Self(rawValue: 65)
  public static let grant = Self(rawValue: 66)
  public static let revoke = Self(rawValue: 67)
  public static let rotate = Self(rawValue: 68)
  public static let share = Self(rawValue: 69)
  public static let unshare = Self(rawValue: 70)
  public static let uninstall = Self(rawValue: 71)
  public static let bind = Self(rawValue: 72)
  public static let unbind = Self(rawValue: 73)
  public static let enroll = Self(rawValue: 74)
  public static let accept = Self(rawValue: 75)
  public static let repair = Self(rawValue: 76)
  public static let createGroup = Self(rawValue: 77)
  public static let removeGroup = Self(rawValue: 78)
  public static let addSlot = Self(rawValue: 79)
  public static let changeSlot = Self(rawValue: 80)
  public static let removeSlot = Self(rawValue: 81)
  public static let removeRow = Self(rawValue: 82)
  public static let beginAudit = Self(rawValue: 83)
  public static let restoreBackup = Self(rawValue: 84)
  public static let addRemote = Self(rawValue: 85)
  public static let removeRemote = Self(rawValue: 86)
  public static let publish = Self(rawValue: 87)
  public static let unpublish = Self(rawValue: 88)

  fileprivate static let names: [Self: String] = [
    .read: "read", .list: "list", .write: "write", .remove: "remove", .restore: "restore", .destroy: "destroy",
    .inspect: "inspect", .login: "login", .renew: "renew", .logout: "logout", .watch: "watch", .start: "start",
    .stop: "stop", .dropMonths: "drop-months", .sign: "sign", .issue: "issue", .replace: "replace", .grant: "grant",
    .revoke: "revoke", .rotate: "rotate", .share: "share", .unshare: "unshare", .uninstall: "uninstall",
    .bind: "bind", .unbind: "unbind", .enroll: "enroll", .accept: "accept", .repair: "repair",
    .createGroup: "create-group", .removeGroup: "remove-group", .addSlot: "add-slot", .changeSlot: "change-slot",
    .removeSlot: "remove-slot", .removeRow: "remove-row", .beginAudit: "begin-audit",
    .restoreBackup: "restore-backup", .addRemote: "add-remote", .removeRemote: "remove-remote",
    .publish: "publish", .unpublish: "unpublish",
  ]
}

/// The bytes of a record (format article, "The record").
extension AuditRecord {
  private enum Tag: UInt8 {
    case time = 1
    case who, uid, pid, unit, exe, address, action, group, item, version, outcome, subject, detail
  }

  /// The maximum length of a text, in bytes; a longer one is cut.
  static let textByteCount = 4_096
  /// The maximum size of a record, in bytes.
  static let byteCount = 65_536

  /// The record's fields. No record is refused: a text that is too long is cut, and a number that is too large is
  /// replaced by the largest that fits.
  func serialized() -> [UInt8] {
    var fields = FieldWriter()
    func write(_ tag: Tag, _ number: UInt64) { fields.write(tag.rawValue, min(number, ByteReader.counterLimit - 1)) }
    func write(_ tag: Tag, _ text: String?) { if let text { fields.write(tag.rawValue, AuditRecord.bounded(text)) } }
    write(.time, time.milliseconds)
    switch caller.who {
    case .nobody: fields.write(Tag.who.rawValue, [0])
    case .owner: fields.write(Tag.who.rawValue, [1])
    case .application(let id): fields.write(Tag.who.rawValue, [2] + AuditRecord.bounded(id))
    }
    if let uid = caller.uid { write(.uid, UInt64(uid)) }
    if let pid = caller.pid, pid >= 0 { write(.pid, UInt64(pid)) }
    write(.unit, caller.unit)
    write(.exe, caller.exe)
    write(.address, caller.address)
    fields.write(Tag.action.rawValue, [action.rawValue])
    write(.group, group)
    write(.item, item)
    if let version { write(.version, version) }
    fields.write(Tag.outcome.rawValue, [outcome.rawValue])
    write(.subject, subject)
    write(.detail, detail)
    return fields.bytes
  }

  /// The text's bytes; a text that is too long is cut and ends with "…".
  private static func bounded(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    guard bytes.count > textByteCount else { return bytes }
    var kept = bytes.prefix(textByteCount - 3)
    // Do not cut inside a character.
    while let last = kept.last, last & 0xC0 == 0x80 { kept.removeLast() }
    if let last = kept.last, last & 0x80 != 0 { kept.removeLast() }
    return kept + Array("…".utf8)
  }

  /// - Throws: any error for bytes that do not follow the format.
  init(parsing bytes: [UInt8], in range: Range<Int>) throws {
    // A record of a newer version may have more fields; the known ones can still be shown.
    let fields = try Fields<Tag>(bytes, in: range, limit: AuditRecord.textByteCount + 1, unknown: nil)
    guard let time = try fields.number(.time), let who = try fields[.who].map(Who.init(parsing:)),
      let action = try fields.byte(.action), let outcome = try fields.byte(.outcome)
    else { throw ByteReader.Failure() }
    let caller = Caller(
      who, uid: try fields.number(.uid).flatMap { UInt32(exactly: $0) },
      pid: try fields.number(.pid).flatMap { Int32(exactly: $0) }, unit: try fields.text(.unit),
      exe: try fields.text(.exe), address: try fields.text(.address))
    self.init(
      time: Timestamp(milliseconds: time), caller: caller, action: Action(rawValue: action),
      group: try fields.text(.group), item: try fields.text(.item), version: try fields.number(.version),
      outcome: Outcome(rawValue: outcome), subject: try fields.text(.subject), detail: try fields.text(.detail))
  }
}

extension AuditRecord.Who {
  fileprivate init(parsing field: ArraySlice<UInt8>) throws {
    switch field.first {
    case 0 where field.count == 1: self = .nobody
    case 1 where field.count == 1: self = .owner
    case 2: self = .application(try FieldReader.text(field.dropFirst()))
    default: throw ByteReader.Failure()
    }
  }
}
