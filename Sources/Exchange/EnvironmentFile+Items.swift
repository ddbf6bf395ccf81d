extension EnvironmentFile {
  /// A text item for each name. If a name has several values the last one counts, as it does for programs that load the
  /// file.
  package var importedItems: ImportedItems {
    var imported = ImportedItems()
    var last: [String: Int] = [:]
    for entry in entries { last[entry.name] = entry.line }
    for entry in entries {
      if let line = last[entry.name], line != entry.line {
        imported.losses.append("line \(entry.line): an earlier value of '\(entry.name)'; that of line \(line) counts")
      } else {
        imported.items.append(
          ImportedItem(entry.name, .string, Array(entry.value.utf8), at: "line \(entry.line)"))
      }
    }
    return imported
  }
}
