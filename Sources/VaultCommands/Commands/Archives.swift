import Glibc
internal import KeyedArchives
internal import Vault

/// `vault archive show FILE`
struct ShowArchive: Command {
  static let about = About(
    "Show an archive's content as a tree or as JSON.",
    usage: "vault archive show FILE [--raw] [--json]",
    more: """
      The tree shortens long text and escapes control characters. --json writes the values. --raw shows the \
      archive's table of objects, and --raw --json writes all of it without loss: references as {"$uid": n}, data as \
      {"$data": base64}. \
      FILE may be - for standard input. Values saved by the StructArchiver library are shown too.
      """,
    example: """
      vault archive show settings.plist
      vault archive show settings.plist --raw --json | jq '."$objects" | length'
      """)

  let file: String
  let raw: Bool
  let json: Bool

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    file = try arguments.argument("file", "The archive, or - for standard input.", completes: .files)
    raw = arguments.flag("--raw", "Show the table of objects instead of the values.")
    json = arguments.json()
  }

  func run(in session: Session) throws {
    let bytes = try ArchiveInput(path: file).read(session.streams)
    let text: [UInt8]
    do throws(ArchiveError) {
      text = try words(bytes)
    } catch {
      throw Failure(error)
    }
    try session.output.write(text)
    if text.last != UInt8(ascii: "\n") { try session.output.write("\n") }
  }

  private func words(_ bytes: [UInt8]) throws(ArchiveError) -> [UInt8] {
    let archive: ArchiveInspection
    do throws(ArchiveError) {
      archive = try ArchiveInspection(bytes)
    } catch {
      // StructArchiver's values have no magic number, so they are tried last.
      guard error == .notAPropertyList, !raw, let values = try? StructArchive(bytes) else { throw error }
      return try json ? values.json() : values.outline()
    }
    switch (raw, json) {
    case (false, false): return try archive.outline()
    case (false, true): return try archive.json()
    case (true, false): return try archive.rawOutline()
    case (true, true): return try archive.rawJSON()
    }
  }
}

/// `vault archive check FILE`
struct CheckArchive: Command {
  static let about = About(
    "Check whether a program that allows these classes would read an archive, and list the classes in it.",
    usage: "vault archive check FILE [--allow CLASS]... [--json]",
    more: """
      Names must equal those in the archive. Arrays, dictionaries, sets and ordered sets, strings, numbers and decimal \
      numbers, data, dates, NSURL, NSUUID and NSNull need not be named. Ends with 19 for a class that is not allowed, \
      20 for an archive over a limit, 13 for a broken one.
      """,
    example: """
      vault archive check people.plist --allow Person --allow Address
      """)

  let file: String
  let allowed: [String]
  let json: Bool

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    file = try arguments.argument("file", "The archive, or - for standard input.", completes: .files)
    allowed = arguments.options("--allow", value: "class", "A class that may be in it.")
    json = arguments.json()
  }

  func run(in session: Session) throws {
    let bytes = try ArchiveInput(path: file).read(session.streams)
    let archive: ArchiveInspection
    do throws(ArchiveError) {
      archive = try ArchiveInspection(bytes)
      try archive.check(allowing: allowed)
    } catch {
      throw Failure(error)
    }
    let counts = archive.instanceCounts.sorted { $0.key < $1.key }
    if json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for (name, count) in counts {
          try json.object { (json) throws(Failure) in
            try json.string("class", name)
            try json.number("objects", count)
          }
        }
      }
    }
    var table = Table("CLASS", "OBJECTS")
    for (name, count) in counts { table.add(name, String(count)) }
    try table.write(to: session.output, style: session.outputStyle)
  }
}

/// `vault archive convert FILE --to FORMAT`
struct ConvertArchive: Command {
  static let about = About(
    "Write an archive in another format without loss.",
    usage: "vault archive convert FILE [--from json] --to xml|binary|json [-o OUT]",
    more: """
      JSON is the archive's table of objects without loss, as vault archive show --raw --json writes it; --from json reads \
      it back. The same archive gives the same bytes. No object is built. FILE may be - for standard input.
      """,
    example: """
      vault archive convert person.plist --to xml -o person.xml
      vault archive convert person.plist --to json | vault archive convert - --from json --to binary -o copy.plist
      """)

