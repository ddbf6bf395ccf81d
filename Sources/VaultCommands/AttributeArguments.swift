internal import Vault

/// `-a KEY=VALUE` as keys and values.
enum AttributeArguments {
  /// - Throws: `usage` without `=` or key, and for a key that is named twice.
  static func parse(_ arguments: [String]) throws(Failure) -> [String: String] {
    var attributes: [String: String] = [:]
    for argument in arguments {
      guard let sign = argument.firstIndex(of: "="), sign != argument.startIndex else {
        throw .usage("an attribute has the form KEY=VALUE")
      }
      let key = String(argument[..<sign])
      guard attributes.updateValue(String(argument[argument.index(after: sign)...]), forKey: key) == nil else {
        throw .usage("an attribute is named twice")
      }
    }
    return attributes
  }
}
