import Foundation

/// A file of vectors in `Tests/Vectors`, for use by other implementations too.
///
/// Generators with fixed seeds create its content. With `VAULT_WRITE_VECTORS=1` in the environment the tests write what
/// they generate; otherwise they compare it with the file.
package struct VectorFile<Content: Codable & Equatable> {
  private let url: URL

  package init(_ name: String) {
    url = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Vectors/\(name).json")
  }

  /// The content of the file.
  package func load() throws -> Content { try JSONDecoder().decode(Content.self, from: Data(contentsOf: url)) }

  /// Whether the content of the file equals `generated`.
  package func holds(_ generated: Content) throws -> Bool {
    if ProcessInfo.processInfo.environment["VAULT_WRITE_VECTORS"] == "1" {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      try (encoder.encode(generated) + Data("\n".utf8)).write(to: url)
    }
    return try load() == generated
  }
}

/// How bytes must be refused: the number of the reason in the format article, the outcome, and the level of the damage.
package struct Refusal: Codable, Equatable, Sendable {
  package var reason: Int
  package var outcome: String
  package var level: String?
  /// Refusals for other reasons that apply as well.
  package var others: [Refusal]?

  package init(_ reason: Int, _ outcome: String, _ level: String? = nil) {
    self.reason = reason
    self.outcome = outcome
    self.level = level
  }

  /// Damage at `level`.
  package static func damaged(_ reason: Int, _ level: String) -> Refusal { Refusal(reason, "damaged", level) }

  /// This refusal, or one of `others`.
  package func or(_ others: Refusal...) -> Refusal {
    var refusal = self
    refusal.others = others
    return refusal
  }

  /// Whether `other` has the outcome and level of this refusal, or of one of `others`.
  package func matches(_ other: Refusal?) -> Bool {
    ([self] + (others ?? [])).contains { $0.outcome == other?.outcome && $0.level == other?.level }
  }
}
