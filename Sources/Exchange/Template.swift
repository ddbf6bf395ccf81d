/// A text with references in it, which become values.
///
/// ```
/// password: {{ vault://group/name }}     white space around the reference is part of the mark
/// password: vault://group/name#field     without braces it ends before a character that is none of A-Z a-z 0-9 - _ . / % #
/// note: \vault://group/name              behind one of A-Z a-z 0-9 - + . \ it is no reference
/// other: {{ whatever }}                  braces around anything else are left alone
/// ```
public struct Template: Sendable, Equatable {
  public enum Part: Sendable, Equatable {
    /// Bytes that stay.
    case text([UInt8])
    /// A reference, and the line that it begins in, from 1.
    case reference(Reference, line: Int)
  }

  public let parts: [Part]

  /// What is wrong with a template, and where. The text is not repeated: it may hold a secret.
  public enum Fault: Error, Sendable, Equatable {
    /// Braces with a reference in them that no braces close.
    case unclosed(line: Int)
    /// What stands in place of a reference is none.
    case badReference(Reference.Fault, line: Int)
  }

  /// Reads a template, of any bytes.
  public init(_ bytes: [UInt8]) throws(Fault) {
    var scanner = Scanner(bytes)
    var parts: [Part] = []
    while let part = try scanner.next() { parts.append(part) }
    self.parts = parts
  }
}

extension Template {
  private struct Scanner {
    private let bytes: [UInt8]
    private var offset = 0
    private var line = 1
    private static let scheme = Array(Reference.scheme.utf8)

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func next() throws(Fault) -> Part? {
      guard offset < bytes.count else { return nil }
      if let reference = try reference() { return reference }
      // One byte at least: what stands here is no reference.
      let start = offset
      repeat { advance(to: offset + 1) } while offset < bytes.count && !mayBeginReference(at: offset)
      return .text(Array(bytes[start..<offset]))
    }

    private func mayBeginReference(at place: Int) -> Bool {
      bytes[place] == UInt8(ascii: "{") || bytes[place] == Scanner.scheme[0]
    }

    private mutating func reference() throws(Fault) -> Part? {
      if bytes[offset...].starts(with: "{{".utf8) {
        let start = bytes[(offset + 2)...].firstIndex { !$0.isBlank } ?? bytes.endIndex
        guard bytes[start...].starts(with: Scanner.scheme) else { return nil }
        guard let end = bytes[start...].firstIndex(where: { $0 == UInt8(ascii: "}") || $0 == 0x0A }),
          bytes[end...].starts(with: "}}".utf8)
        else { throw .unclosed(line: line) }
        var text = bytes[start..<end]
        while text.last?.isBlank == true { text.removeLast() }
        return try take(text, endingAt: end + 2)
      }
      guard bytes[offset...].starts(with: Scanner.scheme), offset == 0 || !bytes[offset - 1].goesBeforeText else {
        return nil
      }
      let start = offset + Scanner.scheme.count
      let end = bytes[start...].firstIndex { !$0.mayStandBare } ?? bytes.endIndex
      return try take(bytes[offset..<end], endingAt: end)
    }

    private mutating func take(_ text: ArraySlice<UInt8>, endingAt end: Int) throws(Fault) -> Part {
      let reference: Reference
      do throws(Reference.Fault) {
        guard let text = String(validating: text, as: UTF8.self) else { throw .badEscape }
        reference = try Reference(text)
      } catch {
        throw .badReference(error, line: line)
      }
      defer { advance(to: end) }
      return .reference(reference, line: line)
    }

    private mutating func advance(to end: Int) {
      line += bytes[offset..<end].count { $0 == 0x0A }
      offset = end
    }
  }
}

extension UInt8 {
  fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 }

  private var isLetterOrDigit: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }

  /// What makes `vault://` behind it a part of something else.
  fileprivate var goesBeforeText: Bool { isLetterOrDigit || "-+.\\".utf8.contains(self) }

  fileprivate var mayStandBare: Bool { isLetterOrDigit || "-_./%#".utf8.contains(self) }
}
