import Foundation
import Ground
import SecureCoding
import TestSupport
import Testing

/// The bytes that the writer gives for each value must not change, because users compare and sign archives.
/// `VAULT_WRITE_VECTORS=1` writes the file again.
@Suite struct WrittenVectorTests {
  private struct Vectors: Codable {
    var about =
      "What SecureArchiver writes: the binary archive in hexadecimal, and its table as vault archive show --raw --json."
    var archives: [Vector]
  }

  private struct Vector: Codable, Equatable {
    let name: String
    let table: String
    let bytes: String
  }

  private static let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Vectors/written.json")

  private static func vectors() throws -> [Vector] {
    // Left out because a character bitmap has eight kilobytes.
    let samples = WrittenValueTests.samples.filter { $0.testDescription != "characters" }
    var values: [(String, Any)] = try samples.map { ($0.testDescription, try $0.make()) }
    let home = Address(city: "東京")
    values.append(
      (
        "two persons with one address",
        [Person(name: "太郎", age: 41, address: home), Person(name: "b", age: -1, address: home)]
      ))
    var vectors = try values.map { try vector($0, SecureArchiver.archivedData(withRootObject: $1)) }
    vectors.append(
      try vector(
        "a name of another program", SecureArchiver.archivedData(withRootObject: home, names: [(Address.self, "Place")])
      ))
    vectors.append(
      try vector("a Swift value", SecureArchiver.archivedData(encoding: ["b": [1, nil], "a": []], named: "app.table")))
    return vectors
  }

  private static func vector(_ name: String, _ data: Data) throws -> Vector {
    Vector(
      name: name, table: String(decoding: try SecureUnarchiver.inspect(data).rawJSON(), as: UTF8.self),
      bytes: [UInt8](data).hex)
  }

  @Test func `each value is written with the bytes in its vector`() throws {
    let made = try Self.vectors()
    if ProcessInfo.processInfo.environment["VAULT_WRITE_VECTORS"] == "1" {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      try encoder.encode(Vectors(archives: made)).write(to: Self.path)
    }
    let vectors = try JSONDecoder().decode(Vectors.self, from: try Data(contentsOf: Self.path)).archives
    #expect(vectors.count > 40)
    for (vector, made) in zip(vectors, made) { #expect(vector == made, "\(vector.name)") }
    #expect(vectors.count == made.count)
  }
}
