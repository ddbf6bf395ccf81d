internal import Vault

/// `vault set NAME`
struct SetItem: Command {
  static let about = About(
    "Store a value: from stdin, a descriptor, a file, or typed without echo. Never from an argument.",
    usage: """
      vault set NAME[#FIELD] [-g GROUP] [--label TEXT] [-a KEY=VALUE]... [--expires WHEN]
                     [--fd N | --file PATH | --keep-value] [--type TYPE] [--exact]
                     [--if-version N] [--request-id ID] [--replace-fields] [--allow-empty]
                     [--json]
      vault set NAME --archive FILE [--allow CLASS]... [-g GROUP] ...
      """,
    more: """
      A single piped line loses its newline; text of several lines keeps its last one, and a file's bytes are \
      unchanged. Label and attributes that are not named stay; an empty text removes one. The expiry belongs to the \
      value and stays only with --keep-value.

      NAME#FIELD sets one field of a login or another JSON value and leaves the others unchanged, unless there is an \
      item with that name. With --field FIELD the name is taken literally, and a new item with '#' in its name needs \
      --field ''. If text would replace JSON and all its fields, the command asks on a terminal and refuses (18) \
      elsewhere, unless --replace-fields is given; a JSON object stays one.

      Empty input that was not typed does not replace a value (18), because usually the command before the pipe has \
      failed; --allow-empty stores it.

      If a cluster did not say whether it accepted a change (15), repeat the same set, on any machine of the group, \
      with the --request-id that the message names: the change is made only once. An ID has 1 to 64 visible \
      characters; scripts can choose their own.

      --type checks the value and stores it in a normal form: bool, int, double, string, date (2027-01-31T12:00Z), \
      url, uuid, json or data. --archive checks a keyed archive (NSKeyedArchiver) and stores it; a class that is not \
      named with --allow is refused (19).
      """,
    example: """
      printf %s "$TOKEN" | vault set api/token --label "CI token" -a env=prod --expires 90d
      printf %s "$NEW" | vault set web/GitHub#password
      echo true | vault set flags/beta --type bool
      vault set owner --archive person.plist --allow Person --allow Address
      """)

  static let surplus: Failure? = .usage(
    "a value is never taken from an argument, because other users and your shell's history would see it",
    hint: "pipe it: printf %s \"$VALUE\" | vault set NAME; or, from a file: --file PATH")

