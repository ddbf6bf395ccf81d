internal import Ground

/// The screen of `vault pick` as a state machine: its input is keys, its output is requests and lines. It opens no
/// value itself.
struct PickScreen {
  /// An item without its value.
  struct Entry: Equatable {
    let group: String
    let name: String
    var label = ""
    /// The details in their order.
    var details: [Detail] = []

    struct Detail: Equatable {
      let name: String
      let value: String
    }

    fileprivate var searched: String {
      ([name, label, group] + details.flatMap { [$0.name, $0.value] }).joined(separator: "\n").lowercased()
    }
  }

  enum Key: Equatable {
    case text(Character)
    case up, down, pageUp, pageDown, home, end, enter, escape, backspace, clear, interrupt, suspend
  }

  /// Requests to the caller that the keys make. The number identifies an entry.
  enum Wish: Equatable {
    case nothing, leave, suspend
    case copy(Int)
    case copyUser(Int)
    case reveal(Int)
    case code(Int)
  }

  struct Line: Equatable {
    var text: String
    /// Whether it is highlighted.
    var isChosen = false
  }

  private let entries: [Entry]
  private let searched: [String]
  private let showsGroups: Bool
  private var query = ""
  /// The positions in `entries` of those that match the query.
  private var found: [Int]
  private var chosen = 0
  private var top = 0
  private var openEntry: Int?
  private var rows = 24
  private var columns = 80
  /// The lines of a message above the keys until the next key; three are shown.
  var message: [String] = []
  /// The value's lines, while they are shown.
  private var value: [String] = []
  /// Whether to keep showing the current one-time code.
  var showsCode: Bool { code != nil }
  private var code: (text: String, secondsLeft: Int)?

  init(_ entries: [Entry]) {
    self.entries = entries
    searched = entries.map(\.searched)
    showsGroups = Set(entries.map(\.group)).count > 1
    found = Array(entries.indices)
  }

  // MARK: Keys

  mutating func take(_ key: Key) -> Wish {
    message = []
    switch key {
    case .interrupt: return .leave
    case .suspend: return .suspend
    default: return openEntry.map { take(key, in: $0) } ?? takeInList(key)
    }
  }

  private mutating func takeInList(_ key: Key) -> Wish {
    switch key {
    case .text(let character): narrow(to: query + String(character))
    case .backspace: narrow(to: String(query.dropLast()))
    case .clear: narrow(to: "")
    case .escape:
      guard !query.isEmpty else { return .leave }
      narrow(to: "")
    case .enter:
      guard found.indices.contains(chosen) else { break }
      (openEntry, top) = (found[chosen], 0)
    default: move(key, last: found.count - 1)
    }
    return .nothing
  }

  private mutating func take(_ key: Key, in entry: Int) -> Wish {
    switch key {
    case .text("c"): return .copy(entry)
    case .text("u"): return .copyUser(entry)
    case .text("o"):
      guard code == nil else { break }
      return .code(entry)
    case .text("r"):
      guard value.isEmpty else { break }
      return .reveal(entry)
    case .up: top = max(top - 1, 0)
    case .down: top = min(top + 1, max(details(of: entry).count - body, 0))
    case .pageUp: top = max(top - body, 0)
    case .pageDown: top = min(top + body, max(details(of: entry).count - body, 0))
    case .escape, .backspace, .enter, .text("q"):
      hide()
      (openEntry, top) = (nil, 0)
      return .nothing
    default: return .nothing
    }
    if key == .text("r") || key == .text("o") { hide() }
    return .nothing
  }

  private mutating func move(_ key: Key, last: Int) {
    let step =
      switch key {
      case .up: -1
      case .down: 1
      case .pageUp: -body
      case .pageDown: body
      case .home: -chosen
      case .end: last
      default: 0
      }
    chosen = max(min(chosen + step, last), 0)
  }

  /// Each word must occur somewhere in an entry.
  private mutating func narrow(to text: String) {
    let isLonger = text.hasPrefix(query)
    query = text
    let words = text.lowercased().split(whereSeparator: \.isWhitespace)
    found = (isLonger ? found : Array(entries.indices)).filter { entry in words.allSatisfy { searched[entry].holds($0) }
    }
    chosen = 0
  }

  // MARK: Answers to wishes

  /// Shows the value's text.
  mutating func show(value text: String) {
    code = nil
    value = text.split(separator: "\n", omittingEmptySubsequences: false).map { UTF8Text.onOneLine(String($0)) }
    top = 0
  }

  mutating func show(code text: String, secondsLeft: Int) {
    value = []
    code = (text, secondsLeft)
  }

  private mutating func hide() { (value, code) = ([], nil) }

  // MARK: Lines

  mutating func resize(columns: Int, rows: Int) { (self.columns, self.rows) = (max(columns, 20), max(rows, 5)) }

  /// The number of lines between the first one and the message.
  private var body: Int { rows - 2 - messageHeight }
  private var messageHeight: Int { min(max(message.count, 1), 3, rows - 4) }

  /// Exactly as many lines as the screen has. Each is narrower than the screen, because some terminals wrap a full
  /// line.
  mutating func lines() -> [Line] {
    var lines: [Line]
    if let openEntry {
      let all = details(of: openEntry)
      lines = [Line(text: UTF8Text.onOneLine(entries[openEntry].name))] + all.dropFirst(top).prefix(body)
    } else {
      lines = [Line(text: heading)] + list()
    }
    let told = message.prefix(messageHeight).map { Line(text: UTF8Text.onOneLine($0)) }
    lines += Array(repeating: Line(text: ""), count: rows - 1 - told.count - lines.count) + told
    lines.append(
      Line(
        text: openEntry == nil
          ? "type to narrow   Up/Down: choose   Enter: open   Esc: leave"
          : "c: copy   u: copy user   r: reveal   o: one-time code   Esc: back"))
    return lines.map { Line(text: DisplayWidth.cut($0.text, to: columns - 1), isChosen: $0.isChosen) }
  }

