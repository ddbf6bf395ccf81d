internal import Vault

/// Keys and values of `-a KEY=VALUE`.
enum AttributeArguments {
  /// - Throws: `usage` if `=` or the key is missing, or a key occurs twice.
  static func parse(_ arguments: [String]) throws(Failure) -> [String: String] {
    var attributes: [String: String] = [:]
    for argument in arguments {
      guard let sign = argument.firstIndex(of: "="), sign != argument.startIndex else {
        throw .usage("an attribute has the form KEY=VALUE")
      }
      let key = String(argument[..<sign])
      guard attributes.updateValue(String(argument[argument.index(after: sign)...]), forKey: key) == nil else {
        throw .usage("the same attribute is given twice")
      }
    }
    return attributes
  }
}
