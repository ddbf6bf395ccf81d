import Sealing
import Testing

@testable import GroupFile

/// Two hundred items, so that the root is a branch and every leaf holds several (keys are random; this fails three times in a million).
/// Someone who can write the storage changes the rows.
struct TamperedGroup {
  let fixture: GroupFixture
  let names = (0..<200).map { "item/\($0)" }

  init() throws {
    fixture = try GroupFixture()
    try fixture.set(Dictionary(uniqueKeysWithValues: names.map { ($0, "value of \($0)") }))
    try fixture.set(["item/0": "second", "item/1": "second"])
    try fixture.set(["item/0": "third"])
  }

  func token(_ name: String) throws -> Token { try fixture.forge().keys.token(of: name) }

  /// The current row of `name`, without proof.
  func row(_ name: String) throws -> Row {
    let token = try token(name)
    return try #require(try fixture.peek { try $0.currentRow(token) })
  }

  /// The leaf that holds `name`, and its place.
  func leaf(of name: String) throws -> (place: TreePlace, entries: [TreeEntry]) {
    let token = try token(name)
    return try fixture.peek { connection in
      var place = TreePlace.root
      while true {
        let node = try TreeNode(parsing: try #require(try connection.nodeBody(at: place)), at: place)
        if case .leaf(let entries) = node { return (place, entries) }
        place = place.child(token.nibble(at: place.depth))
      }
    }
  }

  /// Another item in the same leaf as `name`.
  func sibling(of name: String) throws -> String {
    let tokens = Set(try leaf(of: name).entries.map(\.token))
    let keys = try fixture.forge().keys
    return try #require(names.first { $0 != name && tokens.contains(keys.token(of: $0)) })
  }

  /// A name without an item that belongs into the leaf of `name`.
  func newName(beside name: String) throws -> String {
    let place = try leaf(of: name).place
    let keys = try fixture.forge().keys
    return try #require((0..<10_000).map { "new/\($0)" }.first { place.contains(keys.token(of: $0)) })
  }

  /// An item in another leaf.
  func stranger(to name: String) throws -> String {
    let tokens = Set(try leaf(of: name).entries.map(\.token))
    let keys = try fixture.forge().keys
    return try #require(names.first { !tokens.contains(keys.token(of: $0)) })
  }

  /// Checks that reading `name`, and every call that would sign something based on it, fails as damage without signing anything.
  func expectRefused(
    _ name: String, verifying: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let error = failure { try fixture.value(name) }
    #expect(error?.isDamage == true, "reading: \(String(describing: error))", sourceLocation: sourceLocation)
    try expectNothingSigned("set", sourceLocation) { try fixture.set([name: "new"]) }
    try expectNothingSigned("destroy", sourceLocation) {
      let transaction = try fixture.open().beginWriting()
      try transaction.destroy(name)
      try transaction.commit()
    }
    if verifying { try expectUnverifiable(sourceLocation: sourceLocation) }
  }

  /// Checks that verifying and compacting fail as damage without signing anything.
  func expectUnverifiable(sourceLocation: SourceLocation = #_sourceLocation) throws {
    try expectNothingSigned("verify", sourceLocation) { try fixture.open().verify() }
    try expectNothingSigned("compact", sourceLocation) { try fixture.open().compact() }
  }

  /// Checks that `body` fails as damage and does not change the file.
  func expectNothingSigned<Result>(
    _ what: String, _ sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Result
  ) throws {
    let before = try fixture.files()
    let error = failure(body)
    #expect(error?.isDamage == true, "\(what): \(String(describing: error))", sourceLocation: sourceLocation)
    let after = try fixture.files()
    #expect(after.main == before.main && after.log == before.log, "\(what) wrote", sourceLocation: sourceLocation)
  }
}

extension Row {
  /// The same content in place of another item or as another version.
  func moved(to token: Token, version: UInt64? = nil, oldest: UInt64? = nil) -> Row {
    unsafe previous.withUnsafeBytes { previous in
      unsafe nonce.withUnsafeBytes { nonce in
        unsafe Array(encoded[attributesRange]).withUnsafeBytes { attributes in
          unsafe Array(encoded[secretRange]).withUnsafeBytes { secret in
            unsafe Row(
              token: token, version: version ?? self.version, state: state, oldest: oldest ?? self.oldest,
              previous: previous, nonce: nonce, attributes: attributes, place: place, secret: secret)
          }
        }
      }
    }
  }
}
