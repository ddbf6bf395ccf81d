internal import Vault

/// What `vault --version` prints: ours, the format's, and those of the libraries that a static build carries with it.
enum Versions {
  static let vault = "0.1.0"

  static func write(to output: Output) throws(Failure) {
    try output.write(
      """
      vault \(vault)
      format \(BuildVersions.format)
      libsodium \(BuildVersions.sodium)
      SQLite \(BuildVersions.sqlite)

      """)
  }
}
