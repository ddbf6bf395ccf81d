/// A password manager's record of one account. As an item it is a JSON object with a member for each non-empty text, so
/// `vault://group/name#username` refers to one of them.
struct Login {
  var username = ""
  var password = ""
  var url = ""
  var notes = ""
  /// The source of one-time codes: an `otpauth://` URL, or its secret alone.
  var totp = ""
  /// Members with other names.
  var others: [(name: String, text: String)] = []

  private var members: [(name: String, text: String)] {
    [("username", username), ("password", password), ("url", url), ("notes", notes), ("totp", totp)] + others
  }

  var isEmpty: Bool { members.allSatisfy(\.text.isEmpty) }

  var json: [UInt8] {
    var object = JSONObject()
    for member in members where !member.text.isEmpty { object.add(member.name, member.text.utf8) }
    return object.bytes
  }

  /// The item that holds it. Its label is the user's name, so that lists show it.
  func item(_ name: String, at place: String) -> ImportedItem {
    var item = ImportedItem(name, .json, json, at: place)
    if !username.isEmpty, username.utf8.count <= 1_024, !username.unicodeScalars.contains(where: \.isControl) {
      item.label = username
    }
    return item
  }
}

extension Unicode.Scalar {
  /// Whether it is not allowed in a label.
  var isControl: Bool { properties.generalCategory == .control || value == 0x2028 || value == 0x2029 }
}
