import Foundation
import KeyedArchives

extension SecureUnarchiver {
  /// The number under `key`; `absent` if there is none, or after a failure.
  func number<T>(
    _ key: String, _ absent: T, _ read: (Node, PropertyList) throws(Numbers.Mismatch) -> T
  ) -> T {
    attempt(absent) { () throws(ArchiveError) -> T in
      guard let position = node(forKey: key) else { return absent }
      return try number(position, .key(key), read)
    }
  }

  /// The number that the node at `position` holds.
  func number<T>(
    _ position: Int, _ step: ArchivePath.Step, _ read: (Node, PropertyList) throws(Numbers.Mismatch) -> T
  ) throws(ArchiveError) -> T {
    let node = table.list.nodes[position]
    do {
      return try read(node, table.list)
    } catch .type {
      throw .wrongType(expected: "a number that converts to \(T.self)", found: node.words, at: here.appending(step))
    } catch {
      throw .numberDoesNotFit(type: "\(T.self)", at: here.appending(step))
    }
  }

  /// The inline data under `key`.
  func inlineBytes(_ key: String) -> ArraySlice<UInt8>? {
    attempt(nil) { () throws(ArchiveError) -> ArraySlice<UInt8>? in
      guard let position = node(forKey: key) else { return nil }
      let node = table.list.nodes[position]
      guard node.kind == .data else {
        throw .wrongType(expected: "data", found: node.words, at: here.appending(.key(key)))
      }
      return table.list.rawBytes(node)
    }
  }

  /// A string, number or data as an object.
  func scalar(_ node: Node) throws(ArchiveError) -> Any {
    switch node.kind {
    case .bool: return NSNumber(value: node.payload != 0)
    case .integer: return NSNumber(value: Int64(bitPattern: node.payload))
    case .unsigned: return NSNumber(value: node.payload)
    case .real:
      let value = Double(bitPattern: node.payload)
      return node.size == 4 ? NSNumber(value: Float(value)) : NSNumber(value: value)
    case .data: return NSData(data: try data(node))
    case .ascii, .utf8, .utf16: return NSString(string: try text(node))
    case .wide: throw .numberDoesNotFit(type: "NSNumber", at: here)
    default: throw .wrongType(expected: "a string, number or data", found: node.words, at: here)
    }
  }

  /// The text of a string, charged to the budget.
  func text(_ node: Node) throws(ArchiveError) -> String {
    guard node.isString else { throw .wrongType(expected: "a string", found: node.words, at: here) }
    try budget.take(bytes: node.size, at: here)
    guard let text = table.list.text(node) else {
      throw .invalidValue(ofClass: "NSString", reason: "it holds a lone surrogate", at: here)
    }
    return text
  }

  /// The bytes of data, charged to the budget.
  func data(_ node: Node) throws(ArchiveError) -> Data {
    guard node.kind == .data else { throw .wrongType(expected: "data", found: node.words, at: here) }
    try budget.take(bytes: node.size, at: here)
    return Data(table.list.rawBytes(node))
  }
}
