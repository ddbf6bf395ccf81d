import ArgumentParser
internal import Vault

/// A manual page, made of what the command says of itself: there is no second copy to keep.
///
/// The language is man(7), which both groff and mandoc show.
struct ManualPage {
  let command: NamedCommand

  /// `vault`, `vault-group-list`.
  var name: String { command.path.split(separator: " ").joined(separator: "-") }

  /// The pages of `vault` and of every command below it.
  static var all: [ManualPage] { pages(below: []) }

  private static func pages(below path: [String]) -> [ManualPage] {
    let command = NamedCommand(path)
    return [ManualPage(command: command)] + command.subcommandNames.flatMap { pages(below: path + [$0]) }
  }

  var text: String {
    let configuration = command.type.configuration
    var page = ".TH \(Self.quoted(name.uppercased())) 1 \"\" \"vault \(Versions.vault)\" \"Vault\"\n"
    page += ".SH NAME\n\(Self.escaped(name)) \\- \(Self.escaped(Self.uncapitalized(configuration.abstract)))\n"
    page += ".SH SYNOPSIS\n" + Self.literal(configuration.usage ?? command.path)
    page += ".SH DESCRIPTION\n\(Self.escaped(configuration.abstract))\n"
    page += Self.sections(of: configuration.discussion)
    page += options
    page += subcommands
    if command.path != "vault" { page += ".SH SEE ALSO\n.BR vault (1)\n" }
    return page
  }

  private var options: String {
    let forms = command.optionForms
    guard !forms.isEmpty else { return "" }
    return ".SH OPTIONS\n"
      + forms.map { form in
        let label = (form.names + (form.valueName.map { ["<\($0)>"] } ?? [])).joined(separator: " ")
        return ".TP\n.B \(Self.escaped(label))\n\(Self.escaped(form.help))\n"
      }.joined()
  }

  private var subcommands: String {
    guard !command.subcommands.isEmpty else { return "" }
    return ".SH COMMANDS\n"
      + command.subcommands.map { $0.configuration }.filter(\.shouldDisplay).map { configuration in
        let page = name + "-" + (configuration.commandName ?? "")
        return ".TP\n.BR \(Self.escaped(page)) (1)\n\(Self.escaped(configuration.abstract))\n"
      }.joined()
  }

  /// A line that ends in a colon, with indented ones under it, is a section or an example; the rest is text.
  private static func sections(of discussion: String) -> String {
    var page = ""
    var isLiteral = false
    for line in discussion.split(separator: "\n", omittingEmptySubsequences: false) {
      let isIndented = line.hasPrefix("  ")
      if isLiteral, !isIndented {
        page += ".fi\n"
        isLiteral = false
      }
      if isIndented {
        page += (isLiteral ? "" : ".nf\n") + escaped(String(line.dropFirst(2))) + "\n"
        isLiteral = true
      } else if line.hasSuffix(":"), !line.contains(" ") || line == "Exit statuses:" {
        page += ".SH \(line.dropLast().uppercased())\n"
      } else {
        page += line.isEmpty ? (page.isEmpty ? "" : ".PP\n") : escaped(String(line)) + "\n"
      }
    }
    return page.replacing(".PP\n.SH", with: ".SH") + (isLiteral ? ".fi\n" : "")
  }

  private static func literal(_ text: String) -> String { ".nf\n\(escaped(text))\n.fi\n" }

  private static func uncapitalized(_ text: String) -> String {
    let end = text.hasSuffix(".") ? text.index(before: text.endIndex) : text.endIndex
    return text.prefix(1).lowercased() + text[..<end].dropFirst()
  }

  private static func quoted(_ text: String) -> String { "\"\(escaped(text))\"" }

  /// No line begins a request, and a hyphen is the character that can be copied into a shell.
  private static func escaped(_ text: String) -> String {
    let escaped = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("'", with: "\\(aq")
    return escaped.split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.hasPrefix(".") ? "\\&" + $0 : String($0) }.joined(separator: "\n")
  }
}
