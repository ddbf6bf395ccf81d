#if Daemon
  import Exchange
  import Vault

  /// Converts between an item's value and the data of a KV version: a text becomes `{"value": "…"}`, and a JSON object
  /// stays as it is.
  enum KVValue {
    /// - Throws: ``Refusal`` for a value of another kind.
    static func data(of opened: borrowing OpenedItem) throws(Refusal) -> JSONValue {
      switch opened.item.kind {
      case .string:
        guard let text = opened.secret.exportInsecurelyAsString() else { break }
        return ["value": .string(text)]
      case .json:
        guard let text = opened.secret.exportInsecurelyAsString(), let json = try? JSONValue(parsing: text),
          json.members != nil
        else { throw .invalid("this item is JSON, but not an object: read it with 'vault get'") }
        return json
      default: break
      }
      throw .invalid("this item is of the kind \(opened.item.kind.name), which is not text: read it with 'vault get'")
    }

    /// The item's value for `data`, and its kind.
    ///
    /// - Throws: ``Refusal`` if `data` is not an object.
    static func value(of data: JSONValue?) throws(Refusal) -> (bytes: [UInt8], kind: SecretKind) {
      guard let data, let members = data.members else { throw .invalid("no data provided") }
      if members.count == 1, case .string(let text)? = members["value"] { return (Array(text.utf8), .string) }
      return (data.json, .json)
    }

    /// `data` after the JSON merge patch `patch` (RFC 7396).
    static func merged(_ data: JSONValue?, _ patch: JSONValue) -> JSONValue {
      guard case .object(let changes) = patch else { return patch }
      let old: [JSONValue.Member] = if case .object(let members)? = data { members } else { [] }
      // A removed member leaves a gap, so that positions stay the same.
      var members = old.map { Optional(($0.name, $0.value)) }
      // By bytes: names that differ only in their Unicode form are two members.
      var positions = Dictionary(zip(old.map { Array($0.name.utf8) }, old.indices)) { first, _ in first }
      for change in changes {
        let name = Array(change.name.utf8)
        let position = positions[name]
        guard change.value != .null else {
          if let position { members[position] = nil }
          positions[name] = nil
          continue
        }
        let member = (change.name, merged(position.flatMap { members[$0]?.1 }, change.value))
        if let position {
          members[position] = member
        } else {
          positions[name] = members.endIndex
          members.append(member)
        }
      }
      return .members(members.compactMap { $0 })
    }

    /// `data` with every value that is not an object replaced by null, so that only the keys remain.
    ///
    /// - Parameter depth: how many levels of objects to show; 0 for all.
    static func keys(of data: JSONValue, depth: Int) -> JSONValue {
      guard case .object(let members) = data else { return .null }
      return .members(members.map { ($0.name, depth == 1 ? .null : keys(of: $0.value, depth: max(depth - 1, 0))) })
    }
  }
#endif
