import Foundation
import Testing

/// Text that another reader takes for one JSON object.
func readJSON(_ text: String) throws -> [String: Any] {
  try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
}
