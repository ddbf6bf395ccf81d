import Foundation
import VaultFoundation

// One job in one process: prints its figures as one line of JSON. Called by tools/bench.
//
//   InProcess fill STORE COUNT BYTES     a new store with COUNT items of BYTES bytes, loaded at once
//   InProcess get STORE COUNT            single gets in random order, each a transaction of its own
//   InProcess again STORE COUNT          the same after each item was read once
//   InProcess set STORE COUNT            single durable sets in random order
//   InProcess writers STORE COUNT N      the same from N threads, each with its own part of the names
//   InProcess transaction STORE COUNT    one transaction of 10,000 sets
//   InProcess rotate STORE COUNT         a new key for all items, several times

let arguments = CommandLine.arguments.dropFirst().map { $0 }
guard arguments.count >= 3, let count = Int(arguments[2]) else { exit(64) }
let store = BenchmarkStore(arguments[1], count: count)

switch arguments[0] {
case "fill": try store.fill(byteCount: Int(arguments[3])!)
case "get": try store.get(afterAll: false)
case "again": try store.get(afterAll: true)
case "set": try store.set()
case "writers": try store.writers(Int(arguments[3])!)
case "transaction": try store.transaction()
case "rotate": try store.rotate()
default: exit(64)
}
