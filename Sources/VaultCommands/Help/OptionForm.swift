import ArgumentParser

/// One option or argument of a command, as its help shows it.
struct OptionForm: Equatable {
  /// `-g`, `--group`; none for an argument.
  let names: [String]
  /// What stands in `<>`; nil for a flag.
  let valueName: String?
  let help: String
}

extension NamedCommand {
  /// Every option and argument, in the order of the help.
  var optionForms: [OptionForm] {
    var forms: [OptionForm] = []
    // So wide that no label and no text is broken over two lines.
    let lines = CommandLineTree.helpMessage(for: type, columns: 2_000).split(separator: "\n")
    for line in lines where line.hasPrefix("  -") || line.hasPrefix("  <") {
      let entry = line.dropFirst(2)
      let gap = entry.firstRange(of: "  ") ?? entry.endIndex..<entry.endIndex
      let label = entry[..<gap.lowerBound]
      let help = entry[gap.upperBound...].drop { $0 == " " }
      let value = label.split(separator: "<", maxSplits: 1, omittingEmptySubsequences: false).dropFirst().first
      forms.append(
        OptionForm(
          names: label.split { ", ".contains($0) }.filter { $0.hasPrefix("-") }.map(String.init),
          valueName: value.map { String($0.prefix { $0 != ">" }) }, help: String(help)))
    }
    return forms
  }
}
