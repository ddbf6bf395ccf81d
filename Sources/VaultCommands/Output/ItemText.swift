import Glibc
internal import Vault

/// An item in words and in JSON, without its value.
extension Item {
  /// The writer. If the signature does not prove the writer, they are marked as claimed.
  var writerText: String { isWriterClaimed ? "\(writer.text), as claimed" : writer.text }

  var state: String { isRemoved ? "removed" : "present" }

  /// All details, for `info`.
  ///
  /// - Parameter told: gives the text of a time.
  func lines(group: AccessGroup.Name, told: (Timestamp) -> String) -> [(title: String, text: String)] {
    var lines = [("name", name.description), ("group", group.description)]
    if let label { lines.append(("label", label)) }
    for (key, value) in attributes.sorted(by: <) { lines.append(("attribute", "\(key)=\(value)")) }
    lines.append(("version", "\(version)" + (oldestVersion < version ? " (kept from \(oldestVersion) on)" : "")))
    lines.append(("created", told(created)))
    lines.append(("changed", "\(told(changed)) by \(writerText)"))
    if let expires { lines.append(("expires", told(expires) + (hasExpired ? " (expired)" : ""))) }
    lines.append(("kind", typeName.map { "\(kind.name) of \($0)" } ?? kind.name))
    return lines
  }

  /// An object for `info` and `list`.
  func write(to json: inout JSONWriter, group: AccessGroup.Name) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("name", name.description)
      try json.string("group", group.description)
      try json.string("label", orNull: label)
      try json.object("attributes") { (json) throws(Failure) in
        for (key, value) in attributes.sorted(by: <) { try json.member(key, value) }
      }
      try json.number("version", version)
      try json.number("oldestVersion", oldestVersion)
      try json.string("created", created.text)
      try json.string("changed", changed.text)
      try json.string("expires", orNull: expires?.text)
      try json.flag("expired", hasExpired)
      try json.string("kind", orNull: isRemoved ? nil : kind.name)
      try json.string("type", orNull: typeName)
      try json.string("writer", writer.text)
      try json.flag("writerClaimed", isWriterClaimed)
    }
  }

  /// An object for `history`.
  func writeVersion(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.number("version", version)
      try json.string("state", state)
      try json.string("changed", changed.text)
      try json.string("writer", writer.text)
      try json.flag("writerClaimed", isWriterClaimed)
      try json.string("expires", orNull: expires?.text)
    }
  }
}

extension Item.Writer {
  var text: String {
    switch self {
    case .owner: "owner"
    case .application(let name, let issue): "\(name) (issue \(issue))"
    }
  }
}

extension Timestamp {
  var text: String { UTCDate.text(Int64(milliseconds)) }
  var shortText: String {
    var text: [UInt8] = []
    UTCDate.appendShortText(Int64(milliseconds), to: &text)
    return String(decoding: text, as: UTF8.self)
  }
  func appendShortText(to line: inout [UInt8]) { UTCDate.appendShortText(Int64(milliseconds), to: &line) }
  /// The time in the machine's time zone, with its name: `2026-11-22 10:05 CET`.
  var localText: String {
    let (time, zone) = local
    return zone.isEmpty ? time : "\(time) \(zone)"
  }

  /// The time in the machine's time zone, and the name of the zone at that time.
  var local: (time: String, zone: String) {
    guard var seconds = time_t(exactly: milliseconds / 1_000) else { return (shortText, "UTC") }
    var parts = unsafe tm()
    tzset()
    guard unsafe localtime_r(&seconds, &parts) != nil, let zone = unsafe parts.tm_zone else {
      return (shortText, "UTC")
    }
    let (year, month, day) = unsafe (parts.tm_year + 1_900, parts.tm_mon + 1, parts.tm_mday)
    let (hour, minute) = unsafe (parts.tm_hour, parts.tm_min)
    func digits(_ number: Int32) -> String { number < 10 ? "0\(number)" : String(number) }
    let date = "\(year)-\(digits(month))-\(digits(day))"
    return ("\(date) \(digits(hour)):\(digits(minute))", unsafe String(cString: zone))
  }

  /// With milliseconds, if there are any.
  var exactText: String {
    let rest = milliseconds % 1_000
    return rest == 0 ? text : "\(text.dropLast()).\(String(1_000 + rest).dropFirst())Z"
  }
}

// Times, and warnings of expiry.
extension Session {
  /// Says that the expiry of the former value does not apply to the new one.
  func warnOfLostExpiry(of former: Item?) {
    guard let expires = former?.expires else { return }
    warn("the former value's expiry (\(shown(expires))) does not apply to the new one; to set one: --expires")
  }

  func warnIfExpired(_ item: Item) {
    if item.hasExpired { warn("'\(item.name)' has expired: vault info shows when") }
  }

  /// Says that a time that was given for a new value is past.
  func warnIfPast(_ details: Details) {
    if case .to(let time) = details.expires, time < .now {
      warn("the value has expired already: \(shown(time)) is past")
    }
  }

  /// A time in a sentence: in the machine's time zone on a terminal, elsewhere in UTC to the second.
  func told(_ time: Timestamp) -> String { output.isTerminal ? time.localText : time.text }

  /// A time in a table: in the machine's time zone on a terminal, elsewhere in UTC.
  func shown(_ time: Timestamp?) -> String {
    guard let time else { return "" }
    return output.isTerminal ? time.localText : time.shortText
  }
}
