internal import KeyedArchives
internal import Vault

/// `vault get NAME`
struct GetItem: Command {
  static let about = About(
    "Write exactly the bytes of a value, and a newline only on a terminal.",
    usage: """
      vault get NAME[#FIELD] [-g GROUP] [--version N] [--output FILE] [--json]
      vault get NAME[#FIELD]... [-g GROUP] --json
      vault get NAME[#FIELD] [-g GROUP] [--version N] --clip [TIME] | --qr
      """,
    more: """
      NAME#FIELD is one field of a login or another JSON value, unless there is an item with that name; with --field \
      FIELD the name is taken literally, and --field '' means the whole value.

      With --json, numbers, booleans and JSON are JSON values, an archive is a tree of its content (no object is \
      built), and a value that is not UTF-8 is in valueBase64 instead of value. An expired value is still written, \
      with a warning. Several items make one array.

      --clip copies the value with wl-copy, xclip or xsel, or else through tmux, screen or the terminal (OSC 52). \
      After 45s or TIME, at most 1h, the clipboard is cleared, unless something else was copied in the meantime. If \
      the tool cannot do part of this, the command says so. --qr draws a QR code of at most 2953 bytes, dark on light; \
      without colours it suits a terminal that writes light on dark.
      """,
    example: """
      vault get web/GitHub#username
      vault get web/GitHub#password --clip
      curl -H "Authorization: Bearer $(vault get api/token)" https://example.com/
      """)

