internal import Vault

/// The output of `vault --version`: our version, the format's, and those of the libraries in a static build.
enum Versions {
  static let vault = BuildVersions.vault

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