  /// The cursor's column, counted from 0.
  var cursor: (column: Int, row: Int) {
    openEntry == nil ? (min(DisplayWidth.of(prompt), columns - 2), 0) : (0, rows - 1)
  }

  /// Show the end of a long query, where the user types.
  private var prompt: String {
    var shown = UTF8Text.onOneLine(query)[...]
    while DisplayWidth.of(String(shown)) > columns / 2 { shown = shown.dropFirst() }
    return "> " + shown
  }

  private var heading: String {
    let count = "\(found.count) of \(entries.count)"
    let gap = columns - 1 - DisplayWidth.of(prompt) - count.utf8.count
    return prompt + String(repeating: " ", count: max(gap, 1)) + count
  }

  private mutating func list() -> [Line] {
    top = min(max(top, chosen - body + 1), chosen)
    return found.indices.dropFirst(top).prefix(body).map { place in
      let entry = entries[found[place]]
      // The name gets the remaining width.
      let others = [entry.label, showsGroups ? entry.group : ""].filter { !$0.isEmpty }.map {
        DisplayWidth.cut(UTF8Text.onOneLine($0), to: columns / 4)
      }.joined(separator: "  ")
      let width = columns - 3 - DisplayWidth.of(others) - 2
      let name = DisplayWidth.cut(UTF8Text.onOneLine(entry.name), to: width)
      let gap = String(repeating: " ", count: max(width - DisplayWidth.of(name), 0) + 2)
      return Line(text: (place == chosen ? "> " : "  ") + name + gap + others, isChosen: place == chosen)
    }
  }

  private func details(of entry: Int) -> [Line] {
    let shown = [Entry.Detail(name: "group", value: entries[entry].group)] + entries[entry].details
    let width = min(shown.map { DisplayWidth.of(UTF8Text.onOneLine($0.name)) }.max() ?? 0, columns / 3)
    var texts = shown.map { detail in
      let name = DisplayWidth.cut(UTF8Text.onOneLine(detail.name), to: width)
      return name + String(repeating: " ", count: width - DisplayWidth.of(name) + 2) + UTF8Text.onOneLine(detail.value)
    }
    if !value.isEmpty { texts += [""] + value }
    if let code { texts += ["", "\(code.text)   valid for \(code.secondsLeft) s"] }
    return texts.flatMap(wrapped).map { Line(text: $0) }
  }

  /// A value is never shortened.
  private func wrapped(_ text: String) -> [String] {
    var lines = [""]
    var width = 0
    for character in text {
      let step = DisplayWidth.of(String(character))
      if width + step > columns - 1 {
        lines.append("")
        width = 0
      }
      lines[lines.count - 1].append(character)
      width += step
    }
    return lines
  }
}

/// Decodes the bytes that a terminal sends for keys.
struct PickKeys {
  private var pending: [UInt8] = []

  /// Whether an Escape may be that key or the start of another.
  var isWaiting: Bool { pending == [0x1B] }

  /// The pending key when nothing more arrives for a while.
  mutating func end() -> [PickScreen.Key] {
    defer { pending = [] }
    return isWaiting ? [.escape] : []
  }

  mutating func take(_ bytes: some Sequence<UInt8>) -> [PickScreen.Key] { bytes.compactMap { take($0) } }

  private mutating func take(_ byte: UInt8) -> PickScreen.Key? {
    if isWaiting, byte == 0x1B { return .escape }
    pending.append(byte)
    guard let first = pending.first else { return nil }
    if first == 0x1B { return takeSequence(byte) }
    if pending.count == 1, byte < 0x20 || byte == 0x7F {
      pending = []
      return PickKeys.controls[byte]
    }
    let needed = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    guard pending.count >= needed else { return nil }
    defer { pending = [] }
    return String(validating: pending, as: UTF8.self)?.first.map { .text($0) }
  }

  /// `ESC [ A`, `ESC O A`, `ESC [ 5 ~`, `ESC [ 1 ; 2 A`; other sequences are ignored.
  private mutating func takeSequence(_ byte: UInt8) -> PickScreen.Key? {
    let isOpen =
      switch pending.count {
      case 1: true
      case 2: byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O")
      default: (0x20...0x3F).contains(byte) && pending.count < 16
      }
    guard !isOpen else { return nil }
    defer { pending = [] }
    guard pending.count > 2 else { return nil }
    let number = pending.dropFirst(2).prefix { $0.isDigit }
    return byte == UInt8(ascii: "~") ? PickKeys.numbered[Array(number)] : PickKeys.lettered[byte]
  }

  private static let controls: [UInt8: PickScreen.Key] = [
    0x03: .interrupt, 0x08: .backspace, 0x0A: .enter, 0x0D: .enter, 0x0E: .down, 0x10: .up, 0x15: .clear,
    0x1A: .suspend,
    0x1C: .interrupt, 0x7F: .backspace,
  ]
  private static let lettered: [UInt8: PickScreen.Key] = [0x41: .up, 0x42: .down, 0x46: .end, 0x48: .home]
  private static let numbered: [[UInt8]: PickScreen.Key] = [
    [0x31]: .home, [0x34]: .end, [0x35]: .pageUp, [0x36]: .pageDown, [0x37]: .home, [0x38]: .end,
  ]
}
