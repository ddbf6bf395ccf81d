import ArgumentParser
internal import KeyedArchives

/// `vault archive show FILE`
struct ShowArchive: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show what an archive holds, as a tree or as JSON.",
    usage: "vault archive show FILE [--raw] [--json]",
    discussion: """
      The tree cuts long text and escapes control characters. --json gives the values. --raw gives the archive's own \
      table of objects, and --raw --json all of it without loss: references as {"$uid": n}, data as {"$data": base64}. \
      FILE may be -, for standard input. Values saved by the StructArchiver library are shown, too.

      Example:
        vault archive show settings.plist
        vault archive show settings.plist --raw --json | jq '."$objects" | length'
      """)

  @Argument(help: ArgumentHelp("The archive, or - for standard input.", valueName: "file")) var file: String
  @Flag(help: "The table of objects as it is, instead of the values.") var raw = false
  @OptionGroup var json: JSONOption

  func run(in session: Session) throws {
    let bytes = try ArchiveInput(path: file).read(session.streams)
    let text: [UInt8]
    do throws(ArchiveError) {
      text = try words(bytes)
    } catch {
      throw Failure(error)
    }
    try unsafe text.span.withUnsafeBytes { text throws(Failure) in try unsafe session.output.write(text) }
    if text.last != UInt8(ascii: "\n") { try session.output.write("\n") }
  }

  private func words(_ bytes: [UInt8]) throws(ArchiveError) -> [UInt8] {
    let archive: ArchiveInspection
    do throws(ArchiveError) {
      archive = try ArchiveInspection(bytes)
    } catch {
      // Values of StructArchiver begin with no sign of what they are, so they are tried last.
      guard error == .notAPropertyList, !raw, let values = try? StructArchive(bytes) else { throw error }
      return try json.json ? values.json() : values.outline()
    }
    switch (raw, json.json) {
    case (false, false): return try archive.outline()
    case (false, true): return try archive.json()
    case (true, false): return try archive.rawOutline()
    case (true, true): return try archive.rawJSON()
    }
  }
}
