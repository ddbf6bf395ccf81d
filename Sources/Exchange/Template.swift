internal import Ground

/// A text with references that are replaced by values.
///
/// ```
/// password: {{ vault://group/name }}     white space inside the braces is removed with them
/// password: vault://group/name#field     without braces it ends before any character except A-Z a-z 0-9 - _ . / % #
/// note: \vault://group/name              not a reference, because it follows one of A-Z a-z 0-9 - + . \
/// other: {{ whatever }}                  braces around anything else are left unchanged
/// ```
public struct Template: Sendable, Equatable {
  public enum Part: Sendable, Equatable {
    /// Bytes that are kept.
    case text([UInt8])
    /// A reference, and the line on which it begins, counted from 1.
    case reference(Reference, line: Int)
  }

  public let parts: [Part]

  /// What is wrong with a template, and where. The text is not included, because it may contain a secret.
  public enum Fault: Error, Sendable, Equatable {
    /// A reference in braces that are never closed.
    case unclosed(line: Int)
    /// An invalid reference.
    case badReference(Reference.Fault, line: Int)
  }

  /// Reads a template, which may contain any bytes.
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
      // At least one byte is text, because there is no reference here.
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

  /// Whether a `vault://` after this byte is part of something else.
  fileprivate var goesBeforeText: Bool { isLetter || isDigit || "-+.\\".utf8.contains(self) }

  fileprivate var mayStandBare: Bool { isLetter || isDigit || "-_./%#".utf8.contains(self) }
}