  let name: String
  let field: String?
  let group: String?
  let label: String?
  let attributes: [String]
  let expires: String?
  let descriptor: Int32?
  let file: String?
  let type: String?
  let archive: String?
  let allowed: [String]
  let keepsValue: Bool
  let replacesFields: Bool
  let allowsEmpty: Bool
  let exact: Bool
  let ifVersion: UInt64?
  let requestID: String?
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The item's name.", completes: .items)
    field = arguments.field()
    group = arguments.group()
    label = arguments.option("--label", value: "text", "A description for people to read.")
    attributes = arguments.options("--attribute", short: "-a", value: "key=value", "An attribute.")
    expires = arguments.option("--expires", value: "when", "When the value expires: \(Expiry.forms).")
    descriptor = try arguments.descriptor("--fd", "Read the value from this descriptor.")
    let path = arguments.option("--file", value: "path", "Read the value from this file.", completes: .files)
    file = path == "-" ? nil : path
    type = arguments.option(
      "--type", value: "type", "The value's type, which is checked.",
      completes: .words(["bool", "int", "double", "string", "date", "url", "uuid", "json", "data"]))
    archive = arguments.option(
      "--archive", value: "file", "Store this keyed archive, or - for standard input.", completes: .files)
    allowed = arguments.options("--allow", value: "class", "A class that may be in the archive.")
    keepsValue = arguments.flag("--keep-value", "Keep the value, and change only the named details.")
    replacesFields = arguments.flag("--replace-fields", "Replace JSON and all its fields with text.")
    allowsEmpty = arguments.flag("--allow-empty", "Let empty input replace a value.")
    exact = arguments.flag("--exact", "Keep the newline at the end of piped text.")
    ifVersion = try arguments.number(
      "--if-version", value: "n", "Set it only if this is the current version; 0: only if there is no item.")
    requestID = arguments.option(
      "--request-id", value: "id", "Set it only if this request was not carried out before.")
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    try ItemPlace.refuseReference(name)
    let name = try Item.Name(name).description
    let (details, source, kind) = (try details(), try source(), try kind())
    // Check the archive first, so that a refused one causes no prompt.
    let archive = try archive.map { path throws(Failure) in try CheckedArchive(path, allowed, session.streams) }
    let request = requestID.map(ChangeID.init) ?? ChangeID()
    guard let request else { throw Failure.usage("--request-id has 1 to 64 visible characters of ASCII") }
    // Open the store first, so that nobody types a value in vain.
    let group = try session.openGroup(group, key).answering(request)
    let place = try ItemPlace(name, field: field, in: group)
    let version: UInt64
    do {
      version =
        if let field = place.field {
          try set(field, of: place, archive == nil ? source : nil, kind, details, group, session)
        } else if let archive {
          try set(place.name, archive, details, group, session)
        } else if let source {
          try set(place.name, source, kind, details, group, session)
        } else {
          try group.change(place.name, details, ifVersion: ifVersion)
        }
    } catch let error as VaultError where error.leavesOutcomeOpen {
      throw Failure(
        error.exitStatus, error.message,
        hint: "repeat it with --request-id \(request), here or on another host; the change is made only once")
    }
    session.warnIfPast(details)
    guard json else { return }
    try session.output.tell(of: "the change was made (version \(version))") { () throws(Failure) in
      var json = JSONWriter(session.output)
      try json.object { (json) throws(Failure) in
        try json.string("name", place.name)
        if let field = place.field { try json.string("field", field) }
        try json.string("group", group.name.description)
        try json.number("version", version)
      }
    }
  }

  private func set(
    _ name: String, _ archive: CheckedArchive, _ details: Details, _ group: AccessGroup, _ session: Session
  ) throws -> UInt64 {
    try FieldLoss(name, in: group, isMeant: replacesFields)?.confirm(in: session)
    return try set(name, archive.bytes.secret(), .archive, archive.typeName, details, group, session)
  }

  private func set(
    _ name: String, _ source: ValueInput, _ kind: SecretKind?, _ details: Details, _ group: AccessGroup,
    _ session: Session
  ) throws -> UInt64 {
    var kind = kind
    var loss = kind == .json ? nil : try FieldLoss(name, in: group, isMeant: replacesFields)
    // Check this before the prompt, so that nobody types a value in vain.
    if source.isTyped(session.streams), let asked = loss {
      try asked.confirm(in: session)
      loss = nil
    }
    let value = try source.read(exact: exact, streams: session.streams, isDumb: session.variable("TERM") == "dumb")
    let isObject = unsafe kind == nil && value.withUnsafeBytes { unsafe Self.isObject($0) }
    if let loss {
      if isObject { kind = .json } else { try loss.confirm(in: session) }
    } else if isObject {
      session.warn("the value is stored as text; to store it as JSON with fields, like a login: --type json")
    }
    try require(value, from: source, session) { unsafe try group.get(name).withUnsafeBytes { unsafe !$0.isEmpty } }
    let valueKind = kind ?? (value.isText ? .string : .bytes)
    return try set(name, Self.typed(value, valueKind), valueKind, nil, details, group, session)
  }

  /// Sets the whole value, and says what the user may not have meant.
  private func set(
    _ name: String, _ value: borrowing Secret, _ kind: SecretKind, _ typeName: String?, _ details: Details,
    _ group: AccessGroup, _ session: Session
  ) throws -> UInt64 {
    let former = details.expires == .keep ? try? group.item(name) : nil
    let version = try group.set(name, to: value, kind: kind, typeName: typeName, details, ifVersion: ifVersion)
    session.warnOfLostExpiry(of: former)
    if version == 1, let oddity = Self.oddity(of: name) { session.warn("the item's name \(oddity)") }
    return version
  }

  /// What is probably a mistake in the name of a new item.
  private static func oddity(of name: String) -> String? {
    if name.first?.isWhitespace == true || name.last?.isWhitespace == true { return "begins or ends with a space" }
    return name.contains("=") ? "has '=' in it; a value is typed, piped or read with --file, never an argument" : nil
  }

  /// Whether `value` is the text of a JSON object.
  static func isObject(_ value: some Collection<UInt8>) -> Bool {
    guard value.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) == UInt8(ascii: "{"),
      let text = String(validating: value, as: UTF8.self)
    else { return false }
    return (try? ValueText.canonical(text, .json)) != nil
  }

  /// Changes one field and the item's details.
  private func set(
    _ field: String, of place: ItemPlace, _ source: ValueInput?, _ kind: SecretKind?, _ details: Details,
    _ group: AccessGroup, _ session: Session
  ) throws -> UInt64 {
    guard let source else {
      throw Failure.usage(
        "--archive and --keep-value are for whole values", hint: "give the item's name without a field")
    }
    // Check that the item can have the field before prompting for its value.
    let present = try ItemField(place, field, in: group)
    try present.requireFields()
    let value = try source.read(exact: exact, streams: session.streams, isDumb: session.variable("TERM") == "dumb")
    try require(value, from: source, session) { try present.valueIfAny()?.isEmpty == false }
    let version = try ItemField.set(
      field, of: place, to: value, as: kind, details, in: group, ifVersion: ifVersion)
    if details.expires == .keep { session.warnIfExpired(present.item) }
    try present.tellIfNew(in: session)
    return version
  }

  /// Refuses an empty value if it would replace something.
  private func require(
    _ value: WipedBytes, from source: ValueInput, _ session: Session, replaces: () throws -> Bool
  ) throws {
    guard value.count == 0, !allowsEmpty else { return }
    do {
      guard try !replaces() else {
        let isTyped = source.isTyped(session.streams)
        throw Failure(
          .conflict, "\(isTyped ? "nothing was typed" : "the input is empty"), and the present value is not empty",
          hint: (isTyped ? "" : "check the command or file that it comes from; ")
            + "to store an empty value: --allow-empty; to change only details such as the label: --keep-value")
      }
    } catch VaultError.notFound(.item) {}
    session.warn("the value is empty")
  }

  /// The value in its kind's normal form.
  static func typed(_ value: WipedBytes, _ kind: SecretKind) throws(VaultError) -> Secret {
    if kind == .bytes { return try value.secret() }
    guard value.isText else { throw .invalid("a value of type \(kind.name) is UTF-8 text") }
    if kind == .string { return try value.secret() }
    let text = unsafe value.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    return try Secret(ValueText.canonical(text, kind))
  }

  private func kind() throws(Failure) -> SecretKind? {
    guard let type else { return nil }
    guard let kind = SecretKind(named: type) else {
      throw .usage("there is no such type", hint: "bool, int, double, string, date, url, uuid, json or data")
    }
    return kind
  }

  private func details() throws(Failure) -> Details {
    var details = Details()
    if let label { details.label = label.isEmpty ? .remove : .to(label) }
    for (key, value) in try AttributeArguments.parse(attributes) {
      details.attributes[key] = .some(value.isEmpty ? nil : value)
    }
    if let expires { details.expires = try Expiry.change(expires, now: Timestamp.now) }
    return details
  }

  /// - Returns: nil to keep the value.
  private func source() throws(Failure) -> ValueInput? {
    guard archive == nil || (descriptor == nil && file == nil && !keepsValue && type == nil && !exact && !allowsEmpty)
    else {
      throw .usage("--archive excludes --fd, --file, --keep-value, --type, --exact and --allow-empty")
    }
    guard archive != nil || allowed.isEmpty else { throw .usage("--allow needs --archive") }
    guard !keepsValue || (type == nil && !allowsEmpty) else {
      throw .usage("--keep-value excludes --type and --allow-empty")
    }
    switch (descriptor, file, keepsValue) {
    case (nil, nil, false): return .standardInput
    case (let number?, nil, false): return .descriptor(number)
    case (nil, let path?, false): return .file(path)
    case (nil, nil, true): return nil
    default: throw .usage("--fd, --file and --keep-value exclude each other")
    }
  }
}

extension VaultError {
  /// Whether nobody knows if the change was made.
  fileprivate var leavesOutcomeOpen: Bool {
    switch self {
    case .unordered(_, .outcomeUnknown), .service(.busy, _), .storage(.unconfirmed): true
    default: false
    }
  }
}
