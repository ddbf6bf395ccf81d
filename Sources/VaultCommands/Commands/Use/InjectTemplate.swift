internal import Exchange
import Glibc
internal import Vault

/// `vault inject -i TEMPLATE -o FILE`
struct InjectTemplate: Command {
  static let about = About(
    "Write a template with its references replaced by values.",
    usage: "vault inject [-i TEMPLATE] [-o FILE]",
    more: """
      A reference is in braces, {{ vault://GROUP/NAME }}, or bare. A bare one ends before a character other than A-Z \
      a-z 0-9 - _ . / % #, and is ignored after one of A-Z a-z 0-9 - + . \\ . Braces around anything else are \
      ignored too. Values are inserted unchanged and not searched for references.

      Without -i, or with -i -, the template comes from standard input, and without -o the result goes to standard \
      output. A file is written completely, readable by you alone, and replaces an existing one whatever its mode; a \
      symbolic link is refused, and so is the template itself. If one reference cannot be read, nothing is written.
      """,
    example: """
      echo 'token: {{ vault:///api/token }}' | vault inject -o app.yml
      """)

  static let surplus: Failure? = .usage(
    "a template is named with -i", hint: "vault inject -i TEMPLATE -o FILE")

  /// The template's file; nil for standard input.
  let input: String?
  let output: String?
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    let path = arguments.option(
      "--input", short: "-i", value: "file", "The template, or - for standard input.", completes: .files)
    input = path == "-" ? nil : path
    output = arguments.outputFile(short: "-o", "Write to this file, readable by you alone (- or none: stdout).")
    key = try KeySource(&arguments)
  }

  /// The maximum size of a template.
  private static let limit = 16 << 20

  func run(in session: Session) throws {
    guard output != "" else { throw Failure.usage("-o needs a file") }
    let template: Template
    do { template = try Template(text(session)) } catch let fault as Template.Fault {
      throw Failure(.usage, "\(source), line \(fault.line): \(fault.words)", hint: fault.hint)
    }
    let values = try values(of: template, References(session, key))
    guard let output else {
      for value in values { try session.output.requireTextIfTerminal(value, hint: "pipe it, or write a file: -o FILE") }
      return try write(values, to: session.output)
    }
    try OutputFile.write(output, warning: session.warn) { try write(values, to: $0) }
  }

  private var source: String { input.map(UTF8Text.onOneLine) ?? "stdin" }

  private func text(_ session: Session) throws(Failure) -> [UInt8] {
    let bytes: WipedBytes
    if let input {
      let descriptor = unsafe open(input, O_RDONLY | O_CLOEXEC)
      // If it cannot be opened, it may not be a path but a misplaced secret.
      guard descriptor >= 0 else { throw DescriptorInput.failure("the template", errno) }
      defer { close(descriptor) }
      try refuseWritingOver(descriptor)
      bytes = try DescriptorInput(descriptor, source).readAll(limit: Self.limit)
    } else {
      guard isatty(session.streams.input) == 0 else {
        throw .usage("no template was given", hint: "pipe it, or name it: -i FILE")
      }
      try refuseWritingOver(session.streams.input)
      bytes = try DescriptorInput(session.streams.input, source).readAll(limit: Self.limit)
    }
    guard bytes.count <= Self.limit else { throw Failure(.overLimit, "\(source) is longer than 16 MiB") }
    return bytes.exportInsecurely()
  }

  /// Writing the output over the template would lose it, and put secrets into a file where nobody expects them.
  private func refuseWritingOver(_ descriptor: Int32) throws(Failure) {
    var (read, written) = (stat(), stat())
    guard let output, unsafe fstat(descriptor, &read) == 0, unsafe stat(output, &written) == 0,
      read.st_dev == written.st_dev, read.st_ino == written.st_ino
    else { return }
    throw Failure(.usage, "-o names the template itself", hint: "write to another file")
  }

  /// The whole output. All references have been read by the time it is returned.
  private func values(of template: Template, _ references: References) throws -> [[UInt8]] {
    try template.parts.map { part in
      switch part {
      case .text(let bytes): return bytes
      case .reference(let reference, let line):
        let value = try references.naming("\(source), line \(line)") { try references.value(of: reference) }
        return value.exportInsecurely()
      }
    }
  }

  private func write(_ values: [[UInt8]], to output: Output) throws(Failure) {
    for value in values { try output.write(value) }
  }
}

extension Template.Fault {
  fileprivate var line: Int {
    switch self {
    case .unclosed(let line), .badReference(_, let line): line
    }
  }

  /// A description of the fault for people.
  fileprivate var words: String {
    switch self {
    case .unclosed: "a reference in braces is not followed by '}}'"
    case .badReference(let fault, _): "this is not a reference: \(fault.words)"
    }
  }

  fileprivate var hint: String? {
    switch self {
    case .unclosed: nil
    case .badReference: References.hint
    }
  }
}
