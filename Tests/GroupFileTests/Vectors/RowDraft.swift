import Sealing
import TestSupport

@testable import GroupFile

/// A row of a group's file before it is sealed. Each step can be done wrongly.
struct RowDraft {
  var attributes: Attributes
  /// The value, or `nil` for a removed item.
  var value: [UInt8]?
  var version: UInt64 = 1
  var oldest: UInt64 = 1
  var previous = Digest.zero
  var keys: GroupKeys
  /// The mark of the request that the row is written for.
  var mark: UInt64?
  /// The name under which the row is stored. It is the name in the attributes unless a vector says otherwise.
  var place: String
  var changeEncoding: ([UInt8]) -> [UInt8] = { $0 }
  var changePaddedAttributes: ([UInt8]) -> [UInt8] = { $0 }
  var changeSealedAttributes: ([UInt8]) -> [UInt8] = { $0 }
  var changePaddedValue: ([UInt8]) -> [UInt8] = { $0 }
  var changeSealedValue: ([UInt8]) -> [UInt8] = { $0 }

  init(_ attributes: Attributes, _ value: [UInt8]?, keys: GroupKeys) {
    self.attributes = attributes
    self.value = value
    self.keys = keys
    place = attributes.name
  }

  /// The result and every intermediate step.
  struct Steps {
    var token: Token
    var encoding: [UInt8]
    var paddedAttributes: [UInt8]
    var attributesBinding: [UInt8]
    var sealedAttributes: [UInt8]
    var paddedValue: [UInt8] = []
    var valueBinding: [UInt8] = []
    var sealedValue: [UInt8] = []
    var row: Row
    var blob: [UInt8]?
  }

  func steps() throws -> Steps {
    let token = keys.token(of: place)
    let random = VectorSeeds.nonce("row \(place) \(version)")
    let nonce = mark.map(random.marked) ?? random
    let state: Row.State = value == nil ? .removed : .present
    let bindings = RowBinding(groupID: keys.groupID, generation: keys.generation)
    func seal(_ padded: [UInt8], _ half: RowBinding.Half) -> [UInt8] {
      unsafe padded.withUnsafeBytes { unsafe keys.seal($0, half: half, nonce: nonce, binding: binding(half)) }
    }
    let encoding = changeEncoding(try attributes.encoded())
    let padded = changePaddedAttributes(Padding.padUnguarded(encoding))
    func binding(_ half: RowBinding.Half) -> [UInt8] {
      bindings.bytes(token: token, version: version, state: state, half: half)
    }
    let sealed = changeSealedAttributes(seal(padded, .attributes))
    var paddedValue: [UInt8] = []
    var box: [UInt8] = []
    if let value {
      paddedValue = changePaddedValue(Padding.padUnguarded(value))
      box = changeSealedValue(seal(paddedValue, .secret))
    }
    let isBlob = box.count > GroupLimits.inlineSecretByteCount
    let row = RowDraft.row(
      token: token, version: version, state: state, oldest: oldest, previous: previous, nonce: nonce,
      attributes: sealed, place: value == nil ? .none : isBlob ? .blob : .inline,
      secret: isBlob ? Hash.digest(.blob, box).bytes : box)
    return Steps(
      token: token, encoding: encoding, paddedAttributes: padded, attributesBinding: binding(.attributes),
      sealedAttributes: sealed,
      paddedValue: paddedValue, valueBinding: value == nil ? [] : binding(.secret), sealedValue: box, row: row,
      blob: isBlob ? box : nil)
  }

  static func row(
    token: Token, version: UInt64, state: Row.State, oldest: UInt64, previous: Digest, nonce: Nonce,
    attributes: [UInt8], place: Row.Place, secret: [UInt8]
  ) -> Row {
    unsafe previous.withUnsafeBytes { previous in
      unsafe nonce.withUnsafeBytes { nonce in
        unsafe attributes.withUnsafeBytes { attributes in
          unsafe secret.withUnsafeBytes { secret in
            unsafe Row(
              token: token, version: version, state: state, oldest: oldest, previous: previous, nonce: nonce,
              attributes: attributes, place: place, secret: secret)
          }
        }
      }
    }
  }
}
