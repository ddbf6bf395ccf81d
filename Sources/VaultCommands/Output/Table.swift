import Glibc
internal import Ground
internal import Vault

/// A column of times in the machine's time zone, which only the header names.
struct TimeColumn {
  private let title: String
  /// The zone's names at these times: two where the clocks change.
  private var zones: [String] = []

  init(_ title: String) { self.title = title }

  var header: String { zones.isEmpty ? title : "\(title) (\(zones.joined(separator: "/")))" }

  mutating func cell(_ time: Timestamp?) -> String {
    guard let (text, zone) = time?.local else { return "" }
    if !zones.contains(zone) { zones.append(zone) }
    return text
  }
}

/// Rows of text. On a terminal they are aligned columns under a header, shortened to its width. Elsewhere each row is a
/// line of complete cells separated by tabs, without a header, for `cut` and `awk`.
struct Table {
  let header: [String]
  private(set) var rows: [[String]] = []

  /// The column that is shortened last.
  private let kept: Int?
  /// The columns that are never shortened, but may go.
  private let whole: [Int]
  /// The columns that are always complete, even if the terminal has to wrap the line.
  private let fixed: [Int]

  init(_ header: String...) { self.init(columns: header, keeping: "") }

  init(columns header: [String], keeping kept: String, whole: [String] = [], fixed: [String] = []) {
    self.header = header
    self.kept = header.firstIndex(of: kept)
    self.whole = whole.compactMap(header.firstIndex)
    self.fixed = fixed.compactMap(header.firstIndex)
  }

  mutating func add(_ cells: String...) { add(cells) }

  mutating func add(_ cells: [String]) {
    precondition(cells.count == header.count)
    rows.append(cells.map(UTF8Text.onOneLine))
  }

  static func cell(_ number: UInt64?) -> String { number.map { String($0) } ?? "" }

  func write(to output: Output, style: Style) throws(Failure) {
    guard output.isTerminal else {
      for row in rows { try output.write(row.joined(separator: "\t") + "\n") }
      return
    }
    guard !rows.isEmpty else { return }
    let widths = columnWidths(terminalWidth: Self.width(of: output.descriptor))
    try output.write(style.faint(line(header, widths)) + "\n")
    for row in rows { try output.write(line(row, widths) + "\n") }
  }

  /// Appends a cell to a line for a pipe or a file, and `end`, a tab or a line's end.
  static func append(_ cell: String, to line: inout [UInt8], then end: UInt8) {
    unsafe cell.utf8Span.span.withUnsafeBytes { unsafe append($0, to: &line, then: end) }
  }

  static func append(_ cell: UnsafeRawBufferPointer, to line: inout [UInt8], then end: UInt8) {
    if unsafe cell.isPrintableASCII {
      unsafe line.append(contentsOf: cell)
    } else {
      line += UTF8Text.onOneLine(unsafe String(decoding: cell, as: UTF8.self)).utf8
    }
    line.append(end)
  }

  private func line(_ cells: [String], _ widths: [Int]) -> String {
    var line = ""
    for (cell, width) in zip(cells, widths) where width > 0 {
      let cell = DisplayWidth.cut(cell, to: width)
      line += cell + String(repeating: " ", count: width - DisplayWidth.of(cell) + 2)
    }
    return String(line.reversed().drop { $0 == " " }.reversed())
  }

  /// The width that each column needs. While a line is too wide for the terminal, first a column without any text goes, then
  /// the widest one is made narrower, then `kept` is shortened to 28 columns if there are columns that are `whole`, then the
  /// last one goes; `kept` is shortened further last. Columns that are `whole` or `fixed` are not made narrower, and those
  /// that are `fixed` do not go.
  func columnWidths(terminalWidth: Int) -> [Int] {
    var widths = header.indices.map { column in
      rows.reduce(DisplayWidth.of(header[column])) { max($0, DisplayWidth.of($1[column])) }
    }
    let least = 8
    func isTooWide() -> Bool { widths.reduce(-2) { $1 > 0 ? $0 + $1 + 2 : $0 } > terminalWidth }
    for column in widths.indices.reversed() where isTooWide() && rows.allSatisfy({ $0[column].isEmpty }) {
      widths[column] = 0
    }
    while isTooWide() {
      let others = widths.indices.filter {
        $0 != kept && widths[$0] > least && !whole.contains($0) && !fixed.contains($0)
      }
      if let widest = others.max(by: { widths[$0] < widths[$1] }) {
        widths[widest] -= 1
      } else if let kept, widths[kept] > Table.keptWidth, !whole.isEmpty {
        widths[kept] -= 1
      } else if let last = widths.indices.last(where: { mayGo($0) && widths[$0] > 0 }) {
        widths[last] = 0
      } else {
        guard let kept, widths[kept] > least else { break }
        widths[kept] -= 1
      }
    }
    return widths
  }

  /// How much of a name stays while all columns are shown.
  private static let keptWidth = 28

  private func mayGo(_ column: Int) -> Bool {
    (kept != nil || !fixed.isEmpty) && column != kept && !fixed.contains(column)
  }

  /// The width for text to read, from 60 to 100 columns: that of the terminal at `descriptor`, or behind a pipe that of
  /// `terminal`. A terminal narrower than a line would break it anywhere.
  static func textWidth(at descriptor: Int32, or terminal: String) -> Int {
    if isatty(descriptor) == 1 { return min(max(width(of: descriptor), 60), 100) }
    let behind = unsafe open(terminal, O_RDONLY | O_NOCTTY | O_CLOEXEC)
    guard behind >= 0 else { return 100 }
    defer { close(behind) }
    return min(max(width(of: behind), 60), 100)
  }

  /// The number of columns of a terminal.
  static func width(of terminal: Int32) -> Int {
    var size = winsize()
    guard unsafe ioctl(terminal, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }
}
