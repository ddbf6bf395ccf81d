import Foundation
import Testing
import Vault

struct ClearTextTests {
  @Test func `the store's files show no name, label, attribute or value`() throws {
    let store = try StoreFixture()
    let marks = ["mark-name", "mark-label", "mark-key", "mark-attribute", "mark-value", "mark-older", "mark-gone"]
    let group = try store.open().group("default")
    let details = Details(label: .to("mark-label"), attributes: ["mark-key": "mark-attribute"])
    try group.set("mark-name", to: "mark-older", details)
    try group.set("mark-name", to: "mark-value")
    try group.set("mark-gone", to: "mark-value")
    try group.remove("mark-gone")

    var files = 0
    for path in try FileManager.default.subpathsOfDirectory(atPath: store.folder) {
      guard let bytes = FileManager.default.contents(atPath: store.folder + "/" + path) else { continue }
      files += 1
      for mark in marks { #expect(bytes.range(of: Data(mark.utf8)) == nil, "\(mark) stands in \(path)") }
    }
    // At least the identity, and for two groups the file, its log and its index.
    #expect(files >= 7)
  }
}
