internal import Exchange
internal import Vault

/// A login as an item's value: a JSON object with `username`, `password` and other fields, so that `vault read
/// vault://GROUP/NAME#password` reads one of them.
///
/// If a field's bytes are not UTF-8, `Base64` is appended to its key. A value of another kind is just a password, as
/// `printf %s "$TOKEN" | vault set git/https/github.com/alice` stores it.
struct Login: Equatable {
  var username: [UInt8]?
  var secrets = GitCredential.Secrets()

  init(username: [UInt8]?, secrets: GitCredential.Secrets) {
    self.username = username
    self.secrets = secrets
  }

  init(_ opened: borrowing OpenedItem) {
    guard opened.item.kind == .json else {
      secrets.password = opened.secret.exportInsecurely()
      return
    }
    guard let bytes = Login.json(of: opened) else { return }
    username = Login.member("username", of: bytes)
    secrets.password = Login.member("password", of: bytes)
    secrets.oauthRefreshToken = Login.member("oauth_refresh_token", of: bytes)
    secrets.authtype = Login.member("authtype", of: bytes)
    secrets.credential = Login.member("credential", of: bytes)
    // A line of git's protocol cannot contain a line break.
    secrets.state = Login.member("state", of: bytes).map { $0.split(separator: 0x0A).map(Array.init) } ?? []
  }

  /// The item's value if it is JSON.
  fileprivate static func json(of opened: borrowing OpenedItem) -> [UInt8]? {
    let bytes = opened.secret.exportInsecurely()
    // The kind is only a statement of the writer.
    guard opened.item.kind == .json, let text = String(validating: bytes, as: UTF8.self),
      (try? ValueText.canonical(text, .json)) != nil
    else { return nil }
    return bytes
  }

  private static func member(_ key: String, of text: [UInt8]) -> [UInt8]? {
    // A number is used as it is written; no other kind can be a user name or password.
    if let kind = JSONField.kind(of: key, in: text) {
      return kind == .string || kind == .number ? JSONField.value(of: key, in: text) : nil
    }
    guard let base64 = JSONField.string(of: key + "Base64", in: text) else { return nil }
    var bytes: [UInt8] = []
    return Base64.append(decoding: base64, to: &bytes) ? bytes : nil
  }

  /// The value, to be stored as JSON.
  ///
  /// - Parameter present: the JSON value that is replaced. If it is an object, its members stay, except those of a
  ///   login that are missing now.
  func json(replacing present: [UInt8]?) -> [UInt8] {
    var added: [(key: String, text: [UInt8])] = []
    var missing: Set<String> = []
    func add(_ key: String, _ value: [UInt8]?) {
      missing.formUnion([key, key + "Base64"])
      guard let value else { return }
      guard String(validating: value, as: UTF8.self) == nil else { return added.append((key, value)) }
      var base64: [UInt8] = []
      Base64.append(encoding: value, to: &base64)
      added.append((key + "Base64", base64))
    }
    add("username", username)
    add("password", secrets.password)
    add("oauth_refresh_token", secrets.oauthRefreshToken)
    add("authtype", secrets.authtype)
    add("credential", secrets.credential)
    add("state", secrets.state.isEmpty ? nil : Array(secrets.state.joined(separator: [0x0A])))
    missing.subtract(added.map(\.key))
    var object = present.flatMap { JSONField.removing(missing, from: $0) } ?? Array("{}".utf8)
    for (key, text) in added {
      object = JSONField.setting(key, to: JSONField.quoted(text), in: object) ?? object
    }
    return object
  }
}

extension AccessGroup {
  /// The login in the item `name`, with the item's details; `nil` if there is no such item.
  func login(_ name: String) throws(VaultError) -> (login: Login, item: Item)? {
    do {
      let opened = try open(name)
      return (Login(opened), opened.item)
    } catch .notFound(.item) {
      return nil
    }
  }

  /// Sets the item `name` to a login. If its value is a JSON object, the members that are not of a login stay, with the
  /// changes that another program makes meanwhile.
  func set(_ name: String, to login: Login, expires: Timestamp? = nil) throws(VaultError) {
    while true {
      var present: (value: [UInt8]?, version: UInt64) = (nil, 0)
      do {
        let opened = try open(name)
        present = (Login.json(of: opened), opened.item.version)
      } catch .notFound(.item) {}
      do {
        try set(
          name, to: Secret(login.json(replacing: present.value)), kind: .json,
          Details(expires: expires.map { .to($0) } ?? .keep), ifVersion: present.version)
        return
      } catch .conflict {
        continue
      }
    }
  }
}
