package import Sealing

/// The key of one machine: groups that are bound to it open beside this key and nowhere else (format article, "Keys").
package final class DeviceKey: Sendable {
  package let key: Key
  /// What rosters call the key; 16 bytes.
  package let id: [UInt8]

  /// What a roster says where the group is bound to no device.
  static let noID = [UInt8](repeating: 0, count: 16)

  package init(_ key: consuming Key) {
    id = Array(key.mac(.deviceID, []).bytes.prefix(16))
    self.key = key
  }
}

extension Label {
  fileprivate static let deviceID = Label("vault1.device.id")
}
