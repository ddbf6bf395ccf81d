/// A comma-separated table as in RFC 4180. Rows end with CRLF, LF or CR. A quoted field may contain commas, line breaks
/// and doubled quotes.
struct CSVFile {
  struct Row {
    /// The line on which the row begins, counted from 1.
    let line: Int
    var fields: [String] = []
  }

  /// The most fields; an item takes more memory than the few bytes of its row.
  static let mostFields = 2_000_000

  /// The rows in their order, without empty lines.
  let rows: [Row]

  /// - Throws: if a quote is never closed, or if text follows a closing quote; `overLimit` for too many fields.
  init(_ text: String, mostFields: Int = CSVFile.mostFields) throws(ImportFault) {
    var scanner = Scanner(text)
    var rows: [Row] = []
    var count = 0
    while let row = try scanner.row() {
      count += row.fields.count
      guard count <= mostFields else {
        throw ImportFault("it has more than \(mostFields) fields", at: "line \(row.line)", .overLimit)
      }
      if row.fields != [""] { rows.append(row) }
    }
    self.rows = rows
  }

  private struct Scanner {
    private var rest: ArraySlice<UInt8>
    private var line = 1

    init(_ text: String) {
      let bytes = Array(text.utf8)
      // Skip the byte-order mark that spreadsheets write.
      rest = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
    }

    mutating func row() throws(ImportFault) -> Row? {
      guard !rest.isEmpty else { return nil }
      var row = Row(line: line)
      while true {
        row.fields.append(rest.first == UInt8(ascii: "\"") ? try quoted() : plain())
        guard rest.first == UInt8(ascii: ",") else { break }
        rest.removeFirst()
      }
      endLine()
      return row
    }

    private mutating func plain() -> String {
      let field = rest.prefix { $0 != UInt8(ascii: ",") && $0 != 0x0A && $0 != 0x0D }
      rest = rest[field.endIndex...]
      return String(decoding: field, as: UTF8.self)
    }

    private mutating func quoted() throws(ImportFault) -> String {
      let start = line
      var field: [UInt8] = []
      rest.removeFirst()
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "\"") {
          guard rest.first == UInt8(ascii: "\"") else {
            guard [nil, UInt8(ascii: ","), 0x0A, 0x0D].contains(rest.first) else {
              throw ImportFault("text follows a closing quote", at: "line \(line)")
            }
            return String(decoding: field, as: UTF8.self)
          }
          rest.removeFirst()
        } else if byte == 0x0A || byte == 0x0D && rest.first != 0x0A {
          line += 1
        }
        field.append(byte)
      }
      throw ImportFault("a quote is never closed", at: "line \(start)")
    }

    private mutating func endLine() {
      guard let byte = rest.popFirst() else { return }
      if byte == 0x0D, rest.first == 0x0A { rest.removeFirst() }
      line += 1
    }
  }
}
