/// What an archive says about a class: names, which grant nothing.
package struct ClassDescription: Sendable {
  /// The number of its object.
  package let object: Int
  package let name: String
  /// The class and its superclasses, if the archive lists them.
  package let chain: [String]
  /// Classes that may stand in for it.
  package let hints: [String]
}
