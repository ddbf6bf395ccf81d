internal import Ground

/// An object whose members are strings, in the order in which they are added.
package struct JSONObject: Sendable {
  private var members: [UInt8] = []

  package init() {}

  /// Adds a member.
  ///
  /// - Parameter text: UTF-8.
  package mutating func add(_ key: String, _ text: some Sequence<UInt8>) {
    if !members.isEmpty { members.append(UInt8(ascii: ",")) }
    JSONText.append(quoting: key.utf8, to: &members)
    members.append(UInt8(ascii: ":"))
    JSONText.append(quoting: text, to: &members)
  }

  /// The object on one line, without white space between its parts.
  package var bytes: [UInt8] { [UInt8(ascii: "{")] + members + [UInt8(ascii: "}")] }
}
