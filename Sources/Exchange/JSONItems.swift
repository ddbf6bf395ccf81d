internal import Ground

/// Reads the items that `vault export --to json` wrote: an object with `group` and `items`. Each item is an object with
/// `name`, `kind`, `value` or `valueBase64`, and optionally `type`, `label`, `attributes` and `expires`. A reader of another
/// program's items may add `unread`, the labels of those that it did not get, and `notKept`, what no item holds.
package enum JSONItems {
  /// - Throws: the first fault, with its line or the number and the name of its item.
  package static func items(of text: String) throws(ImportFault) -> ImportedItems {
    let value: JSONValue
    do { value = try JSONValue(parsing: text) } catch { throw ImportFault(error) }
    guard case .object(let members) = value else { throw ImportFault("it is neither an export nor an object") }
    guard case .array(let elements)? = value["items"] else { return flat(members) }
    if let other = members.first(where: { !["items", "group", "unread", "notKept"].contains($0.name) }) {
      throw ImportFault("an export has only 'group' next to its 'items'", at: "line \(other.line)")
    }
    var imported = ImportedItems()
    for label in value["unread"]?.elements ?? [] {
      imported.refusals.append(ImportFault("it is locked or cannot be read", at: "'\(label.text ?? "")'", .locked))
    }
    imported.losses = (value["notKept"]?.elements ?? []).compactMap(\.text)
    for (index, element) in elements.enumerated() {
      // People find an item by its name. A longer one is none, and would hide the error.
      let name = element["name"]?.text.flatMap { $0.utf8.count <= 1_024 ? " ('\($0)')" : nil }
      imported.items.append(try item(element, "item \(index + 1)\(name ?? "")", &imported.losses))
    }
    return imported
  }

  /// Names and values alone, as `vault env --shell json` writes them: each member is an item.
  private static func flat(_ members: [JSONValue.Member]) -> ImportedItems {
    var imported = ImportedItems()
    for member in members {
      let place = "line \(member.line)"
      let (kind, text): (ImportedItem.Kind, String)
      switch member.value {
      case .null:
        imported.losses.append("\(place): '\(member.name)' is null")
        continue
      case .string(let string): (kind, text) = (.string, string)
      case .bool(let bool): (kind, text) = (.bool, String(bool))
      case .number(let number): (kind, text) = (numberKind(number), number)
      case .array, .object: (kind, text) = (.json, String(decoding: member.value.json, as: UTF8.self))
      }
      imported.items.append(ImportedItem(member.name, kind, Array(text.utf8), at: place))
    }
    return imported
  }

  /// The kind that keeps a number as it is written. An int or a double has only one text, so 1.10 or a number of 20
  /// digits is kept as JSON.
  package static func numberKind(_ number: String) -> ImportedItem.Kind {
    if Int64(number).map(String.init) == number { return .int }
    return Double(number).map { String($0) } == number ? .double : .json
  }

  private static func item(
    _ element: JSONValue, _ place: String, _ losses: inout [String]
  ) throws(ImportFault) -> ImportedItem {
    guard case .object(let members) = element else { throw ImportFault("it is not an object", at: place) }
    guard let name = element["name"]?.text else { throw ImportFault("it has no 'name'", at: place) }
    guard let kind = ImportedItem.Kind(rawValue: try text("kind", of: element, place) ?? "string") else {
      throw ImportFault("its 'kind' is not a known kind", at: place)
    }
    var item = ImportedItem(name, kind, try value(of: element, place), at: place)
    item.typeName = try text("type", of: element, place)
    item.label = try text("label", of: element, place)
    item.isWhole = element["label"] != nil && element["attributes"] != nil
    switch element["attributes"] {
    case nil, .null?: break
    case .object(let attributes)?:
      for attribute in attributes {
        guard let text = attribute.value.text else {
          throw ImportFault("an attribute is not a string", at: "\(place), line \(attribute.line)")
        }
        item.attributes[attribute.name] = text
      }
    default: throw ImportFault("its 'attributes' are not an object", at: place)
    }
    if let expires = element["expires"], expires != .null {
      guard let moment = expires.text.flatMap(UTCDate.moment), moment.milliseconds >= 0 else {
        throw ImportFault("its 'expires' is not a time such as 2027-01-31T12:00:00Z", at: place)
      }
      item.expires = UInt64(moment.milliseconds)
    }
    let known = ["name", "kind", "value", "valueBase64", "type", "label", "attributes", "expires"]
    for member in members where !known.contains(member.name) && member.value != .null {
      losses.append("\(place): '\(member.name)'")
    }
    return item
  }

  /// - Returns: nil if there is no such member or it is null.
  private static func text(
    _ name: String, of element: JSONValue, _ place: String
  ) throws(ImportFault) -> String? {
    guard let value = element[name], value != .null else { return nil }
    guard let text = value.text else { throw ImportFault("its '\(name)' is not a string", at: place) }
    return text
  }

  private static func value(of element: JSONValue, _ place: String) throws(ImportFault) -> [UInt8] {
    switch (element["value"], element["valueBase64"]) {
    case (.string(let text)?, nil): return Array(text.utf8)
    case (nil, .string(let text)?):
      var bytes: [UInt8] = []
      guard Base64.append(decoding: Array(text.utf8), to: &bytes) else {
        throw ImportFault("its 'valueBase64' is not base64", at: place)
      }
      return bytes
    default:
      throw ImportFault(
        "it needs one string, 'value' or 'valueBase64'", at: place)
    }
  }
}
