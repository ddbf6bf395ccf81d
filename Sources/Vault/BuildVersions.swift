internal import GroupFile
internal import Sealing

/// What this build reads and writes, and the system libraries that it runs on: a static executable carries its own.
public enum BuildVersions {
  /// The version of the format.
  public static var format: Int { Int(FormatVersion.known.write) }

  /// libsodium's version.
  public static var sodium: String { LibraryVersions.sodium }

  /// SQLite's version.
  public static var sqlite: String { ContainerLibrary.version }
}
