/// What a password manager keeps of one account. As an item it is a JSON object with a member for each text that is not
/// empty, so that `vault://group/name#username` names one of them.
struct Login {
  var username = ""
  var password = ""
  var url = ""
  var notes = ""
  /// What one-time codes are made of: an `otpauth://` URL, or its secret alone.
  var totp = ""
  /// Members of other names.
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

  /// The item that holds it. Whose account it is shows in the lists, too.
  func item(_ name: String, at place: String) -> ImportedItem {
    var item = ImportedItem(name, .json, json, at: place)
    if !username.isEmpty, username.utf8.count <= 1_024, !username.unicodeScalars.contains(where: \.isControl) {
      item.label = username
    }
    return item
  }
}

extension Unicode.Scalar {
  /// Whether no label can hold it.
  fileprivate var isControl: Bool { properties.generalCategory == .control || value == 0x2028 || value == 0x2029 }
}
