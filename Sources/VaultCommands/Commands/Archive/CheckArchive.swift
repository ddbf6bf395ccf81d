import ArgumentParser
internal import KeyedArchives
internal import Vault

/// `vault archive check FILE`
struct CheckArchive: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Say whether a program that allows these classes would read an archive, and list the classes in it.",
    usage: "vault archive check FILE [--allow CLASS]... [--json]",
    discussion: """
      Names are compared with those in the archive, exactly. Classes of property lists, NSURL, NSUUID and NSNull need not \
      be named. Ends with 19 for a class that is not allowed, 20 for an archive over a limit, 13 for a broken one.

      Example:
        vault archive check people.plist --allow Person --allow Address
      """)

  @Argument(help: ArgumentHelp("The archive, or - for standard input.", valueName: "file")) var file: String
  @Option(name: .customLong("allow"), help: ArgumentHelp("A class that may be in it.", valueName: "class"))
  var allowed: [String] = []
  @OptionGroup var json: JSONOption

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
    if json.json {
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
