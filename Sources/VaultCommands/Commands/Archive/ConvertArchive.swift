import ArgumentParser
internal import KeyedArchives
internal import Vault

/// `vault archive convert FILE --to FORMAT`
struct ConvertArchive: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "convert",
    abstract: "Write an archive in another format, with all that is in it.",
    usage: "vault archive convert FILE [--from json] --to xml|binary|json [-o OUT]",
    discussion: """
      JSON is the archive's table of objects without loss, as vault archive show --raw --json writes it; --from json reads \
      it back. The same archive gives the same bytes. Nothing in it is built. FILE may be -, for standard input.

      Example:
        vault archive convert person.plist --to xml -o person.xml
        vault archive convert person.plist --to json | vault archive convert - --from json --to binary -o copy.plist
      """)

  @Argument(help: ArgumentHelp("The archive, or - for standard input.", valueName: "file")) var file: String
  @Option(help: ArgumentHelp("What the file is: json (xml and binary tell themselves).", valueName: "format"))
  var from: String?
  @Option(help: ArgumentHelp("The format: xml, binary or json.", valueName: "format")) var to: String
  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp("Write to this file, new or replaced, for you alone (- or none: stdout).", valueName: "out"))
  var output: String?

  func run(in session: Session) throws {
    guard ["xml", "binary", "json"].contains(to) else {
      throw Failure.usage("there is no such format", hint: "xml, binary or json")
    }
    guard from == nil || from == "json" else {
      throw Failure.usage(
        "there is no such format", hint: "json; without --from, xml and binary are told by themselves")
    }
    let converted = try convert(ArchiveInput(path: file).read(session.streams))
    guard let output, output != "-" else {
      guard to != "binary" || !session.output.isTerminal else {
        throw Failure(
          .usage, "an archive is not text, and a terminal is no place for it", hint: "name -o FILE, or pipe it")
      }
      return try write(converted, to: session.output)
    }
    try OutputFile.write(output) { try write(converted, to: $0) }
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

  private func write(_ bytes: [UInt8], to output: Output) throws(Failure) {
    try unsafe bytes.span.withUnsafeBytes { (bytes) throws(Failure) in try unsafe output.write(bytes) }
  }
}