  let file: String
  let from: String?
  let to: String
  let output: String?

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    file = try arguments.argument("file", "The archive, or - for standard input.", completes: .files)
    from = arguments.option(
      "--from", value: "format", "The format of the file: json (xml and binary are detected).",
      completes: .words(["xml", "binary", "json"]))
    to = try arguments.required(
      "--to", value: "format", "The format: xml, binary or json.", completes: .words(["xml", "binary", "json"]))
    output = arguments.outputFile(short: "-o", "Write to this file, readable by you alone (- or none: stdout).")
  }

  func run(in session: Session) throws {
    guard ["xml", "binary", "json"].contains(to) else {
      throw Failure.usage("there is no such format", hint: "xml, binary or json")
    }
    guard from == nil || from == "json" else {
      throw Failure.usage(
        "there is no such format", hint: "json; without --from, xml and binary are detected")
    }
    let converted = try convert(ArchiveInput(path: file).read(session.streams))
    guard let output else {
      guard to != "binary" || !session.output.isTerminal else {
        throw Failure(
          .usage, "an archive is not text and is not written to a terminal", hint: "use -o FILE, or a pipe")
      }
      try session.output.requireTextIfTerminal(converted, hint: "use -o FILE, or a pipe")
      return try session.output.write(converted)
    }
    try OutputFile.write(output, warning: session.warn) { try $0.write(converted) }
  }

  private func convert(_ bytes: [UInt8]) throws(Failure) -> [UInt8] {
    do throws(ArchiveError) {
      let archive = try from == nil ? ArchiveInspection(bytes) : ArchiveInspection(json: bytes)
      switch to {
      case "xml": return try archive.archived(as: .xml)
      case "binary": return try archive.archived(as: .binary)
      default:
        var json = try archive.rawJSON()
        json.append(UInt8(ascii: "\n"))
        return json
      }
    } catch {
      throw Failure(error)
    }
  }
}

/// The source of an archive: a file, or standard input for `-`.
struct ArchiveInput: Equatable {
  let path: String

  /// Reads the whole archive.
  ///
  /// - Throws: `overLimit` above the limit of archives. A regular file is refused by its size; from anything else at
  ///   most one byte over the limit is read. `usage`, `denied` or `storage` if the file cannot be read.
  func read(_ streams: Streams) throws(Failure) -> [UInt8] {
    guard path != "-" else { return try contents(of: streams.input, "stdin") }
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw DescriptorInput.failure("the archive", errno) }
    defer { close(descriptor) }
    return try contents(of: descriptor, "the archive")
  }

  private func contents(of descriptor: Int32, _ source: String) throws(Failure) -> [UInt8] {
    let limit = ArchiveLimits.standard.inputBytes
    var status = stat()
    if unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > limit {
      throw Self.overLimit(limit)
    }
    let bytes = try DescriptorInput(descriptor, source).readAll(limit: limit)
    guard bytes.count <= limit else { throw Self.overLimit(limit) }
    return bytes.exportInsecurely()
  }

  private static func overLimit(_ limit: Int) -> Failure {
    Failure(ArchiveError.overLimit(.inputBytes, allowed: limit, at: ArchivePath()))
  }
}

/// A keyed archive that is about to become an item, checked to contain only allowed classes.
struct CheckedArchive {
  let bytes: WipedBytes
  let typeName: String?

  /// Reads the archive at `path`, or from standard input for `-`.
  ///
  /// - Throws: errors with status 13 if it is broken, 19 if it contains another class, 20 over a limit; and those of
  ///   reading a file.
  init(_ path: String, _ allowed: [String], _ streams: Streams) throws(Failure) {
    let read = try ArchiveInput(path: path).read(streams)
    guard read.count <= ValueInput.limit else {
      throw Failure(.overLimit, "the archive is larger than 1048576 bytes (1 MiB)")
    }
    do throws(ArchiveError) {
      let inspection = try ArchiveInspection(read)
      try inspection.check(allowing: allowed)
      typeName = inspection.rootTypeName
    } catch {
      throw Failure(error)
    }
    bytes = try WipedBytes(capacity: read.count)
    unsafe read.withUnsafeBytes { unsafe bytes.append($0) }
  }
}

extension Failure {
  /// The command's error for an archive's error: 13 for a broken archive, 19 for a class, 20 for a limit. Its text
  /// contains names from the archive, which are escaped.
  init(_ error: ArchiveError) {
    let hint: String? =
      switch error {
      case .overLimit: "no option raises it; in Swift, a program can set ArchiveLimits"
      case .classRefused: "if you trust the class, name it with --allow"
      case .notAPropertyList: "it may be encrypted or compressed"
      default: error.hint
      }
    self.init(ExitStatus(rawValue: error.status) ?? .damaged, error.message, hint: hint)
  }
}
