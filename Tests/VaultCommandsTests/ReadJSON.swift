import Foundation
import Testing

/// Reads text as one JSON object with another reader than ours.
func readJSON(_ text: String) throws -> [String: Any] {
  try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
}
