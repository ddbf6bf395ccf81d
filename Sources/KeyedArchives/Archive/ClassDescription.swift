/// What an archive says about a class. These are only names and grant no permission.
package struct ClassDescription: Sendable {
  /// The number of its object.
  package let object: Int
  package let name: String
  /// The class and its superclasses, if the archive lists them.
  package let chain: [String]
  /// Classes that may be used instead of it.
  package let hints: [String]
}
