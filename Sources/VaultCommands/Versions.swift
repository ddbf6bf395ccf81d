/// What `vault --version` prints: ours, the format's, and those of the libraries that a static build carries with it.
enum Versions {
  static let vault = "0.1.0"
  static let format = 1

  static func write(to output: Output) throws(Failure) {
    try output.write("vault \(vault)\nformat \(format)\n")
  }
}
