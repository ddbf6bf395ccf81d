#if Daemon
  import Exchange
  import Vault

  /// The settings of a mount or of one path.
  struct KVSettings: Equatable {
    /// How many versions are kept; 0 to use the group's own setting.
    var maxVersions = 0
    /// Whether a write must say which version it replaces.
    var casRequired = false
    /// After how many seconds a version is deleted; 0 for never.
    var deleteAfter = 0

    static let highestCount = 1_000_000
    /// In seconds, about 290 years: the longest duration of HashiCorp's server.
    static let longestDuration = 9_223_372_036

    /// The effective settings of a path with these settings in `mount`. The greater number of versions counts and the
    /// shorter time, as with HashiCorp's server.
    func within(_ mount: KVSettings) -> KVSettings {
      KVSettings(
        maxVersions: max(maxVersions, mount.maxVersions), casRequired: casRequired || mount.casRequired,
        deleteAfter: [deleteAfter, mount.deleteAfter].filter { $0 > 0 }.min() ?? 0)
    }

    var json: JSONValue {
      [
        "cas_required": .bool(casRequired), "delete_version_after": .string(KVDuration.text(deleteAfter)),
        "max_versions": .number(maxVersions),
      ]
    }

    /// Takes the settings that `json` contains and keeps the others.
    mutating func take(_ json: JSONValue) throws(Refusal) {
      if let value = json["max_versions"], value != .null {
        guard let count = value.whole, (0...Self.highestCount).contains(count) else {
          throw .invalid("max_versions must be a whole number, 0 or more")
        }
        maxVersions = count
      }
      if let value = json["cas_required"], value != .null {
        guard let flag = value.flag else { throw .invalid("cas_required must be true or false") }
        casRequired = flag
      }
      if let value = json["delete_version_after"], value != .null {
        guard let seconds = KVDuration.seconds(value), (0...Self.longestDuration).contains(seconds) else {
          throw .invalid("delete_version_after must be a duration such as \"30m\" or a number of seconds")
        }
        deleteAfter = seconds
      }
    }
  }

  extension KVSettings {
    init?(json: JSONValue) {
      do { try take(json) } catch { return nil }
    }
  }

  /// Durations in Go's notation: `1h30m0s`.
  enum KVDuration {
    private static let units: [(name: String, seconds: Double)] = [
      ("ms", 0.001), ("us", 0.000_001), ("ns", 0.000_000_001), ("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1),
    ]

    static func text(_ seconds: Int) -> String {
      let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60)
      if hours > 0 { return "\(hours)h\(minutes)m\(rest)s" }
      return minutes > 0 ? "\(minutes)m\(rest)s" : "\(rest)s"
    }

    /// - Returns: whole seconds; `nil` if it is neither a duration nor a number of seconds.
    static func seconds(_ json: JSONValue) -> Int? {
      if let whole = json.whole { return whole }
      guard case .string(let text) = json else { return nil }
      var rest = text[...]
      var sum = 0.0
      guard !rest.isEmpty else { return 0 }
      while !rest.isEmpty {
        let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        rest = rest[digits.endIndex...]
        guard let number = Double(digits), let unit = units.first(where: { rest.hasPrefix($0.name) }) else {
          return nil
        }
        rest = rest.dropFirst(unit.name.count)
        sum += number * unit.seconds
      }
      return sum.isFinite && sum <= Double(KVSettings.longestDuration) ? Int(sum) : nil
    }
  }
#endif
