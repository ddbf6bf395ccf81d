import VaultFoundation

let store = try SecretStore.open()  // finds its key as the command does
let group = try store.group("default")
let version = try group.set("db/password", to: "s3cr3t")  // durable when it returns
let secret = try group.get("db/password")  // lent, wiped, never printed
secret.withBytes { bytes in connect(password: bytes) }
try group.transaction { edit in  // all or nothing, one signature
  edit.set("db/user", to: "orders")
  edit.set("db/port", to: 5432)
}
try group.set("db/password", to: "n3w", ifVersion: version)  // refused if another writer was faster
