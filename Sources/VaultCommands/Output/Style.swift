import Glibc

/// Colour, used only on terminals that support it, and not if NO_COLOR (no-color.org) is set.
struct Style: Equatable {
  let hasColour: Bool

  init(descriptor: Int32, environment: [String: String]) {
    hasColour =
      isatty(descriptor) == 1 && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
  }

  func faint(_ text: String) -> String { hasColour ? "\u{1B}[2m\(text)\u{1B}[0m" : text }
  func red(_ text: String) -> String { hasColour ? "\u{1B}[31m\(text)\u{1B}[0m" : text }
  func yellow(_ text: String) -> String { hasColour ? "\u{1B}[33m\(text)\u{1B}[0m" : text }
}
