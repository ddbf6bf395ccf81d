package import Sealing

/// Who asks for which group: everything that must not be taken from the file itself.
package struct GroupContext: Sendable {
  /// The name the caller asked for; the signed roster must say the same.
  package let groupName: String
  /// The owner, from the identity or the credential.
  package let ownerKey: PublicKey
  /// The member as whom the group is opened.
  package let seed: MemberSeed
  /// What the roster must call that member: the owner opens as the owner, an application as an application.
  package let kind: Member.Kind
  /// What the credential says of the group's state; `nil` for the owner.
  package let floor: Floor?
  /// Finds the key of a device by its id, or says why it is not here: `otherDevice`.
  package let deviceKey: @Sendable ([UInt8]) throws(GroupFileError) -> Key

  package init(
    groupName: String, ownerKey: PublicKey, seed: MemberSeed, kind: Member.Kind = .owner, floor: Floor? = nil,
    deviceKey: @escaping @Sendable ([UInt8]) throws(GroupFileError) -> Key = { (_) throws(GroupFileError) in
      throw .otherDevice("no device key is here")
    }
  ) {
    self.groupName = groupName
    self.ownerKey = ownerKey
    self.seed = seed
    self.kind = kind
    self.floor = floor
    self.deviceKey = deviceKey
  }
}
