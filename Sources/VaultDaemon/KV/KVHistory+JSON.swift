#if Daemon
  import Exchange
  import Foundation
  import Vault

  // The versions of a path as callers see them.

  extension KVHistory {
    private var customJSON: JSONValue { attributes.isEmpty ? .null : .strings(attributes) }

    /// The metadata of one version, in the form in which it accompanies the data.
    func json(of version: Version) -> JSONValue {
      [
        "created_time": .string(version.created.text), "custom_metadata": customJSON,
        "deletion_time": .string(version.deleted?.text ?? ""), "destroyed": .bool(version.isDestroyed),
        "version": .number(version.number),
      ]
    }

    /// The metadata of the path.
    var json: JSONValue {
      let versions = versions.map { version -> (String, JSONValue) in
        (
          String(version.number),
          [
            "created_time": .string(version.created.text), "deletion_time": .string(version.deleted?.text ?? ""),
            "destroyed": .bool(version.isDestroyed),
          ]
        )
      }
      let first = self.versions.first?.number ?? 0
      return [
        "cas_required": .bool(settings.casRequired), "created_time": .string((created ?? updated ?? .now).text),
        "current_version": .number(currentNumber), "custom_metadata": customJSON,
        "delete_version_after": .string(KVDuration.text(settings.deleteAfter)),
        "max_versions": .number(settings.maxVersions), "oldest_version": .number(first > 1 ? first : 0),
        "updated_time": .string((updated ?? created ?? .now).text), "versions": .members(versions),
      ]
    }
  }

  extension Timestamp {
    /// The time in the format of RFC 3339, in UTC.
    var text: String {
      Date(timeIntervalSince1970: Double(milliseconds) / 1_000).formatted(
        Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
  }
#endif