  let names: [String]
  let field: String?
  let group: String?
  let version: UInt64?
  let output: String?
  let clip: String?
  let qr: Bool
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    names = try arguments.someArguments("name", "The item's name; several names with --json.", completes: .items)
    field = arguments.field()
    group = arguments.group()
    version = try arguments.number("--version", value: "n", "This version instead of the current one.")
    output = arguments.outputFile()
    clip = arguments.time(
      "--clip", short: "-c", value: "time", "Copy to the clipboard and clear it after this time.", without: "45s")
    qr = arguments.flag("--qr", "Draw it as a QR code.")
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    guard names.count == 1 || clip == nil else {
      throw Failure.usage(
        "--clip copies one value",
        hint: "a time is written with '=' and a unit: --clip=10s; quote a name that has spaces")
    }
    guard names.count == 1 || json && output == nil && version == nil else {
      throw Failure.usage(
        "several items can be written only as JSON",
        hint: "use --json, without --version and --output; quote a single name that has spaces: 'my item'")
    }
    guard [clip != nil, qr, output != nil, json].count(where: { $0 }) < 2 || clip == nil && !qr else {
      throw Failure.usage("--clip and --qr exclude each other, and both exclude --output and --json")
    }
    if let clip { try Clipboard.require(length: clip) }
    let group = try session.openGroup(group, key)
    guard names.count == 1 else { return try writeAll(of: group, session) }
    let place = try ItemPlace(names[0], field: field, in: group)
    if let name = place.field {
      let field = try ItemField(place, name, in: group, version: version)
      let value = try Secret(field.value())
      return try write(value, Told(item: field.item, field: name, group: group), session)
    }
    let opened = try group.open(place.name, version: version)
    try write(opened.secret, Told(item: opened.item, field: nil, group: group), session)
  }

  /// Reads every item before it writes the first.
  private func writeAll(of group: AccessGroup, _ session: Session) throws {
    let values = try names.map { try copy(of: ItemPlace($0, field: field, in: group), in: group) }
    for (told, _) in values { session.warnIfExpired(told.item) }
    var json = JSONWriter(session.output)
    try json.array { (json) throws(Failure) in
      for (told, value) in values {
        try unsafe value.withUnsafeBytes { (bytes) throws(Failure) in try unsafe write(bytes, told, to: &json) }
      }
    }
  }

  private func copy(of place: ItemPlace, in group: AccessGroup) throws -> (Told, WipedBytes) {
    guard let name = place.field else { return try copy(ofWhole: place.name, in: group) }
    let field = try ItemField(place, name, in: group)
    let bytes = try field.value()
    let copy = try unsafe bytes.withUnsafeBytes { bytes in try unsafe WipedBytes(copying: bytes) }
    return (Told(item: field.item, field: name, group: group), copy)
  }

  private func copy(ofWhole name: String, in group: AccessGroup) throws -> (Told, WipedBytes) {
    let opened = try group.open(name)
    let copy = try unsafe opened.secret.withUnsafeBytes { bytes in try unsafe WipedBytes(copying: bytes) }
    return (Told(item: opened.item, field: nil, group: group), copy)
  }

  /// The details that `--json` shows with the value.
  private struct Told {
    let item: Item
    let field: String?
    let group: AccessGroup
  }

  private func write(_ secret: borrowing Secret, _ told: Told, _ session: Session) throws {
    session.warnIfExpired(told.item)
    try unsafe secret.withUnsafeBytes { bytes in
      if let clip {
        let (told, more) = try unsafe Clipboard.copy(bytes, for: clip, terminal: session.streams.terminal)
        return ([told] + more).forEach(session.say)
      }
      if qr { return try unsafe draw(bytes, session) }
      guard let output else { return try unsafe show(bytes, told, on: session.output) }
      try OutputFile.write(output, warning: session.warn) { output in
        try unsafe json ? writeJSON(bytes, told, to: output) : output.write(bytes)
      }
    }
  }

  private func draw(_ bytes: UnsafeRawBufferPointer, _ session: Session) throws(Failure) {
    let drawing = try unsafe QRDrawing(bytes)
    try drawing.requireRoom(on: session.output)
    try drawing.write(to: session.output, hasColour: session.outputStyle.hasColour)
  }

  private func show(_ bytes: UnsafeRawBufferPointer, _ told: Told, on output: Output) throws {
    if json { return try unsafe writeJSON(bytes, told, to: output) }
    guard output.isTerminal else { return try unsafe output.write(bytes) }
    try unsafe output.requireTextIfTerminal(bytes, hint: "use --output FILE, or a pipe")
    try unsafe output.write(bytes)
    if unsafe bytes.last != UInt8(ascii: "\n") { try output.write("\n") }
  }

  private func writeJSON(_ bytes: UnsafeRawBufferPointer, _ told: Told, to output: Output) throws(Failure) {
    var json = JSONWriter(output)
    try unsafe write(bytes, told, to: &json)
  }

  private func write(_ bytes: UnsafeRawBufferPointer, _ told: Told, to json: inout JSONWriter) throws(Failure) {
    let item = told.item
    try json.object { (json) throws(Failure) in
      try json.string("name", item.name.description)
      if let field = told.field { try json.string("field", field) }
      try json.string("group", told.group.name.description)
      try json.number("version", item.version)
      if item.hasExpired { try json.flag("expired", true) }
      if told.field == nil {
        try json.string("kind", item.kind.name)
        if let typeName = item.typeName { try json.string("type", typeName) }
      }
      let typed = told.field == nil ? unsafe Self.typed(bytes, item.kind) : nil
      if let typed {
        try unsafe typed.span.withUnsafeBytes { (typed) throws(Failure) in try unsafe json.verbatim("value", typed) }
      } else if unsafe bytes.isUTF8 {
        try unsafe json.text("value", bytes)
      } else {
        try unsafe json.base64("valueBase64", bytes)
      }
    }
  }

  /// The JSON of a value whose kind has its own form. The kind is only a statement of the writer, so a value that does
  /// not fit it is shown as text or bytes.
  private static func typed(_ bytes: UnsafeRawBufferPointer, _ kind: SecretKind) -> [UInt8]? {
    switch kind {
    case .archive:
      let archive = unsafe try? ArchiveInspection(Array(bytes))
      return try? archive?.json()
    case .bool, .int, .double, .json:
      guard let text = unsafe String(validating: bytes, as: UTF8.self),
        let canonical = try? ValueText.canonical(text, kind)
      else { return nil }
      // JSON cannot represent these.
      if kind == .double, !(Double(canonical)?.isFinite ?? false) { return nil }
      return Array(canonical.utf8)
    default: return nil
    }
  }
}

/// `vault clear-clipboard KIND SECONDS`: the background process of `get --clip`.
struct ClearClipboard: Command {
  static let about = About(
    "Clear the clipboard after a time, if it still holds the value of the digest on stdin.",
    usage: "vault clear-clipboard KIND SECONDS")

  let kind: String
  let seconds: Int

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    kind = try arguments.argument("kind", "The tool.")
    seconds = try arguments.numberArgument("seconds", "When.")
  }

  func run(in session: Session) throws { try Clipboard.clear(kind, after: Int64(seconds), in: session) }
}
