/// Assignments of variables as other programs read them.
public enum AssignmentText {
  /// `export NAME='value'` for a shell that POSIX describes; the value may hold anything but NUL.
  public static func shell(_ name: String, _ value: String) -> String {
    "export \(name)='" + value.replacing("'", with: "'\\''") + "'\n"
  }

  /// A line of an environment file, which ``EnvironmentFile`` reads back.
  public static func environmentFile(_ name: String, _ value: String) -> String {
    var text = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\\": text += "\\\\"
      case "\"": text += "\\\""
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return "\(name)=\"\(text)\"\n"
  }
}
