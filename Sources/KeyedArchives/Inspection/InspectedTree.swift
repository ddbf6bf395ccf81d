internal import Synchronization

/// The values of an archive's property list, each created once. Values that the list shares are shared here too, so
/// they never take more memory than a fixed multiple of the archive.
final class InspectedTree: Sendable {
  private let table: ArchiveTable
  /// The value of each node that is neither a number nor a reference; empty until a value is first requested.
  private let made = Mutex<[InspectedValue?]>([])

  init(_ table: ArchiveTable) { self.table = table }

  /// The value at a node.
  func value(_ position: Int) -> InspectedValue {
    made.withLock { made in
      if made.isEmpty { made = Array(repeating: nil, count: table.list.nodes.count) }
      return value(position, &made)
    }
  }

  /// The fields of a dictionary.
  func fields(ofDictionary position: Int) -> [InspectedField] {
    guard case .dictionary(let fields) = value(position) else { return [] }
    return fields
  }

  /// The fields of an object, without its class.
  func fields(ofInstance position: Int) -> [InspectedField] {
    let keys = table.list.keys(table.list.nodes[position])
    return zip(keys, fields(ofDictionary: position)).filter { table.keys.name($0.0) != "$class" }.map(\.1)
  }

  /// Recursion is safe here: the nesting limit bounds it.
  private func value(_ position: Int, _ made: inout [InspectedValue?]) -> InspectedValue {
    if let value = made[position] { return value }
    let list = table.list
    let node = list.nodes[position]
    let value: InspectedValue
    switch node.kind {
    case .bool: return .boolean(node.payload != 0)
    case .integer, .unsigned, .wide: return .integer(list.integer(node) ?? 0)
    case .real: return .real(Double(bitPattern: node.payload))
    case .date: return .date(Double(bitPattern: node.payload))
    case .uid: return node.payload == 0 ? .null : .reference(Int(node.payload))
    case .data: value = .data(Array(list.rawBytes(node)))
    case .ascii, .utf8, .utf16: value = .string(list.name(node) ?? "", isDamaged: list.text(node) == nil)
    case .array: value = .array(list.elements(node).map { self.value(Int($0), &made) })
    case .dictionary:
      value = .dictionary(
        zip(list.keys(node), list.values(node)).map {
          InspectedField(key: table.fieldName($0), value: self.value(Int($1), &made))
        })
    }
    made[position] = value
    return value
  }
}
