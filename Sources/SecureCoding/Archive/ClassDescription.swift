/// What an archive says about a class: names, which grant nothing.
struct ClassDescription: Sendable {
  /// The number of its object.
  let object: Int
  let name: String
  /// The class and its superclasses, if the archive lists them.
  let chain: [String]
  /// Classes that may stand in for it.
  let hints: [String]
}
