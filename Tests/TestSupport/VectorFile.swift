import Foundation

/// A file of vectors in `Tests/Vectors`, which other implementations read too.
///
/// Its content is made by generators with fixed seeds. With `VAULT_WRITE_VECTORS=1` in the environment the tests write what
/// they generate; otherwise they compare it with what is there.
package struct VectorFile<Content: Codable & Equatable> {
  private let url: URL

  package init(_ name: String) {
    url = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Vectors/\(name).json")
  }

  /// What the file holds.
  package func load() throws -> Content { try JSONDecoder().decode(Content.self, from: Data(contentsOf: url)) }

  /// Whether the file holds exactly what was generated.
  package func holds(_ generated: Content) throws -> Bool {
    if ProcessInfo.processInfo.environment["VAULT_WRITE_VECTORS"] == "1" {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      try (encoder.encode(generated) + Data("\n".utf8)).write(to: url)
    }
    return try load() == generated
  }
}

/// How bytes must be refused: for which reason of the format's list, with which outcome, at which level of damage.
package struct Refusal: Codable, Equatable, Sendable {
  package var reason: Int
  package var outcome: String
  package var level: String?

  package init(_ reason: Int, _ outcome: String, _ level: String? = nil) {
    self.reason = reason
    self.outcome = outcome
    self.level = level
  }

  /// Damage at `level`.
  package static func damaged(_ reason: Int, _ level: String) -> Refusal { Refusal(reason, "damaged", level) }

  /// Whether an error with this outcome and level is the refusal that was meant.
  package func matches(_ other: Refusal?) -> Bool { other?.outcome == outcome && other?.level == level }
}
